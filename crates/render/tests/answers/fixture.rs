//! Clusters to ask: recorded ones, and small ones that a test makes up.

use std::sync::LazyLock;

use ketcd_cluster::{Cluster, Options, files};
use ketcd_render::command_line::Invocation;
use ketcd_render::style::Plain;
use ketcd_store::load::{self, Limits};
use ketcd_testing::{temporary, testdata};

/// A call of ketcd without flags.
pub(crate) static PLAIN_INVOCATION: LazyLock<Invocation> = LazyLock::new(|| Invocation::new("ketcd", []));

async fn open(path: String, options: Options) -> Cluster {
    let files = files::open(&[path], &Limits::default()).unwrap();
    Cluster::open(files.source, Options { newest_stamp: files.newest_stamp, ..options }).await.unwrap()
}

/// A recorded cluster.
pub(crate) async fn capture(name: &str, options: Options) -> Cluster {
    open(testdata::path(&format!("captures/{name}/snapshot.db.zst")).to_str().unwrap().to_owned(), options).await
}

/// The cluster of API objects as kubectl prints them: JSON or YAML.
pub(crate) async fn cluster_of(objects: &str) -> Cluster {
    let file = temporary::file(objects);
    open(file.path().to_str().unwrap().to_owned(), Options::default()).await
}

/// The cluster of a database.
pub(crate) async fn stored(database: Vec<u8>) -> Cluster {
    let source = load::open_bytes("store.db", database.into(), &Limits::default(), &|_| None).unwrap();
    Cluster::open(source, Options::default()).await.unwrap()
}

/// What is written, as plain text.
pub(crate) fn text(write: impl FnOnce(&mut Plain<Vec<u8>>) -> std::io::Result<()>) -> String {
    let mut out = Plain::new(Vec::new());
    write(&mut out).unwrap();
    String::from_utf8(out.into_inner()).unwrap()
}
