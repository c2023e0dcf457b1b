//! Prints which pods find no place once a node is drained: `cargo run -p ketcd-what-if --example drain snapshot.db node3`.

use ketcd_cluster::{Cluster, Options, files};
use ketcd_what_if::{WhatIfAction, WhatIfQuestion, what_if};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example prints")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, node] = &arguments[..] else { return Err("give a file and a node".into()) };
    let opened = files::open(std::slice::from_ref(file), &Default::default())?;
    let cluster = Cluster::open(opened.source, Options::default()).await?;
    let question = WhatIfQuestion { actions: vec![WhatIfAction::Drain(node.clone())], ..WhatIfQuestion::default() };
    for (pod, message) in what_if(&cluster, &question).await?.waiting {
        println!("{}/{}: {}", pod.namespace, pod.name, message.unwrap_or_default());
    }
    Ok(())
}
