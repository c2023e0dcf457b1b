//! Files of one cluster, opened once and asked by any number of questions.

use std::path::Path;
use std::sync::Arc;
use std::{mem, process};

use jiff::Timestamp;
use tokio::runtime::Runtime;

use ketcd_cluster::files;
use ketcd_kube::encryption::{EncryptionConfig, KeyRing};
use ketcd_render::command_line::Invocation;
use ketcd_store::load::{AuditLogs, Limits, WithAuditLogs};
use ketcd_store::{CompanionChoice, CompanionKind, Source};

use crate::failure::Failure;

/// Files of one cluster.
pub(crate) struct Opened {
    pub(crate) source: Arc<dyn Source>,
    /// The newest time in files of objects.
    pub(crate) newest_stamp: Option<Timestamp>,
    /// The API server's `--etcd-prefix`, if it was given.
    pub(crate) prefix: Option<String>,
    /// The keys that open what is sealed at rest.
    pub(crate) keys: KeyRing,
    /// The call of the command that reads the same, which suggested commands begin with.
    pub(crate) invocation: Invocation,
    files: Vec<String>,
    has_logs: bool,
    /// `None` while it is dropped.
    runtime: Option<Runtime>,
    /// The process that opened it: threads do not survive a fork.
    process: u32,
}

impl Opened {
    /// Opens files.
    ///
    /// # Errors
    /// A file cannot be read, or is nothing that is known.
    pub(crate) fn open(files: Vec<String>, prefix: Option<String>, encryption: Option<&str>) -> Result<Self, Failure> {
        files.iter().try_for_each(|file| check_is_file(file))?;
        let limits = Limits::default();
        let WithAuditLogs { logs, others } = AuditLogs::among(&files, &limits)?;
        if others.is_empty() && !logs.is_empty() {
            let alone = Failure::new("these are audit logs alone");
            return Err(alone.hint("name a snapshot or a data dir as well, or read them with the command: ketcd -f LOG history"));
        }
        let opened = files::open(&others, &limits)?;
        let source: Arc<dyn Source> = Arc::from(opened.source);
        let keys = match encryption {
            Some(file) => given_keys(file)?,
            None => found_keys(&*source),
        };
        let flags = files.iter().map(|file| ("-f", file.clone()));
        let flags = flags.chain(prefix.iter().map(|prefix| ("--prefix", prefix.clone())));
        let invocation = Invocation::new("ketcd", flags.chain(encryption.map(|file| ("--encryption-config", file.to_owned()))));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        Ok(Self {
            source,
            newest_stamp: opened.newest_stamp,
            prefix,
            keys,
            has_logs: !logs.is_empty(),
            invocation,
            files,
            runtime: Some(runtime),
            process: process::id(),
        })
    }

    /// What is wrong with the files, and what of them is not etcd's.
    pub(crate) fn notices(&self) -> Vec<String> {
        self.source.damage().iter().chain(self.source.left_out()).cloned().collect()
    }

    /// The audit logs among the files, which are read when a question needs them.
    ///
    /// # Errors
    /// A file is gone.
    pub(crate) fn audit_logs(&self) -> Result<AuditLogs, Failure> {
        if !self.has_logs {
            return Ok(AuditLogs::default());
        }
        Ok(AuditLogs::among(&self.files, &Limits::default())?.logs)
    }

    /// Waits for work on this source's runtime.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.as_ref().expect("it is not dropped").block_on(work)
    }

    /// Refuses where the process was forked since.
    ///
    /// # Errors
    /// It was.
    pub(crate) fn check_process(&self) -> Result<(), Failure> {
        if self.process == process::id() {
            return Ok(());
        }
        Err(Failure::new("this cluster was opened before the process forked").hint("open it in the new process"))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        if self.process == process::id() {
            runtime.shutdown_background();
        } else {
            // The threads of a forked process's runtime are not there to end.
            mem::forget(runtime);
        }
    }
}

/// Refuses what is read by another way than by files: says how to make a file of it.
fn check_is_file(name: &str) -> Result<(), Failure> {
    if Path::new(name).exists() {
        return Ok(());
    }
    let is_address =
        |name: &str| name.rsplit_once(':').is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|c| c.is_ascii_digit()));
    let (what, hint) = match name.split_once(':') {
        Some(("http" | "https", _)) => ("a live etcd", snapshot_of(name)),
        Some(("kubeconfig", _)) => ("an API server", "record it first, and open the recording: ketcd record DIR --kubeconfig".to_owned()),
        Some(("s3" | "gs" | "az", rest)) if rest.starts_with("//") => {
            ("in a bucket", format!("load it first, or read it with the command: ketcd -f {name} status"))
        }
        _ if is_address(name) => ("a live etcd", snapshot_of(name)),
        _ => return Ok(()),
    };
    Err(Failure::new(format!("{name} is {what}; only files can be opened")).hint(hint))
}

/// How to make a file of a live etcd.
fn snapshot_of(endpoint: &str) -> String {
    format!(
        "take a snapshot of it (etcdctl --endpoints {endpoint} snapshot save snapshot.db), or record it: ketcd --endpoints {endpoint} record DIR"
    )
}

/// The keys of an EncryptionConfiguration.
fn given_keys(file: &str) -> Result<KeyRing, Failure> {
    let text =
        std::fs::read_to_string(file).map_err(|error| Failure::new(format!("cannot read {file}: {error}")).hint("check the path"))?;
    let config = EncryptionConfig::parse(&text).map_err(|problem| {
        Failure::new(format!("{file}: {problem}")).hint("give the file of kube-apiserver's --encryption-provider-config")
    })?;
    Ok(KeyRing::new(&config))
}

/// The keys of the configuration that lies with the files.
fn found_keys(source: &dyn Source) -> KeyRing {
    match source.companion(CompanionKind::Encryption) {
        CompanionChoice::One(companion) => {
            EncryptionConfig::parse(&companion.text).map_or_else(|_| KeyRing::default(), |config| KeyRing::new(&config))
        }
        _ => KeyRing::default(),
    }
}
