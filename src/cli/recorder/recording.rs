//! A recording from its beginning, or from where an earlier run ended, until it is interrupted.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use ketcd_api_server::{ApiServer, WantedResources};
use ketcd_kube::is_secret_key;
use ketcd_store::etcd::EtcdSource;
use ketcd_store::recording::{Continuity, Recorder, RecorderOptions, RecordingScope, continuity};
use ketcd_store::{KeyRange, LiveEtcd, Revision, RevisionSpan, Source};

use super::feed::Followed;
use super::follower::Following;
use super::metrics::Metrics;
use super::position::Shared;
use super::progress::RecordingProgress;
use crate::cli::connection::api_server;
use crate::cli::connection::etcd;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::note;
use crate::cli::output::notices::Attendance;
use crate::cli::system::termination::Interruptions;

/// What is recorded, and how.
pub(in crate::cli) struct Recording<'a> {
    /// The directory of the recording.
    pub directory: &'a Path,
    /// How large files get, and what is kept.
    pub options: RecorderOptions,
    /// Where metrics are served.
    pub metrics: Option<SocketAddr>,
}

/// The API server that is recorded, and what of it.
pub(in crate::cli) struct OfApiServer<'a> {
    /// A kubeconfig instead of those that kubectl reads.
    pub file: Option<&'a Path>,
    /// A context instead of the current one.
    pub context: Option<&'a str>,
    /// The names of the resources; all if there is none.
    pub resources: &'a [String],
}

