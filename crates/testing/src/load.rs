//! What others do to an etcd while it is read: writes without a pause.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinHandle;

use crate::etcd::Etcd;

/// Work that runs until it is ended.
pub struct Work {
    end: Arc<AtomicBool>,
    task: JoinHandle<usize>,
}

impl Work {
    /// Ends it; returns how often it was done.
    pub async fn end(self) -> usize {
        self.end.store(true, Ordering::Relaxed);
        self.task.await.unwrap()
    }
}

/// Writes a ConfigMap of another name in turn.
pub async fn writer(etcd: &Etcd) -> Work {
    let (end, mut client) = (Arc::new(AtomicBool::new(false)), etcd.writer().await);
    let ended = Arc::clone(&end);
    let task = tokio::spawn(async move {
        let mut count = 0;
        while !ended.load(Ordering::Relaxed) {
            let name = format!("noise-{}", count % 7);
            client.put(format!("/registry/configmaps/lab/{name}"), config_map(&name, count), None).await.unwrap();
            count += 1;
        }
        count
    });
    Work { end, task }
}

/// A ConfigMap as the API server stores it in JSON.
pub fn config_map(name: &str, value: usize) -> String {
    let metadata = serde_json::json!({"name": name, "namespace": "lab", "uid": name});
    serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"n": value.to_string()}}).to_string()
}
