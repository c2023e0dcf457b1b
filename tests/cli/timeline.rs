//! `timeline` of objects and around a time.

use crate::ketcd::{all, ketcd};

#[test]
fn labels_of_nodes_are_told() {
    let file = ketcd_testing::testdata::path("captures/k136-story/snapshot.db.zst");
    let is_told = |page: &str| page.contains("Changed") && page.contains("nodelabel") && page.contains("kubectl-label");
    for arguments in [&["timeline", "node/node3"][..], &["timeline", "--around", "00:14:54", "--window", "2s"]] {
        let output = ketcd().arg("-f").arg(&file).args(arguments).output().unwrap();
        assert!(output.status.code() == Some(0) && is_told(&all(&output)), "{}", all(&output));
    }
}
