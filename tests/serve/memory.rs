//! Answers are written as they are read: what the server takes for one does not grow with it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ketcd_kube::{Body, Decoder, Release};
use serde_json::Value;

use crate::server::Server;

/// Bytes of memory that the server has beside the files that it maps.
fn held(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() << 10
}

/// Reads an answer, and returns it with the most that the server held meanwhile beyond what it held before.
fn measured(server: &Server, path: &str, accept: &str) -> (Vec<u8>, usize) {
    let (before, is_read) = (held(server), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut most = before;
            while !is_read.load(Ordering::Relaxed) {
                most = most.max(held(server));
                std::thread::sleep(Duration::from_millis(5));
            }
            most - before
        });
        let (code, _, bytes) = server.bytes(path, accept);
        is_read.store(true, Ordering::Relaxed);
        assert_eq!(code, 200, "{path} {accept}: {}", String::from_utf8_lossy(&bytes[..bytes.len().min(300)]));
        (bytes, watcher.join().unwrap())
    })
}

#[test]
fn no_answer_is_held() {
    const PODS: usize = 3_500;
    const BOUND: usize = 32 << 20;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("snapshot.db");
    ketcd_synthetic::write(PODS, 1, &file).unwrap();
    let server = Server::start(file.to_str().unwrap(), &[]);
    let pods = "/api/v1/pods";
    // What is made once is made.
    let (first, _) = measured(&server, pods, "application/json");
    let whole: Value = serde_json::from_slice(&first).unwrap();
    let wanted = whole["items"].as_array().unwrap().len();
    assert!(wanted >= PODS && first.len() > 16 << 20, "{wanted} pods, {} bytes", first.len());
    for shape in ["", ";as=Table;v=v1;g=meta.k8s.io", ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"] {
        for query in ["?includeObject=Object", "?limit=1000000&includeObject=Object"] {
            let (text, needed) = measured(&server, &format!("{pods}{query}"), &format!("application/yaml{shape}"));
            assert!(needed < BOUND, "{needed} bytes for {} of YAML{shape} {query}", text.len());
            let items = text.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"- ")).count();
            let heads = if shape.contains("Table") { text.windows(11).take(4096).filter(|word| word == b"description").count() } else { 0 };
            assert_eq!(items - heads, wanted, "{shape} {query}");
        }
    }
    // It is longer than what is held until its length is known.
    let (bytes, needed) = measured(&server, &format!("{pods}?limit=1000000"), "application/vnd.kubernetes.protobuf");
    assert!(bytes.len() > 16 << 20 && needed < BOUND, "{needed} bytes for {} of protobuf", bytes.len());
    let decoder = Decoder::for_stored_values().with_release(Release::NEWEST);
    let Body::Object(list) = decoder.decode(b"", &bytes, 0).body else { panic!("no list") };
    assert_eq!(list.into_value()["items"].as_array().map(Vec::len), Some(wanted));
}
