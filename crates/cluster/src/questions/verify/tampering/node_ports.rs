//! Node ports that Services use and that their range says are free.
//!
//! Source: a port is taken in `ranges/servicenodeports` before the Service is written, and given back after it is gone (kubernetes v1.37,
//! `pkg/registry/core/service/storage/alloc.go`, `portallocator/operation.go`). The repair loop writes the range anew from all Services, and is refused where
//! the range changed meanwhile (`portallocator/controller/repair.go`). So a port in use is not free, and this alone counts. Exempt are:
//!
//! - a port that an update gives back: it is free just before the Service is written without it, as the update ends before its write does (apiserver v0.37,
//!   `pkg/registry/generic/registry/store.go`, `Update`, `finishUpdate`): [`MAX_AHEAD`];
//! - ports that are taken and not used, which the repair loop lets go after three rounds;
//! - `ranges/serviceips` and `secondaryserviceips`, which nobody writes from 1.34 on (`DisableAllocatorDualWrite`, `pkg/features/kube_features.go`) and which
//!   differ from IPAddress objects before;
//! - ports outside the range, which was another one when they were taken;
//! - what was known before a gap.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;

use ketcd_kube::RegistryKey;
use ketcd_store::{EventKind, Revision};

use super::super::allocation::{Member, Range, node_ports};
use super::super::finding::Weight;
use super::change::Change;
use super::evidence::{Evidence, Found};
use super::rule::{Rule, TamperingFacts};

/// More ports are not named.
const MAX_NAMED: usize = 5;

/// How many revisions after a port was given back its Service may be written without it.
const MAX_AHEAD: i64 = 50;

/// What is known of a port that a Service uses.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PortState {
    Taken,
    /// The range was written at a revision with the port free.
    Freed(Revision),
    /// It was said that it is free.
    Named,
}

/// Looks at Services and the range of their ports.
#[derive(Default)]
pub(super) struct NodePorts {
    used: HashMap<Bytes, BTreeMap<Member, PortState>>,
    /// The newest range, and when it was written.
    range: Option<(Range, Revision)>,
    /// Ports that were found free while in use, by the revision of the range.
    free: BTreeMap<Revision, Vec<String>>,
    /// The range's key.
    range_key: Bytes,
}

impl Rule for NodePorts {
    fn see(&mut self, change: &Change<'_>, facts: &TamperingFacts<'_>, found: &mut Found) {
        match (change.place, change.kind) {
            (RegistryKey::Special("ranges/servicenodeports"), EventKind::Put) => {
                let object = facts.reader.whole(change.key(), &change.version.value);
                self.range_key = change.key().clone();
                self.range = object.and_then(|object| Range::of(&object)).map(|range| (range, change.revision()));
                self.judge_range();
            }
            (RegistryKey::Special("ranges/servicenodeports"), _) => self.range = None,
            (RegistryKey::Object(_), kind) if change.own_kind().is_some_and(|kind| kind.kind == "Service") => {
                let object = facts.reader.whole(change.key(), &change.version.value).filter(|_| kind == EventKind::Put);
                let ports: Vec<Member> = object.iter().flat_map(node_ports).collect();
                self.hold(change.key(), change.revision(), &ports, found);
            }
            _ => {}
        }
    }

    fn forget(&mut self) {
        // A Service may be gone since, and the range another one.
        self.used.clear();
        self.range = None;
    }

    fn finish(&mut self, _: &TamperingFacts<'_>, found: &mut Found) {
        for (key, ports) in std::mem::take(&mut self.used) {
            for (port, state) in ports {
                if let PortState::Freed(at) = state {
                    self.name(at, port, &key);
                }
            }
        }
        let says = "node ports that Services use are free in the range that hands them out";
        for (at, ports) in std::mem::take(&mut self.free) {
            let evidence = Evidence::new(at, &self.range_key, Weight::High, says).of_copies();
            found.add(ports.into_iter().take(MAX_NAMED).fold(evidence, Evidence::because));
        }
    }
}

impl NodePorts {
    /// Notes which ports a Service has now, and names those that it did not have before and that nobody took.
    fn hold(&mut self, key: &Bytes, revision: Revision, ports: &[Member], found: &mut Found) {
        let mut before = self.used.remove(key).unwrap_or_default();
        let mut used = BTreeMap::new();
        for port in ports {
            let state = before.remove(port).or_else(|| used.get(port).cloned());
            let range = self.range.as_ref().filter(|(range, _)| state.is_none() && range.is_free(*port));
            if let Some((_, written)) = range {
                let says = "the Service uses a node port that is free in the range which hands them out";
                let fact = format!("{port} is free in the range as of revision {written}");
                found.add(Evidence::new(revision, key, Weight::High, says).because(fact).of_copies());
            }
            used.insert(*port, state.unwrap_or(if range.is_some() { PortState::Named } else { PortState::Taken }));
        }
        for (port, state) in before {
            if let PortState::Freed(at) = state
                && revision.0 - at.0 > MAX_AHEAD
            {
                self.name(at, port, key);
            }
        }
        if !used.is_empty() {
            self.used.insert(key.clone(), used);
        }
    }

