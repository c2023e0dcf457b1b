//! The newest release is the same wherever a file of `proto` and `oracle` names it.

use std::fs;

use ketcd_kube::Release;

use super::root;

#[test]
fn every_table_reaches_the_newest_release() {
    let newest = Release::NEWEST;
    assert_eq!(ketcd_scheduler::NEWEST_SCHEDULER, newest);
    for (path, wanted) in [
        ("proto/VERSIONS", format!(" {newest}  ")),
        ("proto/kinds.tsv", format!("Kubernetes {} to {newest}", Release::OLDEST)),
        ("proto/versions.tsv", format!("Kubernetes {} to {newest}", Release::OLDEST)),
        ("oracle/releases.txt", format!("\n{newest} ")),
    ] {
        let text = fs::read_to_string(root().join(path)).unwrap();
        assert!(text.contains(&wanted), "{path} does not reach {newest}");
    }
}
