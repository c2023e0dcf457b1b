//! Clusters to ask: recorded ones, and small ones that a test makes up.

use std::sync::{Arc, Mutex};

use ketcd_cluster::{Cluster, Error, Notice, Notices, Options, WindowEnd, files};
use ketcd_store::load::{self, Limits};
use ketcd_store::{At, Revision};
use ketcd_testing::written::Written;
use ketcd_testing::{temporary, testdata};

/// The snapshot of a recorded cluster, or a file in its folder.
pub(crate) fn path(capture: &str) -> String {
    let file = if capture.contains('/') { capture.to_owned() } else { format!("{capture}/snapshot.db.zst") };
    testdata::path(&format!("captures/{file}")).to_str().unwrap().to_owned()
}

/// Opens the cluster that files hold.
pub(crate) async fn open(paths: &[String], options: Options) -> Result<Cluster, Error> {
    let files = files::open(paths, &Limits::default())?;
    Cluster::open(files.source, Options { newest_stamp: files.newest_stamp, ..options }).await
}

/// A recorded cluster.
pub(crate) async fn capture(capture: &str, options: Options) -> Cluster {
    open(&[path(capture)], options).await.unwrap()
}

/// The cluster of API objects as kubectl prints them: JSON or YAML.
pub(crate) async fn cluster_of(objects: impl AsRef<[u8]>, options: Options) -> Cluster {
    let file = temporary::file(objects);
    open(&[file.path().to_str().unwrap().to_owned()], options).await.unwrap()
}

/// The cluster of a database.
pub(crate) async fn database(database: Vec<u8>, options: Options) -> Cluster {
    let source = load::open_bytes("store.db", database.into(), &Limits::default(), &|_| None).unwrap();
    Cluster::open(source, options).await.unwrap()
}

/// The cluster of a database in which each of these keys was written once.
pub(crate) async fn stored(values: &[(&str, &str)], options: Options) -> Cluster {
    database(Written::of(values).finish(), options).await
}

/// Looks at a revision.
pub(crate) fn at_revision(revision: i64) -> Options {
    Options { at: At::Revision(Revision(revision)), ..Options::default() }
}

/// A revision that was named.
pub(crate) fn end(revision: i64) -> WindowEnd {
    WindowEnd { revision: Revision(revision), time: None }
}

/// Looks at a moment.
pub(crate) fn at(moment: &str) -> Options {
    Options { moment: Some(moment.parse().unwrap()), ..Options::default() }
}

/// Looks at one namespace.
pub(crate) fn of_namespace(namespace: &str) -> Options {
    Options { namespace: Some(namespace.to_owned()), ..Options::default() }
}

/// The options with a sink that keeps notices.
pub(crate) fn noting(options: Options) -> (Options, Arc<Mutex<Vec<Notice>>>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let taken = Arc::clone(&kept);
    let notices = Notices::new(move |notice| taken.lock().unwrap().push(notice.clone()));
    (Options { notices, ..options }, kept)
}
