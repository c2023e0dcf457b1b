//! What would happen, in words.

use ketcd_cluster::Options;
use ketcd_render::what_if::write_text;
use ketcd_store::{At, Revision};
use ketcd_what_if::{FitOf, SimulatedPod, WhatIf, WhatIfAction, WhatIfQuestion, what_if};

use crate::fixture::{self, text};

/// The answer to a question about a revision of the recorded cluster.
async fn printed(revision: i64, question: WhatIfQuestion<'_>) -> String {
    let options = Options { at: At::Revision(Revision(revision)), ..Options::default() };
    let answer = what_if(&fixture::capture("k137-whatif", options).await, &question).await.unwrap();
    text(|out| write_text(&answer, false, out))
}

fn drain(node: &str) -> WhatIfQuestion<'static> {
    WhatIfQuestion { actions: vec![WhatIfAction::Drain(node.to_owned())], ..WhatIfQuestion::default() }
}

fn fit(address: &str) -> WhatIfQuestion<'static> {
    WhatIfQuestion { fit: Some(FitOf::Address(address.to_owned())), ..WhatIfQuestion::default() }
}

#[tokio::test]
async fn a_drain_shows_each_pod_and_what_holds_one_back() {
    let page = printed(1172, drain("w03")).await;
    for part in [
        "evicted",
        "pod/shop/app-00-65bd5c6d46-p8sdk",
        "scheduled",
        "Cannot evict pod as it would violate the pod's disruption budget.",
        "budget app-04",
        "4 fit, 1 cannot be evicted: Cannot evict pod as it would violate the pod's disruption budget (budget app-04)\n\
         4 evicted, 1 blocked, 4 created, 4 scheduled\n",
    ] {
        assert!(page.contains(part), "{part:?} is missing: {page}");
    }
    assert!(printed(3140, drain("w01")).await.contains("2 evicted, 2 created, 2 scheduled"));
}

#[tokio::test]
async fn what_becomes_of_the_pods_comes_first_and_equal_lines_are_folded() {
    let scaled = || WhatIfQuestion { actions: vec![WhatIfAction::scale("deploy/shop/app-02=40").unwrap()], ..WhatIfQuestion::default() };
    let page = printed(3140, scaled()).await;
    let refused = "3 Insufficient memory, 7 node(s) didn't satisfy existing pods anti-affinity rules, 9 Insufficient cpu";
    let mut lines = page.lines();
    assert_eq!(lines.next(), Some(&*format!("22 fit, 15 wait: {refused}")), "{page}");
    assert_eq!(lines.next(), Some("37 created, 22 scheduled"));
    assert!(lines.next().unwrap().starts_with(&format!("15 wait: 15 of shop/app-02  0/16 nodes are available: {refused}. preemption: ")));
    assert_eq!(lines.next(), Some(""));
    let options = Options { at: At::Revision(Revision(3140)), ..Options::default() };
    let answer = what_if(&fixture::capture("k137-whatif", options).await, &scaled()).await.unwrap();
    let wide = text(|out| write_text(&answer, true, out));
    assert_eq!(wide.lines().filter(|line| line.starts_with("waits pod/shop/app-02-")).count(), 15, "{wide}");
}

#[tokio::test]
async fn one_reason_stands_in_the_first_line() {
    let page = printed(1453, drain("w09")).await;
    assert!(page.starts_with("2 fit, 1 waits: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 12 node(s) "), "{page}");
}

#[test]
fn several_reasons_are_a_line_each() {
    let waits = |name: &str, owner: &str, message: &str| {
        let pod = SimulatedPod { namespace: "shop".into(), name: name.into(), owner: Some(owner.into()), is_new: true };
        (pod, Some(message.to_owned()))
    };
    let (cpu, memory) = ("0/3 nodes are available: 3 Insufficient cpu.", "0/3 nodes are available: 3 Insufficient memory. preemption: no.");
    let waiting = vec![waits("a-0", "a", cpu), waits("c-0", "c", memory), waits("b-0", "b", cpu), waits("a-1", "a", cpu)];
    let answer = WhatIf { actions: vec!["--scale a=2".into()], waiting, ..WhatIf::default() };
    let lines = [
        "0 fit, 4 wait",
        "  3 wait: 3 Insufficient cpu",
        "  1 waits: 3 Insufficient memory",
        "3 wait: 2 of shop/a, 1 of shop/b  0/3 nodes are available: 3 Insufficient cpu.",
        "waits pod/shop/c-0  0/3 nodes are available: 3 Insufficient memory. preemption: no.",
    ];
    assert_eq!(text(|out| write_text(&answer, false, out)).lines().collect::<Vec<_>>(), lines);
}

#[tokio::test]
async fn how_many_more_fit() {
    let page = printed(3082, fit("deploy/shop/fit-10")).await;
    assert!(page.starts_with("1 more fits\n") && page.contains("0/16 nodes are available: 16 node(s) didn't match pod"), "{page}");
    assert!(printed(4087, fit("deploy/shop/fit-22")).await.contains("0 more fit"));
}

#[tokio::test]
async fn questions_about_every_node() {
    let page = printed(3140, WhatIfQuestion { each: Some("zone".to_owned()), ..WhatIfQuestion::default() }).await;
    assert!(["z1", "z2", "z3"].iter().all(|zone| page.contains(zone)) && page.contains("find no place"), "{page}");
    let page = printed(3140, WhatIfQuestion { spare: true, ..WhatIfQuestion::default() }).await;
    let first = page.lines().take_while(|line| !line.starts_with("could be drained, one after the other: ")).collect::<Vec<_>>();
    assert!(first.len() > 2 && first.iter().all(|line| line.contains("  stays: ")), "{page}");
    let page = printed(1453, WhatIfQuestion { seeds: 4, ..drain("w09") }).await;
    assert!(page.contains("pending in 4 of 4: shop/app-12") && page.contains("placed in 4 of 4: shop/app-01"), "{page}");
}
