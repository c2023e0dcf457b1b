//! `explain FILE REVISION NAMESPACE POD`: why a pod runs where it runs, or nowhere.

use std::error::Error;
use std::io;

use ketcd_cluster::replay::SchedulerOptions;
use ketcd_cluster::{Cluster, Options, files};
use ketcd_render::explanation::text;
use ketcd_store::{At, Revision};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, revision, namespace, pod] = &words[..] else { return Err("FILE REVISION NAMESPACE POD".into()) };
    let files = files::open(&[file.clone()], &Default::default())?;
    let options = Options { at: At::Revision(Revision(revision.parse()?)), ..Options::default() };
    let cluster = Cluster::open(files.source, options).await?;
    let explained = cluster.explainer(&SchedulerOptions::default()).await?.pod(namespace, pod).await?;
    let shown = text::TextOptions { refusals: &explained.refusals, ..text::TextOptions::default() };
    text::write(&explained.explanation, Some(cluster.clock().await?), shown, &mut io::stdout())?;
    Ok(())
}
