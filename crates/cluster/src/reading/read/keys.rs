//! The keys that a command is about: single objects, kinds, namespaces, or everything.

use std::collections::BTreeMap;

use ketcd_kube::Address;
use ketcd_store::{KeyRange, Revision};

/// The keys that a command is about.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Each key or prefix asked for.
    pub ranges: Vec<KeyRange>,
    /// Whether they can be of several objects.
    pub many: bool,
    /// What was asked for; empty where it is everything.
    pub addresses: Vec<Address>,
    /// Single keys that are read in addition, each with revisions at which it was alive: its last generation counts.
    pub beside: BTreeMap<Vec<u8>, Vec<Revision>>,
    /// Whether the newest revision is only where the reading ends: where a compaction overtakes it, what is there after that is wanted.
    pub to_newest: bool,
}

impl Keys {
    /// The keys of many objects, which no address names.
    pub fn many(ranges: Vec<KeyRange>) -> Self {
        Self { ranges, many: true, addresses: Vec::new(), beside: BTreeMap::new(), to_newest: false }
    }

    /// Every key.
    pub fn all() -> Self {
        Self::many(vec![KeyRange::all()])
    }

    /// The keys of addresses.
    pub fn at(prefix: &str, addresses: Vec<Address>) -> Self {
        let keys: Vec<(String, bool)> = addresses.iter().map(|address| address.key(prefix)).collect();
        let many = keys.len() > 1 || keys.iter().any(|(_, is_whole)| !is_whole);
        let range = |(key, is_whole)| if is_whole { KeyRange::key(key) } else { KeyRange::prefix(key) };
        Self { many, addresses, ..Self::many(keys.into_iter().map(range).collect()) }
    }

    /// The ranges without those that others hold, ascending.
    pub fn apart(&self) -> Vec<KeyRange> {
        let mut ranges = self.ranges.clone();
        ranges.sort_by(|a, b| a.start.cmp(&b.start).then_with(|| b.end.is_none().cmp(&a.end.is_none())).then_with(|| b.end.cmp(&a.end)));
        let mut apart: Vec<KeyRange> = Vec::new();
        for range in ranges {
            match apart.last_mut().filter(|last| last.contains(&range.start)) {
                None => apart.push(range),
                Some(last) => {
                    if last.end.is_some() && range.end.as_ref().is_none_or(|end| Some(end) > last.end.as_ref()) {
                        last.end = range.end;
                    }
                }
            }
        }
        apart
    }

    /// Those of the keys that are not before `from`, and before `to` where that is given.
    #[must_use]
    pub(crate) fn within(&self, from: &[u8], to: Option<&[u8]>) -> Self {
        let cut = |range: &KeyRange| {
            let start = range.start.clone().max(from.to_vec());
            let end = [range.end.as_deref(), to].into_iter().flatten().min().map(<[u8]>::to_vec);
            end.as_ref().is_none_or(|end| start < *end).then_some(KeyRange { start, end })
        };
        Self { ranges: self.ranges.iter().filter_map(cut).collect(), ..self.clone() }
    }

    /// Whether each is one key, not the beginning of many.
    pub fn are_whole(&self) -> bool {
        self.ranges.iter().all(|range| *range == KeyRange::key(&range.start[..]))
    }

    /// Whether a key is among them.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.ranges.iter().any(|range| range.contains(key))
    }
}

/// Whether a key is in one of these ranges, which are [`Keys::apart`]: as fast for a thousand as for ten.
pub(crate) fn is_in(apart: &[KeyRange], key: &[u8]) -> bool {
    let after = apart.partition_point(|range| range.start.as_slice() <= key);
    after.checked_sub(1).is_some_and(|at| apart[at].contains(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_searched_among_ranges_that_are_apart() {
        let keys = Keys::many(vec![KeyRange::key("/b"), KeyRange::prefix("/d/"), KeyRange::key("/d/x"), KeyRange::key("/x")]);
        let apart = keys.apart();
        for key in ["", "/a", "/b", "/b0", "/c", "/d", "/d/", "/d/x", "/d/x0", "/d0", "/x", "/y"] {
            assert_eq!(is_in(&apart, key.as_bytes()), keys.contains(key.as_bytes()), "{key}");
        }
        assert!(!is_in(&[], b"/b") && is_in(&Keys::all().apart(), b"/b"));
    }

    #[test]
    fn keys_are_cut_where_a_part_of_them_is_wanted() {
        let keys = Keys::many(vec![KeyRange::key("/b"), KeyRange::prefix("/d/"), KeyRange::key("/x")]);
        let within = |from: &str, to: Option<&str>| keys.within(from.as_bytes(), to.map(str::as_bytes)).ranges;
        assert_eq!(within("", None), keys.ranges);
        assert_eq!(within("/b", Some("/d/5")), [KeyRange::key("/b"), KeyRange { start: b"/d/".to_vec(), end: Some(b"/d/5".to_vec()) }]);
        assert_eq!(within("/d/5", Some("/x")), [KeyRange { start: b"/d/5".to_vec(), end: Some(b"/d0".to_vec()) }]);
        assert_eq!(within("/x", None), [KeyRange::key("/x")]);
        let rest = Keys::all().within(b"/d/5", None);
        assert_eq!(rest.ranges, [KeyRange { start: b"/d/5".to_vec(), end: None }]);
        assert!(rest.contains(b"/d/5") && !rest.contains(b"/d/4"));
    }
}
