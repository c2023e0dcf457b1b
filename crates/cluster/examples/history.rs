//! Prints what happened to an object: `cargo run -p ketcd-cluster --example history snapshot.db pod/shop/web-0`.

use futures_util::TryStreamExt as _;
use ketcd_cluster::read::Read;
use ketcd_cluster::{Cluster, Options, files};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example prints")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, address] = &arguments[..] else { return Err("give a file and an address".into()) };
    let opened = files::open(std::slice::from_ref(file), &Default::default())?;
    let cluster = Cluster::open(opened.source, Options::default()).await?;
    let mut history = cluster.history(address).await?;
    while let Some(read) = history.changes.try_next().await? {
        match read {
            Read::Item(change) => println!("revision {}: {:?}", change.revision, change.kind),
            Read::Gap { from, to } => println!("revisions {from} to {to} cannot be read"),
        }
    }
    Ok(())
}
