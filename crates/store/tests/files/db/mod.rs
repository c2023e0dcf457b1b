//! Database files in any state: cut short, with damaged pages, without meta pages.

mod damage;
mod kept;
mod left;
mod pages;
mod truncated;

use std::collections::BTreeMap;
use std::io::Read;

use bytes::Bytes;
use ketcd_store::{Event, Source, load};

use super::{decompressed, events, wait};

fn open(bytes: Vec<u8>) -> Result<Box<dyn Source>, String> {
    load::open_bytes("db", Bytes::from(bytes), &load::Limits::default(), &|_| None).map_err(|error| error.to_string())
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
