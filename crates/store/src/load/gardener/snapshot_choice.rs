//! Which of an etcd's snapshots its whole history needs: a full one only where no delta leads to it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::name::{SnapshotName, cluster_of};

/// The places of the full snapshots among files that the history does without: files before them have all changes up to their revision.
///
/// `names` may have folders before them; those at the places in `damaged` lead nowhere.
pub(in super::super) fn superfluous(names: &[&str], damaged: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut clusters: BTreeMap<&str, Vec<(SnapshotName, usize)>> = BTreeMap::new();
    for (place, name) in names.iter().enumerate().filter(|(place, _)| !damaged.contains(place)) {
        let (folder, name) = name.rsplit_once('/').unwrap_or(("", name));
        if let Some(snapshot) = SnapshotName::of(name) {
            clusters.entry(cluster_of(folder)).or_default().push((snapshot, place));
        }
    }
    clusters.into_values().flat_map(of_cluster).collect()
}

/// The same of one etcd.
fn of_cluster(snapshots: Vec<(SnapshotName, usize)>) -> Vec<usize> {
    let (mut full, mut deltas): (Vec<_>, Vec<_>) = snapshots.into_iter().partition(|(snapshot, _)| snapshot.is_full);
    full.sort_unstable();
    deltas.sort_unstable_by_key(|(delta, _)| (delta.first, delta.last));
    let mut deltas = deltas.into_iter().map(|(delta, _)| delta).peekable();
    let (mut superfluous, mut reach, mut rewritten) = (Vec::new(), None, Vec::<RangeInclusive<i64>>::new());
    for (snapshot, place) in full {
        while let Some(upto) = reach
            && let Some(delta) = deltas.next_if(|delta| delta.first <= upto + 1)
        {
            // An etcd that was restored to an earlier revision writes the next ones again: what both are made of is compared when it is opened.
            if delta.first <= upto && delta.last > upto {
                rewritten.push(delta.first - 1..=upto);
            }
            reach = Some(upto.max(delta.last));
        }
        let is_reached = reach.is_some_and(|upto| upto >= snapshot.last);
        if is_reached && !rewritten.iter().any(|range| range.contains(&snapshot.last)) {
            superfluous.push(place);
        }
        reach = reach.max(Some(snapshot.last));
    }
    superfluous
}

#[cfg(test)]
mod tests {
    use super::*;

    const HISTORY_FILES: [&str; 8] = [
        "v2/Full-00000000-00000100-1.gz",
        "v2/Incr-00000101-00000150-2.gz",
        "v2/Incr-00000151-00000200-3.gz",
        "v2/Full-00000000-00000200-4.gz",
        "v2/Full-00000000-00000200-5.gz",
        "v2/Incr-00000201-00000300-6.gz",
        "v2/Full-00000000-00000300-7.gz.final",
        "v2/Incr-00000301-00000310-8.gz",
    ];

    fn left_out(names: &[&str], damaged: &[usize]) -> Vec<usize> {
        superfluous(names, &damaged.iter().copied().collect()).into_iter().collect()
    }

    #[test]
    fn a_full_snapshot_is_needed_only_where_no_delta_leads_to_it() {
        assert_eq!(left_out(&HISTORY_FILES, &[]), [3, 4, 6]);
        // A damaged delta leaves a gap before the next full snapshot; a damaged full one lacks a beginning.
        assert_eq!(left_out(&HISTORY_FILES, &[2]), [4, 6]);
        assert_eq!(left_out(&HISTORY_FILES, &[2, 3]), [6]);
        assert_eq!(left_out(&HISTORY_FILES, &[0]), [4, 6]);
        assert_eq!(left_out(&HISTORY_FILES, &[5]), [3, 4]);
        let missing: Vec<&str> = HISTORY_FILES.into_iter().filter(|name| !name.contains("151")).collect();
        assert_eq!(left_out(&missing, &[]), [3, 5]);
        // The last changes before it were not written as a delta.
        assert_eq!(left_out(&["Full-0-100-1", "Incr-101-150-2", "Full-0-151-3"], &[]), Vec::<usize>::new());
    }

    #[test]
    fn each_etcd_has_full_snapshots_of_its_own() {
        let names = ["a/v2/Full-0-100-1", "b/v2/Full-0-100-1", "b/v1/Backup-1/Incr-101-120-2", "b/v2/Full-0-120-3", "b/night.db"];
        assert_eq!(left_out(&names, &[]), [3]);
    }

    #[test]
    fn what_was_written_again_after_a_restore_is_compared() {
        let names = ["Full-0-100-1", "Incr-101-200-2", "Full-0-150-3", "Incr-151-300-4", "Full-0-300-5"];
        assert_eq!(left_out(&names, &[]), [4]);
    }
}
