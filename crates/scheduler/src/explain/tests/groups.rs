//! Pods of one group, tried in one cycle in an order that etcd does not tell.

use crate::explanation::{Agreement, Explanation};
use crate::{Gates, Profile, Release, Scheduler, Verdict};

use super::history::{History, Pod, doubted, is_marked, scheduler};

/// Two pods of one group, of which the younger one is bound first, to n1, then the older one to n2; another pod is on n2. Explains the attempt of one
/// of them by 1.36.
fn explained(pod: &str) -> Explanation {
    let mut history = History::with_nodes(&["n1", "n2"]);
    history.bind(&Pod::new("there"), "n2");
    let [older, younger] = ["older", "younger"].map(|name| Pod { group: Some("g"), ..Pod::new(name) });
    history.pod(&older);
    history.pod(&younger);
    history.bind(&younger, "n1");
    history.bind(&older, "n2");
    let release = Release(36);
    let gates = Gates::new(release).parse("GenericWorkload=true").unwrap();
    let by = Scheduler { profiles: vec![Profile::new(release, gates)], recorded: release, ..scheduler(&["default-scheduler"]) };
    let version = crate::VersionFrom { release, ..by.version.clone() };
    let mut all = history.explained_by(Scheduler { version, ..by }, None);
    all.retain(|explanation| *explanation.attempt.pod.name == *pod);
    all.pop().unwrap()
}

#[test]
fn the_order_of_a_groups_pods_is_the_one_from_which_the_outcome_follows() {
    let older = explained("older");
    assert_eq!((older.agreement, doubted(&older)), (Agreement::Tie, vec![]), "n1 is the better one until the younger pod is on it");
    assert_eq!(["n1", "n2"].map(|node| is_marked(&older, node)), [false; 2]);
}

#[test]
fn what_depends_on_an_open_order_of_a_groups_pods_is_marked() {
    let younger = explained("younger");
    assert_eq!((younger.agreement, doubted(&younger)), (Agreement::Agrees, vec!["a/older"]), "n1 is the best one in both orders");
    assert_eq!(
        ["n1", "n2"].map(|node| is_marked(&younger, node)),
        [true; 2],
        "with the older pod on n2 only n1 fits, and nothing is scored"
    );
    let on_n2 = younger.judgement.nodes.iter().find(|node| &*node.name == "n2").unwrap();
    let unknown = |verdict: &Verdict| matches!(verdict, Verdict::Unknown { missing } if missing.contains("a/older"));
    assert!(on_n2.verdicts.iter().any(unknown), "{:?}", on_n2.verdicts);
}
