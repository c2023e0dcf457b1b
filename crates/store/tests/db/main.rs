//! Database files in any state: cut short, with damaged pages, without meta pages.

mod damage;
mod kept;
mod left;
mod pages;
mod truncated;

use std::collections::BTreeMap;
use std::io::Read;

use bytes::Bytes;
use futures_util::StreamExt;

use ketcd_store::{Event, KeyRange, Revision, Source, Until, WatchItem, load};
use ketcd_testing::testdata;

fn decompressed(name: &str) -> Vec<u8> {
    testdata::read(&format!("captures/{name}"))
}

fn open(bytes: Vec<u8>) -> Result<Box<dyn Source>, String> {
    load::open_bytes("db", Bytes::from(bytes), &load::Limits::default(), &|_| None).map_err(|error| error.to_string())
}

fn wait<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn events(source: &dyn Source) -> Vec<Event> {
    let items: Vec<_> = wait(source.watch(KeyRange::all(), Revision(1), Until::Forever).map(Result::unwrap).collect());
    items.into_iter().filter_map(|item| if let WatchItem::Event(event) = item { Some(event) } else { None }).collect()
}

fn by_place(events: Vec<Event>) -> BTreeMap<left::Place, Event> {
    events.into_iter().map(|event| ((event.revision.0, event.sub_revision), event)).collect()
}

/// The database of a recorded data dir.
fn member_db(name: &str) -> Vec<u8> {
    let tar = decompressed(name);
    let mut tar = tar::Archive::new(&tar[..]);
    let mut entries = tar.entries().unwrap().map(Result::unwrap);
    let mut db = Vec::new();
    entries.find(|entry| entry.path().unwrap().ends_with("snap/db")).unwrap().read_to_end(&mut db).unwrap();
    db
}
