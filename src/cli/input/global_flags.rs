//! The flags of every command, named as etcdctl and kubectl name them.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use ketcd_history::clock::Moment;
use ketcd_kube::Release;
use ketcd_store::{At, Revision};

use super::connection::ConnectionArgs;
use super::opened::OpenedSource;
use super::placed_revision;
use super::size::size;
use super::source_names::{FILE_VARIABLE, context_of, is_url, names_in};
use crate::cli::outcome::{Error, Result};
use crate::cli::output::{Color, Format};

/// Flags of every command.
#[derive(Args, Debug, Clone)]
pub(in crate::cli) struct GlobalArgs {
    /// Read a file instead of a live etcd: a snapshot, a member's db file or data dir, k3s' database, a recording, API objects as
    /// kubectl prints them, or a folder or an archive of these [env: KETCD_FILE]; the variable separates several by `:`
    /// (`;` on Windows). With the audit log of
    /// the API server as another file, changes name their users; alone, the log is a history.
    ///
    /// The file may be compressed (gzip, zstd, xz, bzip2, LZ4, zlib), an archive a tar or a zip; `ARCHIVE::NAME` is one entry of it, or
    /// what lies below it; `-` is standard input. Several files of one cluster are read as one history, in any
    /// combination: revisions that all of them lack are reported, and files of different clusters are refused. With many snapshots, each is
    /// opened only when needed, so damage is reported then. Compressed ones are unpacked first. An endpoint (`-f https://10.0.0.1:2379`;
    /// separate several members with commas) is a live etcd, which adds what came after the files. `kubeconfig:CONTEXT` is the present state
    /// of a running API server, reached as kubectl reaches it; `kubeconfig:` takes the current context.
    #[arg(short = 'f', long = "file", value_name = "PATH", value_hint = ValueHint::AnyPath, global = true, help_heading = "Source")]
    pub files: Vec<String>,
    /// The largest size to which compressed files and pipes may be unpacked in TMPDIR, all together.
    #[arg(long, value_name = "SIZE", default_value = "16Gi", value_parser = size, global = true, help_heading = "Source")]
    pub max_unpacked_size: u64,
    /// Read a large database again, and do not cache its index.
    ///
    /// ketcd caches the index (keys and revisions, no values) of databases of 64 MiB or more in `$XDG_CACHE_HOME/ketcd` or
    /// `~/.cache/ketcd` (not on Windows), after it has verified the whole file. It uses the index until the file changes. The directory can be removed at
    /// any time.
    #[arg(long, global = true, help_heading = "Source")]
    pub no_cache: bool,
    /// How to reach a live etcd.
    #[command(flatten)]
    pub connection: ConnectionArgs,
    /// Show this revision instead of the newest.
    #[arg(long, value_name = "N", global = true, conflicts_with = "at", help_heading = "Source")]
    pub rev: Option<String>,
    /// Show the state at this time: RFC 3339, `14:03:20`, or an age such as `10m`.
    ///
    /// Ages and times of day count back from now or, with files, from the newest revision.
    #[arg(long, value_name = "TIME", global = true, allow_hyphen_values = true, help_heading = "Source")]
    pub at: Option<String>,
    /// Whether the files are those of `KETCD_FILE`.
    #[arg(skip)]
    pub files_of_environment: bool,
    /// What the flags name, where that is open already: a server opens it once.
    #[arg(skip)]
    pub opened: Option<OpenedSource>,
    /// The API server's --etcd-prefix. Default: found in the data.
    #[arg(long, value_name = "PREFIX", global = true, help_heading = "Source")]
    pub prefix: Option<String>,
    /// Decrypt values with the keys of this EncryptionConfiguration, the API server's own file.
    #[arg(long, value_name = "FILE", global = true, help_heading = "Source")]
    pub encryption_config: Option<PathBuf>,
    /// The namespace. Default: `default`.
    #[arg(short = 'n', long, value_name = "NAMESPACE", global = true, help_heading = "Selection")]
    pub namespace: Option<String>,
    /// All namespaces.
    #[arg(short = 'A', long, global = true, conflicts_with = "namespace", help_heading = "Selection")]
    pub all_namespaces: bool,
    /// The output format: table, wide, json, yaml, kyaml, name, ndjson, raw, metrics (of verify), markdown (of rehearse), jsonpath=…, jsonpath-as-json=…, go-template=… or
    /// custom-columns=…; jsonpath-file, go-template-file and custom-columns-file name a file.
    #[arg(short = 'o', long, value_name = "FORMAT", global = true, help_heading = "Output")]
    pub output: Option<String>,
    /// When to use colors.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", global = true, help_heading = "Output")]
    pub color: Color,
    /// Do not use a pager.
    ///
    /// On a terminal, output longer than the screen goes through the pager that `KETCD_PAGER` or `PAGER` names, else through `less`. An empty name,
    /// or `cat`, turns it off.
    #[arg(long, global = true, help_heading = "Output")]
    pub no_pager: bool,
    /// Print objects as an API server of this release does. Default: the release found in the data.
    ///
    /// If the data does not show the release, and in `decode`, the default is the newest release whose JSON was compared with an API
    /// server's.
    #[arg(long, value_name = "1.NN", global = true, help_heading = "Output")]
    pub release: Option<Release>,
    /// Report fields that the release does not know, by their numbers, on standard error.
    #[arg(long, global = true, help_heading = "Output")]
    pub unknown: bool,
    /// Show managedFields, which are hidden by default.
    #[arg(long, global = true, help_heading = "Output")]
    pub show_managed_fields: bool,
    /// Show the values of Secrets instead of `***`.
    #[arg(long, global = true, help_heading = "Output")]
    pub show_secrets: bool,
}

