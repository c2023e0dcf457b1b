//! Which keys a bundle keeps, and how much of them.

use std::collections::BTreeSet;

use bytes::Bytes;

use ketcd_scheduler::cluster::WatchedKind;
use ketcd_store::KeyRange;

/// How much of an object is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// All of it.
    Whole,
    /// What a scheduler reads of it.
    Scheduling(WatchedKind),
    /// That it is there.
    Presence,
}

/// The keys that are kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Whether all objects are kept whole.
    pub everything: bool,
    /// The keys of objects that are kept whole.
    pub whole: BTreeSet<Bytes>,
    /// What lies below these is kept whole.
    pub below: Vec<Vec<u8>>,
    /// Where objects lie of which it matters that they are there.
    pub presence: Vec<Vec<u8>>,
    /// Where the kinds lie that a scheduler watches, if decisions are in the bundle.
    pub scheduling: Vec<(Vec<u8>, WatchedKind)>,
}

impl Kept {
    /// How much of the object under a key is kept; `None` where nothing is.
    pub(super) fn depth(&self, key: &[u8]) -> Option<Depth> {
        if self.everything || self.whole.contains(key) || self.below.iter().any(|prefix| key.starts_with(prefix)) {
            return Some(Depth::Whole);
        }
        if self.presence.iter().any(|prefix| key.starts_with(prefix)) {
            return Some(Depth::Presence);
        }
        self.scheduling.iter().find(|(prefix, _)| key.starts_with(prefix)).map(|(_, kind)| Depth::Scheduling(*kind))
    }

    /// Ranges that hold all keys that are kept, and others; apart and ascending.
    pub(super) fn ranges(&self, prefix: &str) -> Vec<KeyRange> {
        /// Each range costs a read; of more keys the kinds are read that they are of.
        const MAX_SINGLE_RANGES: usize = 2_000;
        if self.everything {
            return vec![KeyRange::prefix(format!("{prefix}/"))];
        }
        let directories = self.below.iter().chain(&self.presence).chain(self.scheduling.iter().map(|(prefix, _)| prefix));
        let mut ranges: Vec<KeyRange> = directories.map(|prefix| KeyRange::prefix(prefix.clone())).collect();
        let is_covered = |key: &[u8], ranges: &[KeyRange]| ranges.iter().any(|range| range.contains(key));
        let single: Vec<&Bytes> = self.whole.iter().filter(|key| !is_covered(key, &ranges)).collect();
        if single.len() <= MAX_SINGLE_RANGES {
            ranges.extend(single.into_iter().map(|key| KeyRange::key(key.to_vec())));
            return ranges;
        }
        let folders: BTreeSet<&[u8]> =
            single.into_iter().filter_map(|key| Some(&key[..=key.iter().rposition(|&byte| byte == b'/')?])).collect();
        ranges.extend(folders.into_iter().map(KeyRange::prefix));
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_whole_is_not_reduced() {
        let kept = Kept {
            whole: BTreeSet::from([Bytes::from_static(b"/registry/pods/shop/web-0")]),
            below: vec![b"/registry/leases/kube-system/".to_vec()],
            presence: vec![b"/registry/apiregistration.k8s.io/apiservices/".to_vec()],
            scheduling: vec![(b"/registry/pods/".to_vec(), WatchedKind::Pod)],
            ..Kept::default()
        };
        let check = |key: &str, depth: Option<Depth>| assert_eq!(kept.depth(key.as_bytes()), depth, "{key}");
        check("/registry/pods/shop/web-0", Some(Depth::Whole));
        check("/registry/pods/shop/web-1", Some(Depth::Scheduling(WatchedKind::Pod)));
        check("/registry/leases/kube-system/kube-scheduler", Some(Depth::Whole));
        check("/registry/apiregistration.k8s.io/apiservices/v1.", Some(Depth::Presence));
        check("/registry/secrets/shop/password", None);
        assert!(kept.ranges("/registry").iter().all(|range| !range.contains(b"/registry/secrets/shop/password")));
        for key in ["/registry/pods/shop/web-0", "/registry/leases/kube-system/x"] {
            assert!(kept.ranges("/registry").iter().any(|range| range.contains(key.as_bytes())), "{key}");
        }
        assert_eq!(Kept { everything: true, ..Kept::default() }.depth(b"/registry/secrets/a/b"), Some(Depth::Whole));
    }
}
