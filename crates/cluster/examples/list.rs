//! Prints the pods of a snapshot as they were at a revision: `cargo run -p ketcd-cluster --example list snapshot.db 600`.

use ketcd_cluster::{At, Cluster, Options, Revision, TryStreamExt as _, files};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example prints")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, revision] = &arguments[..] else { return Err("give a file and a revision".into()) };
    let options = Options { at: At::Revision(Revision(revision.parse()?)), all_namespaces: true, ..Options::default() };
    let cluster = Cluster::open(files::open(std::slice::from_ref(file), &Default::default())?.source, options).await?;
    let mut pods = cluster.list("pods");
    while let Some(pod) = pods.try_next().await? {
        println!("{}/{} {}", pod["metadata"]["namespace"], pod["metadata"]["name"], pod["spec"]["nodeName"]);
    }
    Ok(())
}
