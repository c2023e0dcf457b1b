//! Refusals that change nothing of the pod, so that only an Event tells of them.

use crate::explanation::{Caveat, Explanation};

use super::history::{History, Pod, scheduler};

const CPU_MESSAGE: &str = "0/1 nodes are available: 1 Insufficient cpu.";

/// A pod refused by a condition, and the Event about the version that was evaluated.
fn refused(pod: &Pod) -> (History, i64) {
    let mut history = History::with_nodes(&["n1"]);
    let created = history.pod(pod);
    let refused = history.refuse(pod, CPU_MESSAGE);
    history.event(pod, created, CPU_MESSAGE, None);
    (history, refused)
}

fn repeated(explanation: &Explanation) -> bool {
    explanation.caveats.iter().any(|caveat| matches!(caveat, Caveat::RepeatedRefusal))
}

/// Every attempt: its revision, and whether it only repeats a refusal.
fn attempts(history: &History) -> Vec<(i64, bool)> {
    let all = history.explained_by(scheduler(&["default-scheduler"]), None);
    all.iter().map(|explanation| (explanation.attempt.revision, repeated(explanation))).collect()
}

#[test]
fn the_event_of_a_refusal_that_is_written_is_no_attempt_of_its_own() {
    let (history, refused) = refused(&Pod::new("waits"));
    assert_eq!(attempts(&history), [(refused, false)]);
}

#[test]
fn an_event_about_a_pod_that_has_the_message_already_is_a_retry() {
    let pod = Pod::new("waits");
    let (mut history, refused) = refused(&pod);
    let retried = history.event(&pod, refused, CPU_MESSAGE, None);
    let again = history.event(&pod, refused, CPU_MESSAGE, Some(2));
    assert_eq!(attempts(&history), [(refused, false), (retried, true), (again, true)]);
}

#[test]
fn a_series_that_is_refreshed_does_not_say_when_its_retries_were() {
    let pod = Pod::new("waits");
    let (mut history, refused) = refused(&pod);
    history.event(&pod, refused, CPU_MESSAGE, Some(57));
    assert_eq!(attempts(&history), [(refused, false)]);
}

#[test]
fn an_event_with_another_message_is_no_repetition() {
    let pod = Pod::new("waits");
    let (mut history, refused) = refused(&pod);
    let other = history.event(&pod, refused, "0/1 nodes are available: 1 Insufficient memory.", None);
    history.bind(&pod, "n1");
    assert_eq!(attempts(&history), [(refused, false), (other, false), (other + 1, false)]);
}
