//! Bindings written in another order than the decisions were made.

use crate::Verdict;
use crate::explanation::{Agreement, Caveat};
use crate::replay::RestartedSchedulers;

use super::history::{History, Pod, assumed, doubted, is_marked, scheduler, total};

/// Two pods, of which the second is bound first, on the node that the first one left.
fn overtaken(first: &Pod, second: &Pod) -> History {
    let mut history = History::with_nodes(&["n1", "n2"]);
    history.pod(first);
    history.pod(second);
    history.bind(second, "n2");
    history.bind(first, "n1");
    history
}

#[test]
fn the_older_of_equal_pods_was_decided_about_first() {
    let history = overtaken(&Pod::new("older"), &Pod::new("newer"));
    let newer = history.explained("newer");
    assert_eq!((assumed(&newer), newer.agreement), (vec![("a/older", "n1")], Agreement::Agrees));
    assert!(total(&newer, "n1") < total(&newer, "n2"));
    let older = history.explained("older");
    assert_eq!((assumed(&older), older.agreement, older.evaluated_revision), (vec![], Agreement::Tie, 4));
    assert_eq!(total(&older, "n1"), total(&older, "n2"));
    assert_eq!([doubted(&newer), doubted(&older)], [[""; 0]; 2], "nothing is open");
}

#[test]
fn a_refusal_is_written_before_the_next_pod_is_taken() {
    let mut history = History::with_nodes(&["n1", "n2"]);
    let [low, refused, high] = [Pod::new("low"), Pod::new("refused"), Pod { priority: 5, ..Pod::new("high") }];
    history.pod(&refused);
    history.pod(&low);
    history.refuse(&refused, "0/2 nodes are available");
    history.pod(&high);
    history.bind(&low, "n1");
    history.bind(&high, "n2");
    let low = history.explained("low");
    assert_eq!(doubted(&low), ["a/high"], "both may have been taken first");
    let mut early = History::with_nodes(&["n1", "n2"]);
    let [low, high] = [Pod::new("low"), Pod { priority: 5, ..Pod::new("high") }];
    early.pod(&refused);
    early.pod(&low);
    early.pod(&high);
    early.refuse(&refused, "0/2 nodes are available");
    early.bind(&low, "n1");
    early.bind(&high, "n2");
    assert_eq!(assumed(&early.explained("low")), [("a/high", "n2")], "it was in the queue when the refusal was written");
}

#[test]
fn a_pod_behind_one_that_was_refused_later_was_decided_about_after() {
    let urgent = |name: &'static str| Pod { priority: 5, ..Pod::new(name) };
    let mut history = History::with_nodes(&["n1", "n2"]);
    history.pod(&Pod::new("low"));
    history.pod(&urgent("refused"));
    history.pod(&urgent("behind"));
    history.bind(&Pod::new("low"), "n1");
    history.refuse(&urgent("refused"), "0/2 nodes are available");
    history.bind(&urgent("behind"), "n2");
    let low = history.explained("low");
    assert_eq!((assumed(&low), doubted(&low)), (vec![], vec![]));
}

#[test]
fn where_priorities_leave_the_order_open_the_scores_that_depend_on_it_are_marked() {
    let high = Pod { priority: 5, ..Pod::new("high") };
    let mut history = History::with_nodes(&["n1", "n2", "n3"]);
    history.pod(&Pod::new("low"));
    history.pod(&high);
    history.bind(&Pod::new("low"), "n1");
    history.bind(&high, "n2");
    let low = history.explained("low");
    assert_eq!((doubted(&low), assumed(&low), low.agreement), (vec!["a/high"], vec![], Agreement::Tie));
    assert_eq!(["n1", "n2", "n3"].map(|node| is_marked(&low, node)), [false, true, false]);
    let scores = low.judgement.scores.as_ref().unwrap();
    let (lowest, highest) = scores.ranges[&1];
    assert!(lowest < highest && highest == total(&low, "n2"), "{lowest} to {highest}");
}

#[test]
fn a_verdict_that_several_pods_change_only_together_is_unknown() {
    let other = |name: &'static str| Pod { scheduler: "other", ..Pod::new(name) };
    let mut history = History::with_nodes(&["n1", "n2"]);
    history.pod(&Pod::new("low"));
    for name in ["one", "two"] {
        history.pod(&other(name));
    }
    history.bind(&Pod::new("low"), "n2");
    for name in ["one", "two"] {
        history.bind(&other(name), "n1");
    }
    let unknown = crate::Scheduler { configured: false, ..scheduler(&["default-scheduler"]) };
    let low = history.explained_by(unknown, None).remove(0);
    assert_eq!(doubted(&low), ["a/one", "a/two"]);
    let node = low.judgement.nodes.iter().find(|node| &*node.name == "n1").unwrap();
    assert!(node.verdicts.iter().any(|verdict| matches!(verdict, Verdict::Unknown { .. })), "{:?}", node.verdicts);
}

#[test]
fn a_choice_that_follows_from_one_order_alone_decides() {
    let high = Pod { priority: 5, ..Pod::new("high") };
    let mut history = History::with_nodes(&["n1", "n2"]);
    history.bind(&Pod::new("there"), "n1");
    history.pod(&Pod::new("low"));
    history.pod(&high);
    history.bind(&Pod::new("low"), "n1");
    history.bind(&high, "n2");
    let low = history.explained("low");
    assert_eq!((low.agreement, assumed(&low)), (Agreement::Tie, vec![("a/high", "n2")]), "n2 is the better one without it");
    assert_eq!(doubted(&low), ["a/high"]);
}

