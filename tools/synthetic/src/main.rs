//! `ketcd-synthetic PODS FILE [SEED]`: writes the etcd database of a made-up cluster of this many pods, as `etcdctl snapshot save` would have it.

#![allow(clippy::print_stderr, reason = "its messages")]

use std::process::ExitCode;

const USAGE_TEXT: &str = "ketcd-synthetic PODS FILE [SEED]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (pods, path, seed) = match &arguments[..] {
        [pods, path] => (pods.parse(), path, Ok(1)),
        [pods, path, seed] => (pods.parse(), path, seed.parse()),
        _ => {
            eprintln!("usage: {USAGE_TEXT}");
            return ExitCode::from(2);
        }
    };
    let (Ok(pods), Ok(seed)) = (pods, seed) else {
        eprintln!("error: PODS and SEED are whole numbers\nusage: {USAGE_TEXT}");
        return ExitCode::from(2);
    };
    match ketcd_synthetic::write(pods, seed, path.as_ref()) {
        Ok(cluster) => {
            eprintln!("{} pods on {} nodes, revision {}: {path}", pods, cluster.nodes, cluster.revision);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {path}: {error}");
            ExitCode::from(2)
        }
    }
}
