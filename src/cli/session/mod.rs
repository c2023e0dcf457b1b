//! A cluster and the flags that say how to look at it: opened once, used by every command.

pub(super) mod absence;
pub(super) mod command;

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;

use ketcd_cluster::rights::Reads;
use ketcd_cluster::{Cluster, DEFAULT_PREFIX, LogHistory, LogNotes, Options, ReleaseChoice, Selection, files, open_logs};
use ketcd_history::clock::{Bound, Moment};
use ketcd_store::etcd::{EtcdSource, grant_command};
use ketcd_store::load::{AuditLogs, Cache, Limits, StandardInput, WithAuditLogs};
use ketcd_store::{At, Revision, Source};

use crate::cli::connection::encryption::{self, Encryption};
use crate::cli::connection::interruptible::{Interrupt, Interruptible};
use crate::cli::connection::{api_server, cautions};
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::{connection, placed_revision};
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::notices::Attendance;
use crate::cli::output::{self, Format, progress};
use crate::cli::system;

/// An open cluster and the flags that say how to look at it.
pub(super) struct Session {
    /// What is looked at.
    cluster: Cluster,
    /// Whether the user broke the reading off.
    pub interrupt: Interrupt,
    /// The flags of every command.
    pub args: GlobalArgs,
    /// What `-o` asks for.
    pub format: Format,
    /// What `--encryption-config` names, or what lies with the files.
    pub encryption: Encryption,
    /// Whether it reads audit logs without an etcd.
    pub is_of_logs: bool,
}

impl Deref for Session {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut Cluster {
        &mut self.cluster
    }
}

impl Session {
    /// Opens the source that the flags name and resolves `--rev`. Columns look the same in every release, so for them alone
    /// (`columns_only`) none is looked for in the data.
    pub(super) async fn open(args: &GlobalArgs, columns_only: bool) -> Result<Self> {
        let mut session = Self::new(args, columns_only)?;
        session.begin().await?;
        Ok(session)
    }

    /// The same for nobody, with only names to show.
    pub(super) async fn open_unattended(args: &GlobalArgs) -> Result<Self> {
        let mut session = Self::attended_by(Attendance::Nobody, args, true)?;
        session.begin().await?;
        Ok(session)
    }

    /// Opens the source that the flags name; nothing is read of a live etcd yet.
    ///
    /// # Errors
    /// Flags that cannot be used, a file that cannot be read.
    pub(super) fn new(args: &GlobalArgs, columns_only: bool) -> Result<Self> {
        Self::attended_by(Attendance::User, args, columns_only)
    }

    /// The same for a command whose answer holds the problems of the source: where it goes to the terminal, they are said there alone.
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub(super) fn with_problems_in_answer(args: &GlobalArgs) -> Result<Self> {
        Self::attended_by(if output::are_on_terminal() { Attendance::Reader } else { Attendance::User }, args, false)
    }

    /// Says what will be read and begins to: finds the release, and the revision of the moment asked for.
    ///
    /// # Errors
    /// The source cannot be read; where that is for want of rights, with the commands that grant them.
    pub(super) async fn begun(mut self, reads: &Reads<'_>) -> Result<Self> {
        self.announce(reads);
        match self.begin().await {
            Ok(()) => Ok(self),
            Err(error) => Err(self.with_grants(error.into(), reads).await),
        }
    }

