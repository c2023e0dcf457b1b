//! The release of the API server, as its own objects and the nodes show it.

use futures_util::StreamExt;
use serde_json::Value;

use ketcd_kube::{Release, ReleaseEvidence};
use ketcd_store::{At, KeyRange, Want};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::notice::Notice;
use crate::rights::refused::unless_denied;

impl Cluster {
    /// The release of the API server, as far as its own objects and the nodes show it.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn find_release(&self) -> Result<ReleaseEvidence> {
        const MAX_NODES_READ: usize = 100;
        let prefix = self.prefix().await?;
        let mut evidence = ReleaseEvidence::default();
        let services = format!("{prefix}/apiregistration.k8s.io/apiservices/");
        let refused = match self.source.range(KeyRange::prefix(services.as_str()), At::Newest, Want::Keys).await {
            Ok(mut found) => {
                while let Some(entry) = found.entries.next().await.transpose()? {
                    let name = entry.key.strip_prefix(services.as_bytes()).unwrap_or_default();
                    evidence.saw_api_service(&String::from_utf8_lossy(name));
                }
                None
            }
            Err(error) if error.is_denied() => Some(error),
            Err(error) => return Err(error.into()),
        };
        let nodes = KeyRange::prefix(format!("{prefix}/minions/"));
        let nodes = unless_denied(self.source.first(nodes, At::Newest, Want::Values, MAX_NODES_READ).await)?;
        for entry in nodes.unwrap_or_default() {
            let node = self.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
            if let Some(version) = node.object().and_then(|node| node.pointer("/status/nodeInfo/kubeletVersion")).and_then(Value::as_str) {
                evidence.saw_kubelet(version);
            }
        }
        if let Some(refused) = refused.filter(|_| evidence.release().is_none()) {
            let newest = Release::default();
            self.note(Notice::ReleaseUnknown { problem: refused.to_string(), assumed: newest });
        }
        Ok(evidence)
    }
}
