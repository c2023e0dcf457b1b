//! Completion asks a live etcd that only the environment names, and offers what came in time.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use etcd_client::{Txn, TxnOp};

use crate::etcd::{Etcd, Transport};
use crate::ketcd::{ketcd, run, stderr};
use crate::pki::Pki;

/// How many pods there are; more than a first page holds.
const PODS: usize = 1500;

/// Writes namespaces with `PODS` pods.
async fn fill(etcd: &Etcd) {
    let mut writer = etcd.writer().await;
    writer.put("/registry/namespaces/lab", "{}", None).await.unwrap();
    let keys: Vec<String> = (0..PODS).map(|number| format!("/registry/pods/lab/{}-{number:05}", "web".repeat(30))).collect();
    for some in keys.chunks(100) {
        let puts: Vec<TxnOp> = some.iter().map(|key| TxnOp::put(key.as_str(), "{}", None)).collect();
        writer.txn(Txn::new().and_then(puts)).await.unwrap();
    }
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

/// An address that passes everything on to `port`, but no more than `bytes` of its answers.
fn stalling(port: u16, bytes: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", port)).unwrap());
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut from, &mut to));
            thread::spawn(move || {
                let mut client = client;
                std::io::copy(&mut (&server).take(bytes as u64), &mut client).and_then(|_| client.flush()).unwrap();
                thread::sleep(Duration::from_secs(60));
            });
        }
    });
    address
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

#[tokio::test(flavor = "multi_thread")]
async fn what_came_in_time_is_offered() {
    let etcd = Etcd::start(Transport::Plain).await;
    fill(&etcd).await;
    let words = ["--prefix", "/registry", "get", "pods", "-n", "lab", ""];
    // A page of 200 keys is some 40 kB.
    let slow = stalling(etcd.port(), 80_000);
    let found = offered(&[("ETCDCTL_ENDPOINTS", &slow), ("KETCD_COMPLETION_TIMEOUT", "5s")], &words);
    assert!(found.len() >= 200 && found.len() < PODS, "{} names", found.len());
}
