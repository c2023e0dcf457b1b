//! Completion asks a live etcd that only the environment names, and offers what came in time.

use std::collections::BTreeSet;

use etcd_client::{Txn, TxnOp};
use ketcd_testing::proxy::Proxy;

use crate::etcd::{Etcd, Transport};
use crate::ketcd::{ketcd, run, stderr};
use crate::pki::Pki;

/// How many pods there are; more than a first page holds.
const POD_COUNT: usize = 1500;

/// Writes a namespace with `POD_COUNT` pods; returns their names.
async fn fill(etcd: &Etcd) -> BTreeSet<String> {
    let mut writer = etcd.writer().await;
    writer.put("/registry/namespaces/lab", "{}", None).await.unwrap();
    let names: Vec<String> = (0..POD_COUNT).map(|number| format!("{}-{number:05}", "web".repeat(30))).collect();
    for some in names.chunks(100) {
        let puts: Vec<TxnOp> = some.iter().map(|name| TxnOp::put(format!("/registry/pods/lab/{name}"), "{}", None)).collect();
        writer.txn(Txn::new().and_then(puts)).await.unwrap();
    }
    names.into_iter().collect()
}

/// The words that are offered for the last one, with the flags that clap offers left out.
fn offered(environment: &[(&str, &str)], words: &[&str]) -> Vec<String> {
    let mut command = ketcd();
    command.envs(environment.iter().copied()).env("COMPLETE", "fish").args(["--", "ketcd"]).args(words);
    let output = run(&mut command);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| line.split('\t').next().unwrap().to_owned()).filter(|word| !word.starts_with("--")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_names_etcd() {
    let pki = Pki::new();
    let etcd = Etcd::mutual(&pki).await;
    fill(&etcd).await;
    let (endpoint, ca, client) = (etcd.endpoint(), pki.ca(), pki.client());
    let [ca, cert, key] = [&ca, &client.cert, &client.key].map(|path| path.to_str().unwrap());
    let environment = [("ETCDCTL_ENDPOINTS", endpoint.as_str()), ("ETCDCTL_CACERT", ca), ("ETCDCTL_CERT", cert), ("ETCDCTL_KEY", key)];
    // However long it takes.
    let patient = [&environment[..], &[("KETCD_COMPLETION_TIMEOUT", "24h")]].concat();
    assert_eq!(offered(&patient, &["get", "-n", "la"]), ["lab"]);
    assert_eq!(offered(&patient, &["get", "ns", ""]), ["lab"]);
    // With a certificate missing, kinds are those of Kubernetes itself.
    assert_eq!(offered(&environment[..2], &["get", "ns", ""]), [""; 0]);
    assert_eq!(offered(&environment[..2], &["get", "statef"]), ["statefulsets"]);
}

/// An etcd that does not answer any more ends no completion later than the shell waits. `cli::complete::lookup` holds that all is offered that came by then.
#[tokio::test(flavor = "multi_thread")]
async fn etcd_that_stops_answering_delays_no_word() {
    let etcd = Etcd::start(Transport::Plain).await;
    let pods = fill(&etcd).await;
    let stalling = Proxy::start(etcd.endpoint(), |passing| {
        Box::pin(async move {
            if passing.is_later_page() {
                std::future::pending().await
            }
        })
    });
    let words = ["--prefix", "/registry", "get", "pods", "-n", "lab", ""];
    let found = offered(&[("ETCDCTL_ENDPOINTS", stalling.endpoint())], &words);
    assert!(found.len() < POD_COUNT && found.iter().all(|name| pods.contains(name)), "{} names: {found:?}", found.len());
}
