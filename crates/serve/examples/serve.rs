//! Serves a snapshot to kubectl until Ctrl-C: `cargo run -p ketcd-serve --example serve -- snapshot.db`.
#![allow(clippy::print_stdout, reason = "an example is a program: it prints")]

use std::sync::Arc;

use ketcd_cluster::{Cluster, files};
use ketcd_serve::{Options, Server};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: serve FILE")?;
    let opened = files::open(&[file], &Default::default())?;
    let cluster = Cluster::open(opened.source, Default::default()).await?;
    let options = Options { listen: ([127, 0, 0, 1], 0).into(), certificate: None, kubeconfig: None, files: 1024, speed: None, page: None };
    let server = Server::start(Arc::new(cluster), &options).await?;
    let kubeconfig = server.kubeconfig().ok_or("no kubeconfig")?;
    println!("kubectl --kubeconfig {} get pods --all-namespaces", kubeconfig.display());
    tokio::signal::ctrl_c().await?;
    Ok(())
}
