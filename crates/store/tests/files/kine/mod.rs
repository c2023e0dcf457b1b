//! kine databases: recorded, made by SQLite itself, damaged, written while they are read, and printed as text.

mod damage;
mod made;
mod recorded;

use std::path::Path;

use ketcd_store::{At, KeyValue, Source, load};
use ketcd_testing::testdata;

use super::{events, wait};

fn decompressed(name: &str) -> Vec<u8> {
    testdata::read(&format!("captures/k136-kine/{name}"))
}

/// `state.db` and `state.db-wal` as a kill -9 of kine left them.
fn killed() -> (Vec<u8>, Vec<u8>) {
    let tar = decompressed("killed.tar.zst");
    let text = |field: &[u8]| String::from_utf8(field.split(|&byte| byte == 0).next().unwrap().to_vec()).unwrap();
    let (mut at, mut database, mut log) = (0, Vec::new(), Vec::new());
    while tar[at] != 0 {
        let header = &tar[at..at + 512];
        let size = usize::from_str_radix(text(&header[124..136]).trim(), 8).unwrap();
        let bytes = tar[at + 512..at + 512 + size].to_vec();
        match text(&header[..100]) {
            name if name.ends_with("state.db") => database = bytes,
            name if name.ends_with("state.db-wal") => log = bytes,
            _ => {}
        }
        at += 512 + size.next_multiple_of(512);
    }
    (database, log)
}

fn open(path: &Path) -> ketcd_store::Result<Box<dyn Source>> {
    load::open(&[path.to_str().unwrap().to_owned()], &|_| None)
}

fn alive(source: &dyn Source) -> Vec<KeyValue> {
    super::alive(source, At::Newest)
}