impl GlobalArgs {
    /// Takes what `KETCD_FILE` names where no flag says what is read.
    pub(in crate::cli) fn with_environment(mut self) -> Self {
        if let Some(value) = std::env::var(FILE_VARIABLE).ok().filter(|_| self.files.is_empty() && self.connection.given().is_none()) {
            self.files = names_in(&value);
            self.files_of_environment = !self.files.is_empty();
        }
        self
    }

    /// What `-f` names: the paths of files, and the endpoints of a live etcd.
    pub(in crate::cli) fn sources(&self) -> (Vec<String>, Vec<String>) {
        let (urls, paths): (Vec<&String>, Vec<&String>) = self.files.iter().partition(|name| is_url(name));
        let endpoints = urls.into_iter().flat_map(|urls| urls.split(',')).map(str::to_owned).collect();
        (paths.into_iter().cloned().collect(), endpoints)
    }

    /// The context of an API server that is read: what follows `kubeconfig:`.
    pub(in crate::cli) fn api_server(&self) -> Option<&str> {
        self.files.iter().find_map(|name| context_of(name))
    }

    /// Whether a live etcd is read, alone or beside files.
    pub(in crate::cli) fn names_live_etcd(&self) -> bool {
        self.files.is_empty() || self.files.iter().any(|name| is_url(name))
    }

    /// The flags that say what is read, each with its value, as they are to be typed again. No password is among them.
    pub(in crate::cli) fn source_flags(&self) -> Vec<(&'static str, String)> {
        let mut flags: Vec<(&'static str, String)> = self.files.iter().map(|file| ("-f", file.clone())).collect();
        flags.extend(self.connection.typed());
        flags.extend(self.prefix.iter().map(|prefix| ("--prefix", prefix.clone())));
        flags.extend(self.encryption_config.iter().map(|file| ("--encryption-config", file.display().to_string())));
        flags
    }

    /// The flag of a live etcd that was given though the files leave it nothing to say.
    pub(in crate::cli) fn flag_beside_files(&self) -> Option<&'static str> {
        let given = self.connection.given().filter(|_| !self.files.is_empty())?;
        (given.names_endpoints || !self.names_live_etcd()).then_some(given.flag)
    }

    /// `--rev N`. (`diff` reads its own `A..B`.)
    ///
    /// # Errors
    /// It is no revision.
    pub(in crate::cli) fn revision(&self) -> Result<At> {
        match self.rev.as_deref() {
            None => Ok(At::Newest),
            Some(text) => match (text.parse(), placed_revision::placed(text)) {
                (Ok(number), _) if number > 0 => Ok(At::Revision(Revision(number))),
                (_, Some(revision)) => Ok(At::Revision(revision)),
                _ => Err(Error::new(format!("invalid --rev {text:?}: expected a positive whole number"))),
            },
        }
    }

    /// `--at`.
    ///
    /// # Errors
    /// It is no moment.
    pub(in crate::cli) fn moment(&self) -> Result<Option<Moment>> {
        self.at.as_deref().map(str::parse::<Moment>).transpose().map_err(|error| Error::new(format!("--at: {error}")))
    }

    /// What `-o` asks for.
    ///
    /// # Errors
    /// A format that does not exist.
    pub(in crate::cli) fn format(&self) -> Result<Format> {
        Format::parse(self.output.as_deref())
    }
}