    /// Notes which ports are in use, and free since the newest range was written.
    fn judge_range(&mut self) {
        let Some((range, written)) = &self.range else { return };
        for (port, state) in self.used.values_mut().flatten() {
            if *state == PortState::Taken && range.is_free(*port) {
                *state = PortState::Freed(*written);
            }
        }
    }

    fn name(&mut self, at: Revision, port: Member, key: &[u8]) {
        self.free.entry(at).or_default().push(format!("{port} of {}", String::from_utf8_lossy(key)));
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use ketcd_history::clock::Clock;
    use ketcd_kube::Release;
    use ketcd_kube::encryption::KeyRing;
    use serde_json::json;

    use super::super::super::allocation::node_ports;
    use super::super::stored::Reader;
    use super::*;

    fn range(bits: &[u8]) -> Option<(Range, Revision)> {
        range_at(9, bits)
    }

    fn range_at(revision: i64, bits: &[u8]) -> Option<(Range, Revision)> {
        let object = json!({"range": "30000-32767", "data": BASE64_STANDARD.encode(bits)});
        Range::of(&object).map(|range| (range, Revision(revision)))
    }

    /// What is found at the end: revisions and facts.
    fn end(mut ports: NodePorts, mut found: Found) -> Vec<(i64, Vec<String>)> {
        let (reader, clock) = (Reader::new("/registry", &KeyRing::default()), Clock::default());
        let facts = TamperingFacts { reader: &reader, clock: &clock, release: Release::NEWEST, newest: Revision(99), is_damaged: false };
        ports.finish(&facts, &mut found);
        found.findings(None).0.into_iter().map(|finding| (finding.revision.unwrap().0, finding.evidence)).collect()
    }

    /// A range in which 30080 alone is taken.
    fn taken() -> Vec<u8> {
        let mut bits = vec![0; 11];
        bits[0] = 1;
        bits
    }

    const PORT: Member = Member::Port(30080);
    const KEY: Bytes = Bytes::from_static(b"/registry/services/specs/a/b");

    #[test]
    fn ports_in_use_are_never_free() {
        let service = json!({"spec": {"ports": [{"nodePort": 30080}, {"port": 80}], "healthCheckNodePort": 0}});
        assert_eq!(node_ports(&service).collect::<Vec<_>>(), [PORT]);
        let (mut ports, mut found) = (NodePorts::default(), Found::default());
        ports.hold(&KEY, Revision(7), &[PORT], &mut found);
        ports.range = range(&taken());
        ports.judge_range();
        for revision in [20, 21] {
            ports.range = range_at(revision, &[]);
            ports.judge_range();
        }
        assert_eq!(end(ports, found), [(20, vec!["30080 of /registry/services/specs/a/b".to_owned()])]);
    }

    /// The range is written before the Service that gives a port back, which real API servers do at every such update.
    #[test]
    fn a_port_is_given_back_ahead_of_its_service() {
        let gives_back = |at: i64| {
            let (mut ports, mut found) = (NodePorts { range: range(&taken()), ..NodePorts::default() }, Found::default());
            ports.hold(&KEY, Revision(10), &[PORT, PORT], &mut found);
            ports.range = range_at(11, &[]);
            ports.judge_range();
            ports.hold(&KEY, Revision(at), &[], &mut found);
            end(ports, found).len()
        };
        assert_eq!((gives_back(12), gives_back(11 + MAX_AHEAD + 1)), (0, 1));
    }

    #[test]
    fn a_port_that_nobody_took_is_its_services() {
        let (mut ports, mut found) = (NodePorts { range: range(&[]), ..NodePorts::default() }, Found::default());
        ports.hold(&KEY, Revision(11), &[PORT], &mut found);
        ports.hold(&KEY, Revision(12), &[PORT], &mut found);
        ports.judge_range();
        assert_eq!(end(ports, found), [(11, vec!["30080 is free in the range as of revision 9".to_owned()])]);
    }

    /// What went within a gap is not known.
    #[test]
    fn a_gap_lets_all_go() {
        let mut ports = NodePorts { range: range(&taken()), ..NodePorts::default() };
        ports.hold(&KEY, Revision(3), &[PORT], &mut Found::default());
        ports.forget();
        ports.range = range(&[]);
        ports.judge_range();
        assert_eq!(end(ports, Found::default()), []);
    }
}