impl Recording<'_> {
    /// Records what the live etcd goes through until Ctrl-C: the keys that begin with `prefixes`, or all.
    ///
    /// # Errors
    /// etcd cannot be read, or the directory not be written.
    pub(in crate::cli) async fn of_etcd(&self, global: &GlobalArgs, prefixes: &[String]) -> Result<Outcome> {
        refuse_files(global)?;
        let config = etcd::config(&global.connection, Attendance::User)?;
        let source = EtcdSource::new(config, Arc::new(|notice: &str| note(notice)))?;
        let ranges = ranges(prefixes);
        LiveEtcd::will_read(&source, &KeyRange::hull(&ranges));
        let span = source.span().await?;
        let left_out = if global.show_secrets { Vec::new() } else { vec!["Secrets".to_owned()] };
        let cluster_id = source.status().await?.cluster_id;
        let scope = RecordingScope { cluster_id, prefixes: prefixes.to_vec(), left_out, api_server: None, bundle: None };
        self.run(global, Followed::Etcd(&source), &scope, span).await
    }

    /// Records what an API server goes through until Ctrl-C.
    ///
    /// # Errors
    /// The API server cannot be read, or the directory not be written.
    pub(in crate::cli) async fn of_api_server(&self, global: &GlobalArgs, server: OfApiServer<'_>) -> Result<Outcome> {
        refuse_files(global)?;
        if let Some(given) = global.connection.given() {
            return Err(Error::new(format!("{} is a flag of a live etcd, and --kubeconfig names an API server", given.flag))
                .hint("remove one of them"));
        }
        let access = api_server::access(server.file, server.context, Attendance::User)?;
        let name = format!("{} (context {})", access.server(), access.name());
        let wanted = WantedResources { resources: server.resources.to_vec(), secrets: global.show_secrets };
        let source = ApiServer::new(access, wanted);
        source.left_out().await?.iter().for_each(|sentence| note(sentence));
        let (prefixes, left_out, identity) = (source.prefixes().await?, source.lacking().await?, source.identity().await?);
        let scope = RecordingScope { cluster_id: None, prefixes, left_out, api_server: Some(identity), bundle: None };
        note(&format!("recording through the API server {name}"));
        let span = source.span().await?;
        self.run(global, Followed::ApiServer(&source), &scope, span).await
    }

    /// Records what is followed until Ctrl-C.
    async fn run(&self, global: &GlobalArgs, followed: Followed<'_>, scope: &RecordingScope, span: RevisionSpan) -> Result<Outcome> {
        let ranges = ranges(&scope.prefixes);
        let mut interruptions = Interruptions::begin()?;
        let recorder = self.open(global, scope, followed, span).await?;
        let from = recorder.reached().unwrap_or(span.oldest).after();
        note(&format!("recording from revision {from} on into {}; Ctrl-C ends it", self.directory.display()));
        let shared = Arc::new(Shared::new(recorder.recorded(), span.newest));
        // It serves as long as it is there.
        let _metrics = self.serve_metrics(&shared).await?;
        let mut progress = RecordingProgress::start(Arc::clone(&shared));
        let mut following = Following::new(followed, &ranges, !global.show_secrets, recorder, &shared);
        let ended = tokio::select! {
            ended = following.run(from) => ended,
            failed = progress.run(followed.source(), &ranges) => match failed {},
            _ = interruptions.next() => Ok(()),
        };
        progress.end();
        // What was taken before an error of what is followed is kept; a disk that is full refuses it again.
        let flushed = following.end();
        ended?;
        flushed?;
        note(&format!("recorded up to revision {}", shared.recorded().revision));
        Ok(Outcome::Found)
    }

    /// Opens the recording at its beginning, or where an earlier run ended, if that was of the same etcd.
    async fn open(&self, global: &GlobalArgs, scope: &RecordingScope, followed: Followed<'_>, span: RevisionSpan) -> Result<Recorder> {
        let name = self.directory.display();
        let mut recorder = Recorder::open(self.directory, scope, self.options)?;
        recorder.problems().iter().for_each(|problem| note(&format!("{name}: {problem}")));
        match recorder.reached() {
            None => recorder.begin_after(span.oldest),
            Some(reached) if reached > span.newest => return Err(self.restored(reached, span.newest)),
            // An API server has no past to compare; the scope has the cluster's identity.
            Some(_) => match followed {
                Followed::Etcd(source) => self.check_continuity(global, source, &scope.prefixes).await?,
                Followed::ApiServer(_) => {}
            },
        }
        Ok(recorder)
    }

    fn restored(&self, reached: Revision, newest: Revision) -> Error {
        let what = format!("the newest revision is {newest}, but {} has revision {reached}", self.directory.display());
        Error::new(format!("{what}: etcd was restored from a backup")).hint("record into another directory")
    }

    /// Refuses to continue with another history than the one that was recorded.
    async fn check_continuity(&self, global: &GlobalArgs, source: &EtcdSource, prefixes: &[String]) -> Result<()> {
        let (ranges, shows_secrets, name) = (ranges(prefixes), global.show_secrets, self.directory.display());
        let is_recorded = |key: &[u8]| ranges.iter().any(|range| range.contains(key)) && (shows_secrets || !is_secret_key(key));
        match continuity(self.directory, source, &is_recorded, &ranges).await? {
            Continuity::Same => Ok(()),
            Continuity::Unknown => {
                note(&format!("cannot verify that this etcd continues the history in {name}"));
                Ok(())
            }
            Continuity::Other(evidence) => {
                let what = format!("this etcd does not continue the history in {name}: {evidence}");
                Err(Error::new(format!("{what}; it was restored from a backup, or is another one")).hint("record into another directory"))
            }
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }

    /// Begins to serve metrics, where that is asked for, and says where.
    async fn serve_metrics(&self, shared: &Arc<Shared>) -> Result<Option<Metrics>> {
        let Some(address) = self.metrics else { return Ok(None) };
        let metrics = Metrics::start(address, Arc::clone(shared)).await?;
        note(&format!("metrics on http://{}/metrics", metrics.address()));
        Ok(Some(metrics))
    }
}

/// Refuses files, which nothing happens to.
fn refuse_files(global: &GlobalArgs) -> Result<()> {
    if global.files.is_empty() || global.files_of_environment {
        return Ok(());
    }
    match global.api_server() {
        Some(context) => {
            let flags = if context.is_empty() { "--kubeconfig".to_owned() } else { format!("--kubeconfig --context {context}") };
            Err(Error::new("record reads an API server with --kubeconfig, not with -f").hint(format!("remove -f and give {flags}")))
        }
        None => Err(Error::new("record follows a live etcd, but -f names a file").hint("remove -f, or copy the file itself")),
    }
}

fn ranges(prefixes: &[String]) -> Vec<KeyRange> {
    match prefixes {
        [] => vec![KeyRange::all()],
        prefixes => prefixes.iter().map(|prefix| KeyRange::prefix(prefix.as_str())).collect(),
    }
}
