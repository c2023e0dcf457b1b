//! A cluster and the flags that say how to look at it: opened once, used by every command.

pub(super) mod absence;
pub(super) mod command;

use std::mem;

use jiff::Timestamp;

use ketcd_cluster::rights::Reads;
use ketcd_cluster::{Cluster, DEFAULT_PREFIX, Options, ReleaseChoice, Selection};
use ketcd_history::clock::Bound;
use ketcd_history::diff::ManagedFields;
use ketcd_render::contract::window::HistoryWindow;
use ketcd_store::At;
use ketcd_store::etcd::grant_command;

use crate::cli::connection::cautions;
use crate::cli::connection::encryption::{self, Encryption};
use crate::cli::connection::interruptible::{Interrupt, Interruptible};
use crate::cli::connection::source::{Opened, open_source};
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::history_window::Ends;
use crate::cli::input::placed_revision;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::notices::Attendance;
use crate::cli::output::{self, Format, note, progress};

/// An open cluster and the flags that say how to look at it.
pub(super) struct Session {
    /// What is looked at, and how: since when, at which moment, in which namespace, as which release.
    pub cluster: Cluster,
    /// Whether the user broke the reading off.
    pub interrupt: Interrupt,
    /// The flags that name the source, for opening another one as this one was.
    pub args: GlobalArgs,
    /// What `-o` asks for.
    pub format: Format,
    /// What `--encryption-config` names, or what lies with the files.
    pub encryption: Encryption,
    /// Whether it reads audit logs without an etcd.
    pub is_of_logs: bool,
}

impl Session {
    /// Opens the source that the flags name and resolves `--rev`. Columns look the same in every release, so for them alone
    /// (`columns_only`) none is looked for in the data.
    pub(super) async fn open(args: &GlobalArgs, columns_only: bool) -> Result<Self> {
        let mut session = Self::new(args, &Ends::default(), columns_only)?;
        session.cluster.begin().await?;
        Ok(session)
    }

    /// The same for nobody, with only names to show.
    pub(super) async fn open_unattended(args: &GlobalArgs) -> Result<Self> {
        let mut session = Self::attended_by(Attendance::Nobody, args, &Ends::default(), true)?;
        session.cluster.begin().await?;
        Ok(session)
    }

    /// Opens the source that the flags name, to look at its history between two ends; nothing is read of a live etcd yet.
    ///
    /// # Errors
    /// Flags that cannot be used, a file that cannot be read.
    pub(super) fn new(args: &GlobalArgs, ends: &Ends, columns_only: bool) -> Result<Self> {
        Self::attended_by(Attendance::User, args, ends, columns_only)
    }

    /// The same for a command whose answer holds the problems of the source: where it goes to the terminal, they are said there alone.
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub(super) fn with_problems_in_answer(args: &GlobalArgs, ends: &Ends) -> Result<Self> {
        Self::attended_by(if output::are_on_terminal() { Attendance::Reader } else { Attendance::User }, args, ends, false)
    }

    /// Says what will be read and begins to: finds the release, and the revision of the moment asked for.
    ///
    /// # Errors
    /// The source cannot be read; where that is for want of rights, with the commands that grant them.
    pub(super) async fn begun(mut self, reads: &Reads<'_>) -> Result<Self> {
        self.cluster.announce(reads);
        match self.cluster.begin().await {
            Ok(()) => Ok(self),
            Err(error) => Err(self.with_grants(error.into(), reads).await),
        }
    }

