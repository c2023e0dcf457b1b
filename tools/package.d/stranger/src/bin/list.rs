//! `list FILE REVISION`: the pods of a database at a revision, and their nodes.

use std::error::Error;

use futures_util::TryStreamExt;
use ketcd_kube::Decoder;
use ketcd_store::{At, KeyRange, KeyValue, Revision, Want, load};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (file, revision) = (words.next().ok_or("FILE is missing")?, words.next().ok_or("REVISION is missing")?.parse()?);
    let source = load::open(&[file], &|_| None)?;
    let listing = source.range(KeyRange::prefix("/registry/pods/"), At::Revision(Revision(revision)), Want::Values).await?;
    let stored: Vec<KeyValue> = listing.entries.try_collect().await?;
    for entry in stored {
        let decoded = Decoder::new().decode(&entry.key, &entry.value, entry.mod_revision.0);
        if let Some(pod) = decoded.object() {
            println!("{} {} {}", pod["metadata"]["namespace"], pod["metadata"]["name"], pod["spec"]["nodeName"]);
        }
    }
    Ok(())
}
