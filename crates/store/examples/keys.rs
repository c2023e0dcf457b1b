//! Prints the keys of a database, a snapshot or a data dir: `cargo run -p ketcd-store --example keys -- FILE`.

#![allow(clippy::print_stdout, reason = "an example is a program: it prints")]

use std::error::Error;

use futures_util::TryStreamExt;
use ketcd_store::{At, KeyRange, Want, load};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: keys FILE")?;
    for key in keys(&file).await? {
        println!("{key}");
    }
    Ok(())
}

/// The keys that are there at the newest revision, in their order.
async fn keys(file: &str) -> ketcd_store::Result<Vec<String>> {
    let source = load::open(&[file.to_owned()], &|_| None)?;
    let listing = source.range(KeyRange::all(), At::Newest, Want::Keys).await?;
    listing.entries.map_ok(|entry| String::from_utf8_lossy(&entry.key).into_owned()).try_collect().await
}

#[tokio::test]
async fn a_snapshot_has_its_keys() {
    let file = ketcd_testing::testdata::path("captures/k120-story/snapshot.db.zst");
    let keys = keys(file.to_str().unwrap()).await.unwrap();
    assert!(keys.contains(&"/registry/pods/lab/ubuntu".to_owned()) && keys.is_sorted(), "{keys:?}");
}