    fn attended_by(attendance: Attendance, args: &GlobalArgs, ends: &Ends, columns_only: bool) -> Result<Self> {
        let format = args.format()?;
        let (at, moment) = match ends.until {
            None => (args.revision()?, args.moment()?),
            Some(Bound::Revision(revision)) => (At::Revision(revision), None),
            Some(Bound::Moment(moment)) => (At::Newest, Some(moment)),
        };
        let given = encryption::open(args.encryption_config.as_deref())?;
        if attendance != Attendance::Nobody {
            args.encryption_config.iter().for_each(|config| cautions::of_key("--encryption-config", config));
            // A live etcd may ask for a password first.
            if let ([first, more @ ..], false) = (&args.files[..], args.names_live_etcd()) {
                let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
                progress::start(format!("opening {first}{more}"));
            }
        }
        let Opened { source, newest_stamp, logs, said } = open_source(args, attendance)?;
        for (flag, text) in args.rev.iter().map(|text| ("--rev", text)).chain(ends.placed.iter().map(|(flag, text)| (*flag, text))) {
            placed_revision::check(flag, text, said.is_some())?;
        }
        if attendance != Attendance::Nobody {
            progress::start(format!("waiting for {}", if args.api_server().is_some() { "the API server" } else { "etcd" }));
        }
        let encryption = given.unwrap_or_else(|| encryption::found(&*source, attendance));
        let interrupt = Interrupt::default();
        let options = Options {
            at,
            moment,
            since: ends.since,
            prefix: args.prefix.clone(),
            namespace: args.namespace.clone(),
            all_namespaces: args.all_namespaces,
            selection: Selection::default(),
            release: match args.release {
                Some(release) => ReleaseChoice::Given(release),
                None if columns_only => ReleaseChoice::Any,
                None => ReleaseChoice::Found,
            },
            keys: encryption.keys.clone(),
            show_secrets: args.show_secrets,
            show_managed_fields: args.show_managed_fields,
            report_unknown: args.unknown,
            newest_stamp,
            is_present: args.api_server().is_some(),
            notices: attendance.notices(),
        };
        let mut cluster = Cluster::new(Box::new(Interruptible::new(source, interrupt.clone())), options);
        let is_of_logs = said.is_some();
        match said {
            Some(said) => cluster.set_logs_of_source(logs, said),
            None => cluster.set_audit_logs(logs),
        }
        Ok(Self { cluster, interrupt, args: args.clone(), format, encryption, is_of_logs })
    }

    /// Returns the moment that ages are counted to, and says how to give it where nothing shows when objects were printed.
    ///
    /// # Errors
    /// As of [`Cluster::known_moment`].
    pub(super) async fn moment_of_ages(&self) -> Result<Option<Timestamp>> {
        let known = self.cluster.known_moment().await?;
        if known.is_none() && self.cluster.source.is_one_moment() {
            note("these objects do not show when they were printed, so their ages are unknown; give the time with --at TIME");
        }
        Ok(known)
    }

    /// Returns the stretch of history that was asked for, as the head of a JSON document says it; `None` for other formats.
    pub(super) async fn window_in_head(&self) -> Result<Option<HistoryWindow>> {
        Ok(match self.format {
            Format::Json => self.cluster.window().await?.map(HistoryWindow::from),
            _ => None,
        })
    }

    /// Whether the process ends with this question: a server asks another one on the source that it holds open.
    fn ends_process(&self) -> bool {
        self.args.opened.is_none()
    }

    /// Lets go of what is large: it is not taken apart where the process ends with this question.
    pub(super) fn let_go<T>(&self, large: T) {
        if self.ends_process() {
            mem::forget(large);
        }
    }

    pub(super) fn managed_fields(&self) -> ManagedFields {
        if self.cluster.options.show_managed_fields { ManagedFields::Shown } else { ManagedFields::Hidden }
    }

    /// Returns the cluster, for whoever continues with it.
    pub(super) fn into_cluster(self) -> Cluster {
        self.cluster
    }

    /// Says what decoding left out and what was found out beside it, and returns how the command ended: damaged, if data was. What the
    /// command shows should be on its way before: a checksum may have to be waited for.
    pub(super) fn end(&self, outcome: Outcome) -> Outcome {
        if self.cluster.finish() { Outcome::Damaged } else { outcome }
    }

    /// Completes the error of a refusal, where an answer failed with one.
    pub(super) async fn or_grants<T>(&self, answer: Result<T>, reads: &Reads<'_>) -> Result<T> {
        match answer {
            Err(error) => Err(self.with_grants(error, reads).await),
            found => found,
        }
    }

    /// Completes the error of a refusal: with the commands that grant all that the command lacks.
    async fn with_grants(&self, error: Error, reads: &Reads<'_>) -> Error {
        let Some(refusal) = error.refusal().filter(|_| self.args.api_server().is_none()) else { return error };
        let lacking = self.cluster.lacking(&refusal, reads).await;
        let mut hint = String::new();
        if lacking.is_watched_whole {
            hint.push_str(
                "etcd before 3.4.25 and 3.5.8 says too early that a past watch has ended (etcd issue 15220), so all keys are read; ",
            );
        }
        if lacking.is_prefix_assumed {
            hint.push_str(&format!("where the API server's --etcd-prefix is not {DEFAULT_PREFIX}, give --prefix; "));
        }
        hint.push_str("grant its role what it lacks:");
        error.hint(hint).commands(lacking.keys.iter().map(grant_command).collect())
    }
}
