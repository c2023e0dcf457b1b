//! JSON where all around it is protobuf.
//!
//! An API server stores all of Kubernetes' own kinds in one encoding, `--storage-media-type` (kubernetes v1.37, `pkg/kubeapiserver/options`,
//! `pkg/controlplane`). A write in JSON among many in protobuf is somebody else's. Exempt are:
//!
//! - custom resources, their definitions and APIServices, which are JSON (or CBOR) always, and aggregated API servers, whose default is JSON (apiserver v0.37,
//!   `pkg/server/options/etcd.go`);
//! - a store whose encoding changes, as servers are restarted with another one: JSON goes on, or alternates;
//! - objects that were written long ago: only writes next to each other are compared.

use std::collections::VecDeque;

use bytes::Bytes;

use ketcd_store::Revision;

use super::super::finding::Weight;
use super::change::Change;
use super::evidence::{Evidence, Found};
use super::rule::{Rule, TamperingFacts};
use super::stored::Encoding;

/// How many writes before and behind one are compared with it.
const NEIGHBOUR_WRITES: usize = 50;

/// More of them in JSON are the store's own.
const MAX_IN_JSON: usize = 5;

/// How many before it must be in protobuf; behind it one must be.
const MIN_BEFORE: usize = 3;

/// What API servers store as JSON, with another kind's encoding around them.
const ALWAYS_JSON: [&str; 2] = ["apiextensions.k8s.io", "apiregistration.k8s.io"];

/// A write in JSON whose neighbours behind it are awaited.
struct OddEncoding {
    revision: Revision,
    key: Bytes,
    /// Writes before it, of protobuf and of JSON.
    before: (usize, usize),
    behind: (usize, usize),
}

/// Looks at encodings.
#[derive(Default)]
pub(super) struct Encodings {
    /// Whether the last writes were in JSON.
    last: VecDeque<bool>,
    odd: VecDeque<OddEncoding>,
}

impl Rule for Encodings {
    fn see(&mut self, change: &Change<'_>, _: &TamperingFacts<'_>, found: &mut Found) {
        if change.own_kind().is_none_or(|kind| ALWAYS_JSON.contains(&&*kind.group)) {
            return;
        }
        let Some(stored) = change.stored else { return };
        let is_json = match stored.encoding {
            Encoding::Protobuf => false,
            Encoding::Json(_) => true,
            _ => return,
        };
        self.write(is_json, change.revision(), change.key(), found);
    }

    fn finish(&mut self, _: &TamperingFacts<'_>, found: &mut Found) {
        self.odd.drain(..).filter_map(OddEncoding::judge).for_each(|evidence| found.add(evidence));
    }
}

impl Encodings {
    fn write(&mut self, is_json: bool, revision: Revision, key: &Bytes, found: &mut Found) {
        for odd in &mut self.odd {
            let (protobuf, json) = &mut odd.behind;
            *if is_json { json } else { protobuf } += 1;
        }
        while self.odd.front().is_some_and(|odd| odd.behind.0 + odd.behind.1 >= NEIGHBOUR_WRITES) {
            self.odd.pop_front().and_then(OddEncoding::judge).into_iter().for_each(|evidence| found.add(evidence));
        }
        if is_json {
            let json = self.last.iter().filter(|is_json| **is_json).count();
            self.odd.push_back(OddEncoding { revision, key: key.clone(), before: (self.last.len() - json, json), behind: (0, 0) });
        }
        self.last.push_back(is_json);
        if self.last.len() > NEIGHBOUR_WRITES {
            self.last.pop_front();
        }
    }
}

impl OddEncoding {
    fn judge(self) -> Option<Evidence> {
        let is_odd = self.before.0 >= MIN_BEFORE && self.behind.0 >= 1 && self.before.1 + self.behind.1 < MAX_IN_JSON;
        let says = "the object is stored as JSON where API servers store protobuf";
        let fact =
            format!("of the writes around it {} are protobuf and {} JSON", self.before.0 + self.behind.0, self.before.1 + self.behind.1);
        is_odd.then(|| Evidence::new(self.revision, &self.key, Weight::Medium, says).because(fact).of_copies())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of writes that are odd; `j` is one in JSON.
    fn odd(writes: &str) -> Vec<i64> {
        let (mut encodings, mut found) = (Encodings::default(), Found::default());
        for (place, write) in writes.bytes().enumerate() {
            encodings.write(write == b'j', Revision(place as i64), &Bytes::from_static(b"/registry/roles/a/b"), &mut found);
        }
        encodings.odd.drain(..).filter_map(OddEncoding::judge).for_each(|evidence| found.add(evidence));
        found.findings(None).0.iter().map(|finding| finding.revision.unwrap().0).collect()
    }

    #[test]
    fn json_among_protobuf_is_odd() {
        assert_eq!(odd("pppppjppp"), [5]);
        assert_eq!(odd(&format!("{}j{}", "p".repeat(200), "p".repeat(200))), [200]);
    }

    #[test]
    fn a_store_that_changes_its_encoding_is_not() {
        assert_eq!(odd(&format!("{}{}", "p".repeat(100), "j".repeat(100))), Vec::<i64>::new());
        assert_eq!(odd(&format!("{}{}", "p".repeat(100), "jp".repeat(50))), Vec::<i64>::new(), "servers are restarted one after the other");
        assert_eq!(odd("ppppppj"), Vec::<i64>::new(), "the last write may be the first of many");
        assert_eq!(odd(&"j".repeat(100)), Vec::<i64>::new());
    }
}
