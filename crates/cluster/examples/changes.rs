//! Prints what happened to an object, and who did it: `cargo run -p ketcd-cluster --example changes snapshot.db pod/shop/web-0`.

use ketcd_cluster::{Cluster, Options, Read, TryStreamExt as _, files};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example prints")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, address] = &arguments[..] else { return Err("give a file and an address".into()) };
    let opened = files::open(std::slice::from_ref(file), &Default::default())?;
    let cluster = Cluster::open(opened.source, Options::default()).await?;
    let mut changes = cluster.changes(address);
    while let Some(read) = changes.try_next().await? {
        match read {
            Read::Item(by) => println!("revision {}: {:?} by {:?}", by.change.revision, by.change.kind, by.actor),
            Read::Gap { from, to } => println!("revisions {from} to {to} cannot be read"),
        }
    }
    Ok(())
}
