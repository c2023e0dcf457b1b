//! What the calls of a member's log did.

use bytes::Bytes;

use ketcd_history::clock::Clock;
use ketcd_kube::encryption::KeyRing;
use ketcd_kube::{Kinds, RegistryKey, Release};
use ketcd_store::{Call, EventKind, KeyRange, KeyValue, Revision};

use super::super::super::finding::Weight;
use super::super::change::Change;
use super::super::evidence::Found;
use super::super::log::Calls;
use super::super::rule::{Rule, TamperingFacts};
use super::super::stored::Reader;
use super::store::Store;

/// The weight and the evidence of a bare deletion of a key at revision 9.
fn deleted(key: &'static str) -> (Weight, Vec<String>) {
    let key = Bytes::from_static(key.as_bytes());
    let call = (5, Some(Revision(9)), Call::Delete(KeyRange::key(key.to_vec())));
    let mut calls = Calls::of_calls(std::iter::once(call), "/registry", Release::NEWEST);
    let (reader, clock) = (Reader::new("/registry", &KeyRing::default()), Clock::default());
    let facts = TamperingFacts { reader: &reader, clock: &clock, release: Release::NEWEST, newest: Revision(9), is_damaged: false };
    let version = KeyValue {
        key,
        value: Bytes::new(),
        create_revision: Revision(0),
        mod_revision: Revision(9),
        version: 0,
        replaced: Revision(0),
        lease: 0,
    };
    let (source, kinds, mut found) = (Store::new().source(), Kinds::builtin(), Found::default());
    let place = RegistryKey::parse("/registry", &version.key, &kinds);
    let change = Change { version: &version, kind: EventKind::Delete, place, stored: None, before: None, source: source.as_ref() };
    calls.see(&change, &facts, &mut found);
    calls.finish(&facts, &mut found);
    let (findings, _) = found.findings(None);
    assert_eq!(findings.len(), 1, "it is named once");
    (findings[0].weight, findings[0].evidence.clone())
}

#[test]
fn a_bare_deletion_weighs_much() {
    let (weight, evidence) = deleted("/registry/configmaps/a/b");
    assert_eq!((weight, evidence), (Weight::High, vec!["entry 5 of the log, revision 9".to_owned()]));
}

/// kubernetes#86812, kops#8337: people are told to call `etcdctl del` after a restore.
#[test]
fn a_known_recipe_weighs_little_and_says_so() {
    for key in ["/registry/masterleases/10.0.0.1", "/registry/events/a/b.1"] {
        let (weight, evidence) = deleted(key);
        assert_eq!(weight, Weight::Low, "{key}");
        assert!(evidence.iter().any(|fact| fact.starts_with("a known recipe")), "{evidence:?}");
    }
}
