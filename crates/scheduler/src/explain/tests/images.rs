//! What ImageLocality counted: the same whether one attempt is asked about or all of them.

use crate::explanation::Explanation;

use super::history::{History, Pod, scheduler};

const APP_IMAGE: &str = "example.com/app:1";

/// The raw scores of ImageLocality.
fn raw(explanation: &Explanation) -> Vec<i64> {
    let scores = explanation.judgement.scores.as_ref().unwrap();
    scores.plugins.iter().find(|score| score.plugin == "ImageLocality").unwrap().raw.clone()
}

/// Pods one after the other, while nodes pull the image: an attempt that follows from an earlier state than the last one, others that were
/// overtaken.
fn history() -> History {
    let mut history = History::with_nodes(&["n1", "n2", "n3", "n4"]);
    let pod = |name| Pod { image: APP_IMAGE, ..Pod::new(name) };
    history.node("n1", &[APP_IMAGE]);
    history.pod(&pod("one"));
    history.node("n2", &[APP_IMAGE]);
    history.bind(&pod("one"), "n1");
    history.pod(&pod("two"));
    history.pod(&pod("three"));
    history.node("n3", &[APP_IMAGE]);
    history.bind(&pod("three"), "n3");
    history.bind(&pod("two"), "n2");
    history.node("n4", &[APP_IMAGE]);
    history.pod(&pod("four"));
    history.bind(&pod("four"), "n4");
    history
}

#[test]
fn one_attempt_has_the_counts_that_it_has_among_all() {
    let history = history();
    let all = history.explained_by(scheduler(&["default-scheduler"]), None);
    assert_eq!(all.len(), 4);
    for explanation in &all {
        let name = &*explanation.attempt.pod.name;
        let alone = history.explained_by(scheduler(&["default-scheduler"]), Some(name)).remove(0);
        assert_eq!(raw(&alone), raw(explanation), "{name}");
        assert_eq!(alone.evaluated_revision, explanation.evaluated_revision, "{name}");
    }
}

#[test]
fn a_node_keeps_the_count_of_the_snapshot_that_took_it() {
    let mut history = History::with_nodes(&["n2", "n3", "n4"]);
    history.node("n1", &[APP_IMAGE]);
    let pod = |name| Pod { image: APP_IMAGE, ..Pod::new(name) };
    let [one, two] = [pod("one"), pod("two")];
    history.pod(&one);
    history.bind(&one, "n4");
    history.node("n2", &[APP_IMAGE]);
    history.pod(&two);
    history.bind(&two, "n2");
    let two = raw(&history.explained("two"));
    let scores = |at: usize| two[at];
    assert!(scores(0) > scores(3), "n2 was counted with two nodes, n1 still has the count of one: {two:?}");
}

/// The scheduler takes in nodes and pods by watches of their own.
#[test]
fn an_image_that_a_node_lost_just_before_is_marked() {
    let mut history = History::with_nodes(&["n2", "n3"]);
    history.node("n1", &[APP_IMAGE]);
    let one = Pod { image: APP_IMAGE, ..Pod::new("one") };
    history.node("n1", &[]);
    history.pod(&one);
    history.bind(&one, "n2");
    let explanation = history.explained("one");
    let is_doubtful = |node: &str| {
        let scores = explanation.judgement.scores.as_ref().unwrap();
        let score = scores.plugins.iter().find(|score| score.plugin == "ImageLocality").unwrap();
        score.doubtful.iter().any(|at| &*scores.nodes[*at] == node)
    };
    assert_eq!(["n1", "n2", "n3"].map(is_doubtful), [true, false, false]);
}
