//! The queue of a process that took over: in the order in which it listed the pods, as far as that is known.

use crate::profile::scheduler::Scheduler;
use crate::{Gates, Profile, Release, VersionEvidence, VersionFrom};

use super::history::{History, Pod, assumed, doubted};

fn of_release(release: u16) -> Scheduler {
    let release = Release(release);
    let version = VersionFrom { release, patch: None, evidence: VersionEvidence::Given };
    Scheduler { profiles: vec![Profile::new(release, Gates::new(release))], recorded: release, version, configured: true }
}

/// Pods that wait as a new process takes over, created in this order; of two of them the one that comes later by its key is bound first. Then others
/// are refused.
fn taken_over(created: &[&'static str], refused: &[&'static str]) -> History {
    let mut history = History::with_nodes(&["n1", "n2"]);
    for name in created {
        history.pod(&Pod::new(name));
    }
    history.restart();
    history.bind(&Pod::new("b"), "n1");
    history.bind(&Pod::new("a"), "n2");
    for name in refused {
        history.refuse(&Pod::new(name), "0/2 nodes are available");
    }
    history
}

/// What is counted, and what is open, in the attempts of the pods a and b.
fn known(history: &History, release: u16) -> [(usize, usize); 2] {
    ["a", "b"].map(|name| {
        let mut all = history.explained_by(of_release(release), None);
        all.retain(|explanation| *explanation.attempt.pod.name == *name);
        let explanation = all.pop().unwrap();
        (assumed(&explanation).len(), doubted(&explanation).len())
    })
}

/// The other pod counts in the attempt of b alone.
const A_FIRST: [(usize, usize); 2] = [(0, 0), (1, 0)];

/// Either may have been first.
const OPEN_ORDERS: [(usize, usize); 2] = [(0, 1), (0, 1)];

#[test]
fn a_list_is_in_the_order_of_keys() {
    // That a came before z, which is older, shows that all were listed.
    let history = taken_over(&["z", "b", "a"], &["z"]);
    assert_eq!(known(&history, 33), A_FIRST);
    assert_eq!(known(&history, 26), OPEN_ORDERS, "lists are not sorted");
    assert_eq!(known(&history, 37), OPEN_ORDERS, "lists may be streamed");
    assert_eq!(known(&taken_over(&["a", "b"], &[]), 33), A_FIRST, "listed or not, a is the first");
    assert_eq!(known(&taken_over(&["b", "a"], &[]), 33), OPEN_ORDERS, "a may have come after the list");
}

#[test]
fn pods_that_were_created_after_the_list_follow_by_creation() {
    let mut history = History::with_nodes(&["n1", "n2"]);
    for name in ["y", "c", "b", "a"] {
        history.pod(&Pod::new(name));
    }
    history.restart();
    // That y came before c, which is newer, shows that c came after the list.
    history.refuse(&Pod::new("y"), "0/2 nodes are available");
    history.refuse(&Pod::new("c"), "0/2 nodes are available");
    history.bind(&Pod::new("a"), "n2");
    history.bind(&Pod::new("b"), "n1");
    assert_eq!(known(&history, 33), [(1, 0), (0, 0)]);
}

#[test]
fn refusals_that_fit_the_order_of_keys_alone_show_that_no_list_was_streamed() {
    let refused = ["r1", "r2", "r3", "r4", "r5"];
    let created = ["r5", "r4", "r3", "r2", "r1", "b", "a"];
    assert_eq!(known(&taken_over(&created, &refused), 37), A_FIRST);
    assert_eq!(known(&taken_over(&created, &refused[..3]), 37), OPEN_ORDERS, "chance may have it so");
    assert_eq!(known(&taken_over(&created, &["r2", "r1", "r3", "r4", "r5"]), 37), OPEN_ORDERS, "they do not fit it");
}

#[test]
fn a_more_urgent_pod_that_was_listed_was_taken_first() {
    let urgent = Pod { priority: 5, ..Pod::new("urgent") };
    let mut history = History::with_nodes(&["n1", "n2"]);
    history.pod(&Pod::new("low"));
    history.pod(&urgent);
    (0..20).for_each(|_| {
        history.node("n2", &[]);
    });
    history.restart();
    history.bind(&Pod::new("low"), "n1");
    history.bind(&urgent, "n2");
    let low = history.explained("low");
    assert_eq!((assumed(&low), doubted(&low)), (vec![("a/urgent", "n2")], vec![]));
}
