//! Clusters to ask: recorded ones, and small ones that a test makes up.

use ketcd_cluster::{Cluster, Error, Options, files};
use ketcd_store::load::Limits;
use ketcd_store::{At, Revision};
use ketcd_testing::{temporary, testdata};

/// The snapshot of a recorded cluster.
pub(crate) fn path(capture: &str) -> String {
    testdata::path(&format!("captures/{capture}/snapshot.db.zst")).to_str().unwrap().to_owned()
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

/// Looks at a revision.
pub(crate) fn at_revision(revision: i64) -> Options {
    Options { at: At::Revision(Revision(revision)), ..Options::default() }
}
