//! Which keys a bundle keeps, and how much of them.

use std::collections::BTreeSet;

use bytes::Bytes;

use ketcd_scheduler::cluster::WatchedKind;
use ketcd_store::KeyRange;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeptDepth {
    Whole,
    Scheduling(WatchedKind),
    Presence,
}

#[derive(Debug, Default)]
pub(super) struct KeptKeys {
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

impl KeptKeys {
    /// How much of the object under a key is kept; `None` where nothing is.
    pub(super) fn depth(&self, key: &[u8]) -> Option<KeptDepth> {
        if self.everything || self.whole.contains(key) || self.below.iter().any(|prefix| key.starts_with(prefix)) {
            return Some(KeptDepth::Whole);
        }
        if self.presence.iter().any(|prefix| key.starts_with(prefix)) {
            return Some(KeptDepth::Presence);
        }
        self.scheduling.iter().find(|(prefix, _)| key.starts_with(prefix)).map(|(_, kind)| KeptDepth::Scheduling(*kind))
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
        let kept = KeptKeys {
            whole: BTreeSet::from([Bytes::from_static(b"/registry/pods/shop/web-0")]),
            below: vec![b"/registry/leases/kube-system/".to_vec()],
            presence: vec![b"/registry/apiregistration.k8s.io/apiservices/".to_vec()],
            scheduling: vec![(b"/registry/pods/".to_vec(), WatchedKind::Pod)],
            ..KeptKeys::default()
        };
        let check = |key: &str, depth: Option<KeptDepth>| assert_eq!(kept.depth(key.as_bytes()), depth, "{key}");
        check("/registry/pods/shop/web-0", Some(KeptDepth::Whole));
        check("/registry/pods/shop/web-1", Some(KeptDepth::Scheduling(WatchedKind::Pod)));
        check("/registry/leases/kube-system/kube-scheduler", Some(KeptDepth::Whole));
        check("/registry/apiregistration.k8s.io/apiservices/v1.", Some(KeptDepth::Presence));
        check("/registry/secrets/shop/password", None);
        assert!(kept.ranges("/registry").iter().all(|range| !range.contains(b"/registry/secrets/shop/password")));
        for key in ["/registry/pods/shop/web-0", "/registry/leases/kube-system/x"] {
            assert!(kept.ranges("/registry").iter().any(|range| range.contains(key.as_bytes())), "{key}");
        }
        assert_eq!(KeptKeys { everything: true, ..KeptKeys::default() }.depth(b"/registry/secrets/a/b"), Some(KeptDepth::Whole));
    }
}
