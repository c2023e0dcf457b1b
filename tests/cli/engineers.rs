//! Five engineers on call, each with a recorded cluster and a question: the commands they type, and what they must find.
//!
//! The troubles are those that `story.log` of the captures tells of. Who changed what before a trouble is on the first screen of 24 lines.

use std::collections::BTreeMap;

use ketcd_testing::{pty, testdata};

use crate::ketcd::ketcd;

/// What a command shows on a terminal of 80 columns: as one text with single blanks, as a line may be broken anywhere, and its lines.
fn shown(capture: &str, command: &str) -> (String, Vec<String>) {
    let folder = testdata::path("captures").join(capture);
    let mut ketcd = ketcd();
    ketcd.current_dir(folder).args(["-f", "snapshot.db.zst", "--color", "never"]).args(command.split(' '));
    let (text, status) = pty::run(80, &mut ketcd);
    assert!(status.code().is_some_and(|code| code <= 1), "{command}: {text}");
    let lines: Vec<String> = text.replace('\r', "").lines().map(str::to_owned).collect();
    (joined(&lines), lines)
}

fn joined(lines: &[String]) -> String {
    lines.iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" ")
}

/// Runs a script: commands, each with words that its answer must have, in this order.
#[track_caller]
fn script(capture: &str, steps: &[(&str, &[&str])]) {
    for (command, words) in steps {
        let (text, _) = shown(capture, command);
        let mut rest = text.as_str();
        for word in *words {
            let at = rest.find(word).unwrap_or_else(|| panic!("{capture}: {command}: no {word:?} in its place:\n{text}"));
            rest = &rest[at + word.len()..];
        }
    }
}

#[test]
fn one_asks_why_a_pod_crashes() {
    script(
        "k120-story",
        &[
            (
                "triage",
                &["pod/web/crasher CrashLoopBackOff since 22:17:05", "cm/web/app-config", "info → debug", "kubectl-client-side-apply"],
            ),
            ("describe pod/web/crasher", &["status CrashLoopBackOff", "Terminated: Error, exit code 1"]),
            ("history cm/web/app-config --diff", &["kubectl-create", "data.LOG", "info → debug"]),
        ],
    );
}

#[test]
fn one_asks_when_a_node_died_and_what_became_of_its_pods() {
    script(
        "k120-story",
        &[
            ("triage --at 22:20:30", &["node/node2 silent since 22:17:03", "3 pods on it", "deploy/web/tomcat 1/2 ready"]),
            ("timeline node/node2", &["outage: no heartbeat since 22:17:03"]),
        ],
    );
    script(
        "k136-story",
        &[
            ("triage --at 00:17:30", &["node/node2 silent since 00:16:19", "9 pods on it", "noticed 51 s later"]),
            ("timeline node/node2", &["outage: no heartbeat since 00:16:19", "wide-6d6d8757dd-fn66g", "replaced by wide-6d6d8757dd-bxcbg"]),
        ],
    );
}

#[test]
fn one_asks_who_broke_the_rollout() {
    for (capture, pod) in [("k120-story", "pod/web/tomcat-7f6f6db99b-sj7wj"), ("k136-story", "pod/web/tomcat-647b88d788-vmnc5")] {
        let explain = format!("explain {pod}");
        script(
            capture,
            &[
                (
                    "triage",
                    &[pod, "unschedulable", "node/node3 - labels.nodelabel tomcat kubectl-label", "deploy/web/tomcat", "kubectl-set"],
                ),
                (&explain, &["NodePorts", "port 8080/TCP is web/tomcat-"]),
                ("history node/node3 --diff", &["+ metadata.labels.nodelabel", "- metadata.labels.nodelabel"]),
                ("timeline deploy/web/tomcat", &["rollout 4", "by kubectl-set: not finished", "tomcat:8.0 → tomcat:10"]),
            ],
        );
    }
}

#[test]
fn one_asks_why_pods_are_pending() {
    script(
        "k136-story",
        &[
            ("explain pod/lab/ported-5c67898d86-ffm2p", &["NodePorts", "port 9443/TCP is lab/ported-5c67898d86-t74kq's"]),
            (
                "explain pod/lab/train-3",
                &["DynamicResources", "claim lab/train-3-g-zckn5 wants 4 of class gpu.example.com", "1 of them taken"],
            ),
            ("explain pod/web/store-5", &["claim data-store-5 waits for csi.example.com on node1"]),
        ],
    );
    script("k120-story", &[("explain pod/lab/spread-5 --at 22:20:30", &["waits", "didn't match pod anti-affinity rules"])]);
}

#[test]
fn one_asks_what_was_deleted_and_what_answers_for_nothing() {
    script(
        "k136-story",
        &[
            (
                "timeline -n scratch",
                &["cm/x", "Created", "kubectl-create", "ns/scratch", "Deleting", "cm/x", "Deleted", "kube-controller-manager*"],
            ),
            ("triage -o wide", &["nothing.example.com no endpoint answers", "service web/hook, which has no ready endpoint"]),
        ],
    );
}

/// Every trouble of the story: where it is looked at, what is said of it and, if somebody's change explains it, that change with its author.
const STORY_TROUBLES: &[(&str, &str, &str, Option<&str>)] = &[
    (
        "k120-story",
        "22:24:35",
        "pod/web/crasher CrashLoopBackOff",
        Some("cm/web/app-config data.LOG info → debug kubectl-client-side-apply"),
    ),
    ("k120-story", "22:24:35", "pod/web/tomcat-7f6f6db99b-sj7wj unschedulable", Some("node/node3 - labels.nodelabel tomcat kubectl-label")),
    (
        "k120-story",
        "22:24:35",
        "deploy/web/tomcat rollout 4 not finished",
        Some("containers[tomcat].image tomcat:8.0 → tomcat:10 kubectl-set"),
    ),
    ("k120-story", "22:20:30", "node/node2 silent", None),
    ("k120-story", "22:20:30", "pod/lab/spread-5 unschedulable", None),
    ("k136-story", "00:25:43", "no volume (class slow)", Some("sts/web/store created kubectl-client-side-apply")),
    (
        "k136-story",
        "00:25:43",
        "pod/lab/ported-5c67898d86-ffm2p unschedulable",
        Some("deploy/lab/ported created kubectl-client-side-apply"),
    ),
    (
        "k136-story",
        "00:25:43",
        "pod/web/crasher CrashLoopBackOff",
        Some("cm/web/app-config data.LOG info → debug kubectl-client-side-apply"),
    ),
    ("k136-story", "00:25:43", "pod/web/tomcat-647b88d788-vmnc5 unschedulable", Some("node/node3 - labels.nodelabel tomcat kubectl-label")),
    ("k136-story", "00:25:43", "pod/lab/train-3 unschedulable", None),
    ("k136-story", "00:17:30", "node/node2 silent", None),
];

#[test]
fn every_trouble_is_named_and_its_culprit_is_on_the_first_screen() {
    let mut screens = BTreeMap::new();
    for (capture, at, trouble, culprit) in STORY_TROUBLES {
        let (text, lines) = screens.entry((capture, at)).or_insert_with(|| shown(capture, &format!("triage --at {at}")));
        assert!(text.contains(trouble), "{capture} at {at}: {trouble} is not named:\n{text}");
        let screen = joined(&lines[..lines.len().min(24)]);
        if let Some(culprit) = culprit {
            assert!(screen.contains(culprit), "{capture} at {at}: {culprit} is not on the first screen:\n{}", lines.join("\n"));
        }
    }
}