    fn attended_by(attendance: Attendance, args: &GlobalArgs, columns_only: bool) -> Result<Self> {
        let format = args.format()?;
        let (at, moment) = match args.until {
            None => (revision_asked(args)?, moment_asked(args)?),
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
        for (flag, text) in args.rev.iter().map(|text| ("--rev", text)).chain(args.placed.iter().map(|(flag, text)| (*flag, text))) {
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
            since: args.since,
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
        let known = self.known_moment().await?;
        if known.is_none() && self.source.is_one_moment() {
            output::note("when these objects were printed is not known, so ages are not either; --at TIME gives the moment");
        }
        Ok(known)
    }

    /// Returns the cluster, for whoever goes on with it.
    pub(super) fn into_cluster(self) -> Cluster {
        self.cluster
    }

    /// Says what decoding left out and what was found out beside it, and returns how the command ended: damaged, if data was. What the
    /// command shows should be on its way before: a checksum may have to be waited for.
    pub(super) fn end(&self, outcome: Outcome) -> Outcome {
        if self.finish() { Outcome::Damaged } else { outcome }
    }

    /// Completes the error of a refusal, where an answer failed with one.
    ///
    /// # Errors
    /// The answer's.
    pub(super) async fn or_grants<T>(&self, answer: Result<T>, reads: &Reads<'_>) -> Result<T> {
        match answer {
            Err(error) => Err(self.with_grants(error, reads).await),
            found => found,
        }
    }

    /// Completes the error of a refusal: with the commands that grant all that the command lacks.
    async fn with_grants(&self, error: Error, reads: &Reads<'_>) -> Error {
        let Some(refusal) = error.refusal().filter(|_| self.args.api_server().is_none()) else { return error };
        let lacking = self.lacking(&refusal, reads).await;
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

/// `--at`.
fn moment_asked(args: &GlobalArgs) -> Result<Option<Moment>> {
    args.at.as_deref().map(str::parse::<Moment>).transpose().map_err(|error| Error::new(format!("--at: {error}")))
}

/// What the flags name.
struct Opened {
    source: Box<dyn Source>,
    /// The newest time in files of objects.
    newest_stamp: Option<Timestamp>,
    logs: AuditLogs,
    /// What the logs leave out, where the source is made of them.
    said: Option<LogNotes>,
}

/// Opens `-f`'s files, or the live etcd where there are none. Audit logs without an etcd are a source themselves.
fn open_source(args: &GlobalArgs, attendance: Attendance) -> Result<Opened> {
    if let Some(context) = args.api_server() {
        let source = Box::new(api_server::open(args, context, attendance)?);
        return Ok(Opened { source, newest_stamp: Some(Timestamp::now()), logs: AuditLogs::default(), said: None });
    }
    let (paths, endpoints) = args.sources();
    let limits = limits(args);
    let WithAuditLogs { logs, others: paths } = AuditLogs::among(&paths, &limits)?;
    let noted = |source: Box<dyn Source>| {
        source.damage().iter().chain(source.left_out()).for_each(|problem| attendance.note_problem(problem));
        source
    };
    if args.names_live_etcd() {
        let mut connection = args.connection.clone();
        connection.endpoints.extend(endpoints.iter().cloned());
        let config = connection::config(&connection, attendance)?;
        let live = Box::new(EtcdSource::new(config, Arc::new(move |notice: &str| attendance.note(notice)))?);
        if paths.is_empty() {
            return Ok(Opened { source: live, newest_stamp: None, logs, said: None });
        }
        let tell = Arc::new(move |sentence: &str| attendance.note(sentence));
        let source = noted(ketcd_store::load::open_beside(&paths, &limits, endpoints.join(","), live, tell)?);
        return Ok(Opened { source, newest_stamp: None, logs, said: None });
    }
    let files = if paths.is_empty() && !logs.is_empty() { None } else { Some(files::open(&paths, &limits)?) };
    let (source, newest_stamp) = files.map(|files| (noted(files.source), files.newest_stamp)).unzip();
    match source {
        Some(source) if logs.is_empty() || !source.is_one_moment() => {
            Ok(Opened { source, newest_stamp: newest_stamp.flatten(), logs, said: None })
        }
        base => match (open_logs(&logs, base.as_deref())?, base) {
            (Some(LogHistory { source, said }), _) => Ok(Opened { source, newest_stamp: None, logs, said: Some(said) }),
            (None, base) => {
                let source = base.ok_or_else(|| Error::new("the audit logs hold no object"))?;
                Ok(Opened { source, newest_stamp: newest_stamp.flatten(), logs: AuditLogs::default(), said: None })
            }
        },
    }
}

/// How much a file may take.
pub(super) fn limits(args: &GlobalArgs) -> Limits {
    static STANDARD_INPUT: LazyLock<StandardInput> = LazyLock::new(StandardInput::default);
    let cache = if args.no_cache { None } else { cache() };
    let (progress, standard_input) = (progress::opening(), STANDARD_INPUT.clone());
    Limits { unpacked: args.max_unpacked_size, cache, standard_input, progress, ..Limits::default() }
}

/// Where indexes of large databases are kept.
fn cache() -> Option<Cache> {
    /// Smaller ones are read within a few hundredths of a second.
    const SMALLEST: u64 = 64 << 20;
    let directory = system::files::cache_folder()?.join("ketcd");
    Some(Cache { directory, smallest: SMALLEST })
}

/// `--rev N`. (`diff` reads its own `A..B`.)
pub(super) fn revision_asked(args: &GlobalArgs) -> Result<At> {
    match args.rev.as_deref() {
        None => Ok(At::Newest),
        Some(text) => match (text.parse(), placed_revision::placed(text)) {
            (Ok(number), _) if number > 0 => Ok(At::Revision(Revision(number))),
            (_, Some(revision)) => Ok(At::Revision(revision)),
            _ => Err(Error::new(format!("invalid --rev {text:?}: expected a positive whole number"))),
        },
    }
}
