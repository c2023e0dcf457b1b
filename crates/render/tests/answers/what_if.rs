//! What would happen, in words.

use ketcd_cluster::Options;
use ketcd_cluster::simulate::{FitOf, WhatIfAction, WhatIfQuestion};
use ketcd_render::what_if::write_text;
use ketcd_store::{At, Revision};

use crate::fixture::{self, text};

/// The answer to a question about a revision of the recorded cluster.
async fn printed(revision: i64, question: WhatIfQuestion<'_>) -> String {
    let options = Options { at: At::Revision(Revision(revision)), ..Options::default() };
    let answer = fixture::capture("k137-whatif", options).await.what_if(&question).await.unwrap();
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
        "4 evicted, 1 blocked, 4 created, 4 scheduled",
    ] {
        assert!(page.contains(part), "{part:?} is missing: {page}");
    }
    assert!(printed(3140, drain("w01")).await.contains("2 evicted, 2 created, 2 scheduled"));
}

#[tokio::test]
async fn how_many_more_fit() {
    let page = printed(3082, fit("deploy/shop/fit-10")).await;
    assert!(page.contains("1 more fits") && page.contains("0/16 nodes are available: 16 node(s) didn't match pod"), "{page}");
    assert!(printed(4087, fit("deploy/shop/fit-22")).await.contains("0 more fit"));
}

#[tokio::test]
async fn questions_about_every_node() {
    let page = printed(3140, WhatIfQuestion { each: Some("zone".to_owned()), ..WhatIfQuestion::default() }).await;
    assert!(["z1", "z2", "z3"].iter().all(|zone| page.contains(zone)) && page.contains("find no place"), "{page}");
    let page = printed(3140, WhatIfQuestion { spare: true, ..WhatIfQuestion::default() }).await;
    assert!(page.contains("could be drained, one after the other: "), "{page}");
    let page = printed(1453, WhatIfQuestion { seeds: 4, ..drain("w09") }).await;
    assert!(page.contains("pending in 4 of 4: shop/app-12") && page.contains("placed in 4 of 4: shop/app-01"), "{page}");
}
