//! Files of every format, whole and damaged: databases, data dirs with their log, kine's databases, archives, files of API objects.

mod archives;
mod broken;
mod containers;
mod damage;
mod data_dir;
mod database;
mod db;
mod dqlite;
mod fusion;
mod gardener;
mod hash_kv;
mod kine;
mod neighbours;
mod nights;
mod objects;

use std::io::Write;
use std::path::PathBuf;

use futures_util::StreamExt;
use ketcd_store::{At, Error, Event, KeyRange, KeyValue, Revision, Source, SourceStatus, Until, Want, WatchItem, load};
use ketcd_testing::testdata;

/// The path of a file of a recorded cluster.
fn capture(name: &str) -> PathBuf {
    testdata::path(&format!("captures/{name}"))
}

/// What a compressed file of a recorded cluster holds.
fn decompressed(name: &str) -> Vec<u8> {
    testdata::read(&format!("captures/{name}"))
}

fn open(paths: &[&std::path::Path]) -> Result<Box<dyn Source>, Error> {
    let paths: Vec<String> = paths.iter().map(|path| path.to_str().unwrap().to_owned()).collect();
    load::open(&paths, &|_| None)
}

/// Opens a file of these bytes.
fn open_file(bytes: &[u8]) -> Result<Box<dyn Source>, Error> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    open(&[file.path()])
}

/// Opens bytes that are in no file.
fn open_bytes(bytes: &[u8]) -> Result<Box<dyn Source>, String> {
    load::open_bytes("bytes", bytes.to_vec().into(), &load::Limits::default(), &|_| None).map_err(|error| error.to_string())
}

fn wait<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// What a watch of these keys yields from the first revision on.
fn items(source: &dyn Source, keys: KeyRange) -> Vec<WatchItem> {
    wait(source.watch(keys, Revision(1), Until::Forever).map(Result::unwrap).collect())
}

/// Every change of these keys.
fn events_of(source: &dyn Source, keys: KeyRange) -> Vec<Event> {
    let event = |item| if let WatchItem::Event(event) = item { Some(event) } else { None };
    items(source, keys).into_iter().filter_map(event).collect()
}

/// Every change.
fn events(source: &dyn Source) -> Vec<Event> {
    events_of(source, KeyRange::all())
}

/// Every key that is there at a revision.
fn alive(source: &dyn Source, at: At) -> Vec<KeyValue> {
    wait(async { source.range(KeyRange::all(), at, Want::Values).await.unwrap().entries.map(Result::unwrap).collect().await })
}

fn status(source: &dyn Source) -> SourceStatus {
    wait(source.status()).unwrap()
}
