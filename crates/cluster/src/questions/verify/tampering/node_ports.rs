//! Node ports that Services use and that their range says are free.
//!
//! Source: a port is taken in `ranges/servicenodeports` before the Service is written, and given back after it is gone (kubernetes v1.37,
//! `pkg/registry/core/service/storage/alloc.go`). The repair loop writes the range anew from all Services, and is refused where the range changed meanwhile
//! (`pkg/registry/core/service/portallocator/controller/repair.go`). So a port in use is never free, and this alone counts. Exempt are:
//!
//! - ports that are taken and not used, which the repair loop lets go after three rounds;
//! - `ranges/serviceips` and `secondaryserviceips`, which nobody writes from 1.34 on (`DisableAllocatorDualWrite`, `pkg/features/kube_features.go`) and which
//!   differ from IPAddress objects before;
//! - ports outside the range, which was another one when they were taken.

use std::collections::HashMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde_json::Value;

use ketcd_kube::RegistryKey;
use ketcd_store::{EventKind, Revision};

use super::super::finding::Weight;
use super::change::Change;
use super::evidence::{Evidence, Found};
use super::rule::{Facts, Rule};

/// More ports are not named.
const MAX_NAMED: usize = 5;

/// The ports of a range, and which of them are taken.
struct Range {
    revision: Revision,
    key: Bytes,
    first: i64,
    last: i64,
    /// A large number, its highest byte first, whose bits are ports.
    bits: Vec<u8>,
}

/// Looks at Services and the range of their ports.
#[derive(Default)]
pub(super) struct NodePorts {
    used: HashMap<Bytes, Vec<i64>>,
    range: Option<Range>,
    /// Whether the newest range was found to be wrong.
    is_found: bool,
}

impl Rule for NodePorts {
    fn see(&mut self, change: &Change<'_>, facts: &Facts<'_>, found: &mut Found) {
        match (change.place, change.kind) {
            (RegistryKey::Special("ranges/servicenodeports"), EventKind::Put) => {
                let object = facts.reader.whole(change.key(), &change.version.value);
                self.range = object.and_then(|object| Range::of(&object, change.revision(), change.key()));
                self.is_found = self.judge(found);
            }
            (RegistryKey::Special("ranges/servicenodeports"), _) => self.range = None,
            (RegistryKey::Object(_), kind) if change.own_kind().is_some_and(|kind| kind.kind == "Service") => {
                let object = facts.reader.whole(change.key(), &change.version.value).filter(|_| kind == EventKind::Put);
                match object.map(|service| ports(&service)).filter(|ports| !ports.is_empty()) {
                    Some(ports) => drop(self.used.insert(change.key().clone(), ports)),
                    None => drop(self.used.remove(change.key())),
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self, _: &Facts<'_>, found: &mut Found) {
        if !self.is_found {
            self.judge(found);
        }
    }
}

impl NodePorts {
    /// Says which ports are in use and free; returns whether there are some.
    fn judge(&self, found: &mut Found) -> bool {
        let Some(range) = &self.range else { return false };
        let mut free: Vec<(i64, &Bytes)> = Vec::new();
        for (key, ports) in &self.used {
            free.extend(ports.iter().filter(|port| range.is_free(**port)).map(|port| (*port, key)));
        }
        free.sort_unstable();
        let says = "node ports that Services use are free in the range that hands them out";
        let evidence = Evidence::new(range.revision, &range.key, Weight::High, says).of_copies();
        let named = free.iter().take(MAX_NAMED).map(|(port, key)| format!("{port} of {}", String::from_utf8_lossy(key)));
        if !free.is_empty() {
            found.add(named.fold(evidence, Evidence::because));
        }
        !free.is_empty()
    }
}

impl Range {
    fn of(object: &Value, revision: Revision, key: &Bytes) -> Option<Self> {
        let (first, last) = object["range"].as_str()?.split_once('-')?;
        let bits = BASE64_STANDARD.decode(object["data"].as_str().unwrap_or_default()).ok()?;
        Some(Self { revision, key: key.clone(), first: first.parse().ok()?, last: last.parse().ok()?, bits })
    }

    /// Whether a port is one of the range and not taken.
    fn is_free(&self, port: i64) -> bool {
        let Ok(bit) = usize::try_from(port - self.first) else { return false };
        let byte = self.bits.len().checked_sub(1 + bit / 8).map(|place| self.bits[place]);
        port <= self.last && byte.is_none_or(|byte| byte >> (bit % 8) & 1 == 0)
    }
}

/// The node ports of a Service.
fn ports(service: &Value) -> Vec<i64> {
    let listed = service["spec"]["ports"].as_array().into_iter().flatten().filter_map(|port| port["nodePort"].as_i64());
    listed.chain(service["spec"]["healthCheckNodePort"].as_i64()).filter(|port| *port > 0).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn range(bits: &[u8]) -> Range {
        let object = json!({"range": "30000-32767", "data": BASE64_STANDARD.encode(bits)});
        Range::of(&object, Revision(9), &Bytes::from_static(b"/registry/ranges/servicenodeports")).unwrap()
    }

    /// A port is taken where its bit is set, counted from the end.
    #[test]
    fn bits_are_ports() {
        let mut bits = vec![0; 11];
        bits[0] = 1;
        let taken = range(&bits);
        assert!(!taken.is_free(30080) && taken.is_free(30081) && taken.is_free(32767));
        assert!(!taken.is_free(29999) && !taken.is_free(32768), "not of the range");
        assert!(range(&[]).is_free(30080));
    }

    #[test]
    fn ports_in_use_are_never_free() {
        let service = json!({"spec": {"ports": [{"nodePort": 30080}, {"port": 80}], "healthCheckNodePort": 0}});
        assert_eq!(ports(&service), [30080]);
        let used = HashMap::from([(Bytes::from_static(b"/registry/services/specs/a/b"), vec![30080])]);
        let mut found = Found::default();
        let ports = NodePorts { used, range: Some(range(&[])), is_found: false };
        assert!(ports.judge(&mut found));
        let (findings, _) = found.findings(None);
        assert_eq!(findings[0].evidence, ["30080 of /registry/services/specs/a/b"]);
        let mut bits = vec![0xff; 11];
        bits[0] = 1;
        let healthy = NodePorts { range: Some(range(&bits)), ..ports };
        assert!(!healthy.judge(&mut Found::default()), "more are taken than used");
    }
}