#[test]
fn a_retried_pod_may_have_come_before_its_neighbours() {
    let mut history = History::with_nodes(&["n1", "n2"]);
    let [again, new] = [Pod::new("again"), Pod::new("new")];
    history.pod(&again);
    history.refuse(&again, "0/2 nodes are available");
    history.pod(&new);
    history.bind(&new, "n1");
    history.bind(&again, "n2");
    assert_eq!(doubted(&history.explained("new")), ["a/again"]);
    let mut late = History::with_nodes(&["n1", "n2"]);
    late.pod(&again);
    late.refuse(&again, "0/2 nodes are available");
    late.pod(&new);
    late.bind(&new, "n1");
    (0..20).for_each(|_| {
        late.node("n2", &[]);
    });
    late.bind(&again, "n2");
    assert_eq!(doubted(&late.explained("new")), [""; 0], "its binding is far away");
}

#[test]
fn another_scheduler_does_not_see_a_pod_before_its_binding() {
    let other = Pod { scheduler: "other", ..Pod::new("older") };
    let history = overtaken(&other, &Pod::new("newer"));
    let newer = |names: &[&str]| history.explained_by(scheduler(names), None).remove(0);
    let apart = newer(&["default-scheduler"]);
    assert_eq!((assumed(&apart), doubted(&apart)), (vec![], vec![]));
    assert_eq!(assumed(&newer(&["default-scheduler", "other"])), [("a/older", "n1")], "profiles of one process share its cache");
    let unknown = history.explained_by(crate::Scheduler { configured: false, ..scheduler(&["default-scheduler"]) }, None).remove(0);
    assert_eq!((assumed(&unknown), doubted(&unknown)), (vec![], vec!["a/older"]), "it may be a profile of the same process");
}

#[test]
fn after_a_restart_the_queue_no_longer_follows_creation() {
    let mut history = History::with_nodes(&["n1", "n2"]);
    let [older, newer] = [Pod::new("older"), Pod::new("newer")];
    history.pod(&older);
    history.pod(&newer);
    history.restart();
    history.bind(&newer, "n2");
    history.bind(&older, "n1");
    let newer = history.explained("newer");
    assert_eq!((assumed(&newer), doubted(&newer)), (vec![], vec!["a/older"]));
}

#[test]
fn a_more_urgent_pod_that_was_there_for_long_was_most_likely_taken_first() {
    let (low, high) = (Pod::new("low"), Pod { priority: 5, ..Pod::new("high") });
    let mut history = History::with_nodes(&["n1", "n2"]);
    history.pod(&low);
    history.pod(&high);
    (0..10).for_each(|_| {
        history.node("n2", &[]);
    });
    let bound = history.bind(&low, "n1");
    history.bind(&high, "n2");
    let low = history.explained("low");
    assert_eq!((assumed(&low), doubted(&low)), (vec![("a/high", "n2")], vec!["a/high"]));
    let high = history.explained("high");
    assert_eq!((assumed(&high), doubted(&high)), (vec![], vec!["a/low"]));
    assert!(high.evaluated_revision < bound, "it saw low on no node");
}

#[test]
fn another_schedulers_restart_changes_nothing_and_one_that_may_be_its_own_leaves_the_order_open() {
    let restarted = |certain: &[&str], excluded: &[&str]| {
        let mut history = History::with_nodes(&["n1", "n2"]);
        let [older, newer] = [Pod::new("older"), Pod::new("newer")];
        history.pod(&older);
        history.pod(&newer);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        history.restart_of(RestartedSchedulers::new(names(certain), names(excluded), true));
        history.bind(&newer, "n2");
        history.bind(&older, "n1");
        let newer = history.explained("newer");
        (assumed(&newer).len(), doubted(&newer).len())
    };
    assert_eq!(restarted(&["second"], &["default-scheduler"]), (1, 0));
    assert_eq!(restarted(&["second"], &[]), (0, 1));
    assert_eq!(restarted(&["default-scheduler"], &[]), (0, 1));
}

#[test]
fn without_a_lock_an_assumed_pod_may_have_been_forgotten() {
    let untraced = |locked: Option<&[&str]>| {
        let mut history = overtaken(&Pod::new("older"), &Pod::new("newer"));
        locked.into_iter().for_each(|names| history.lock(names));
        ["newer", "older"].map(|name| history.explained(name).caveats.contains(&Caveat::RestartsUntraced))
    };
    assert_eq!(untraced(Some(&[])), [true, false], "only the newer one counts an assumed pod");
    assert_eq!(untraced(Some(&["other"])), [true, false]);
    assert_eq!([untraced(Some(&["default-scheduler"])), untraced(None)], [[false; 2]; 2]);
}

#[test]
fn a_profile_that_is_not_known_concerns_the_other_pods_of_its_scheduler_too() {
    let of = |name: &'static str, scheduler: &'static str| Pod { scheduler, ..Pod::new(name) };
    let mut history = History::with_nodes(&["n1", "n2"]);
    for pod in [of("one", "other"), of("two", "other"), of("three", "default-scheduler")] {
        history.pod(&pod);
        history.bind(&pod, "n1");
    }
    let others = |name: &str| {
        let explanation = history.explained(name);
        explanation.caveats.into_iter().find_map(|caveat| match caveat {
            Caveat::OtherProfile { others, .. } => Some(others),
            _ => None,
        })
    };
    assert_eq!(others("one"), Some(vec!["a/two".to_owned()]));
    assert_eq!(others("three"), None);
}
