//! The examples of the help, and the commands of the guides, that read a live etcd run.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use ketcd_testing::command::ETCD_PATIENCE;
use ketcd_testing::wait::until_async;
use serde_json::json;

use crate::etcd::{Etcd, Transport};
use crate::ketcd::{on, run, stderr};
use ketcd_testing::examples::{Reads, examples};

/// Runs an example on an etcd until it ends or, where it follows the etcd, until `has_begun`; returns what it printed. Whatever it follows happens meanwhile.
async fn follow(line: &str, etcd: &Etcd, folder: &Path, has_begun: &dyn Fn(&str) -> bool) -> String {
    let ketcd = Path::new(env!("CARGO_BIN_EXE_ketcd")).parent().unwrap();
    let (path, printed) = (format!("{}:{}", ketcd.display(), std::env::var("PATH").unwrap()), folder.join("printed"));
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec {line}")]).current_dir(folder).env("PATH", path).env("ETCDCTL_ENDPOINTS", etcd.endpoint());
    command.env("ETCDCTL_DIAL_TIMEOUT", ETCD_PATIENCE).env("ETCDCTL_COMMAND_TIMEOUT", ETCD_PATIENCE);
    let file = fs::File::create(&printed).unwrap();
    let mut child = command.stdin(Stdio::null()).stderr(file.try_clone().unwrap()).stdout(file).spawn().unwrap();
    let mut writer = etcd.writer().await;
    let mut rounds = 1..;
    let status = until_async(async || {
        writer.put("/registry/pods/shop/web-0", pod(rounds.next().unwrap()), None).await.unwrap();
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        has_begun(&fs::read_to_string(&printed).unwrap()).then(|| {
            assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
            child.wait().unwrap()
        })
    });
    let status = status.await;
    let text = fs::read_to_string(&printed).unwrap();
    // One that follows nothing may be interrupted once it has printed.
    let was_interrupted = status.code() == Some(130) || status.signal() == Some(2);
    assert!(status.success() || was_interrupted, "{line}: {status}: {text}");
    text
}

fn pod(round: u64) -> String {
    let metadata = json!({"name": "web-0", "namespace": "shop", "uid": "1", "annotations": {"round": round.to_string()}});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}}).to_string()
}

/// The lines in blocks of `sh` of the guides that read the etcd in the environment. `tests/contracts/guides.rs` runs the others.
fn lines_of_guides() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/how-to");
    let pages = fs::read_dir(folder).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let blocks = pages.flat_map(|page| page.split("```sh\n").skip(1).map(str::to_owned).collect::<Vec<_>>());
    let lines = blocks.flat_map(|block| block.split("\n```").next().unwrap().lines().map(str::to_owned).collect::<Vec<_>>());
    lines.filter(|line| line.starts_with("ketcd ") && !line.contains(" -f ")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_of_a_live_etcd_run() {
    let etcd = Etcd::start(Transport::Plain).await;
    etcd.writer().await.put("/registry/pods/shop/web-0", pod(0), None).await.unwrap();
    let examples: Vec<_> = examples(&ketcd::command()).into_iter().filter(|example| example.reads() == Reads::Etcd).collect();
    assert!(examples.len() >= 4, "{}", examples.len());
    for example in examples {
        let folder = tempfile::tempdir().unwrap();
        let directory = example.line.split(' ').nth(2).map(|word| folder.path().join(word)).filter(|_| example.command == "record");
        let holds_the_pod = |_: &str| {
            let directory = directory.as_ref().filter(|directory| directory.is_dir());
            directory.is_some_and(|directory| run(&mut on(directory, "get pod/shop/web-0 -o name")).status.success())
        };
        let shows_the_pod = |text: &str| text.contains("shop/web-0");
        let has_begun: &dyn Fn(&str) -> bool = if directory.is_some() { &holds_the_pod } else { &shows_the_pod };
        let printed = follow(&example.line, &etcd, folder.path(), has_begun).await;
        assert!(!printed.is_empty(), "{}: {}", example.line, example.purpose);
        if let Some(directory) = &directory {
            let output = run(&mut on(directory, "get pod/shop/web-0"));
            assert!(output.status.success(), "{}: {}", example.line, stderr(&output));
        }
    }
    let lines = lines_of_guides();
    assert!(lines.len() >= 3, "{lines:?}");
    for line in lines {
        let folder = tempfile::tempdir().unwrap();
        let printed = follow(&line, &etcd, folder.path(), &|_| false).await;
        assert!(!printed.is_empty(), "{line}");
    }
}
