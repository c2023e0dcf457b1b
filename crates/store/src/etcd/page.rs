//! The requests of one range: how many keys each asks for, where it ends, and how long etcd is left alone after it.

use std::time::Duration;

use super::answer::{RangeAsked, RangeContent, Untrue};
use super::wire::bytes;
use crate::proto::etcdserverpb::RangeResponse;
use crate::{KeyRange, Revision, Want};

/// The first page's limit; Kubernetes' own client pages by 500, but the first page is asked before any value's size is known.
const FIRST_PAGE: i64 = 200;
const LARGEST_PAGE: i64 = 10_000;
/// etcd counts the keys of a request's range to its end, whatever the limit (server/storage/mvcc/index.go, `Revisions`): a page whose range
/// holds more keys than this many pages ends nearer.
const COUNTED_PAGES: i64 = 16;

#[derive(Clone)]
pub(super) struct PageRequest {
    /// What it asks for: from its first key to its own end, which may lie before the range's.
    pub keys: KeyRange,
    pub limit: i64,
    pub revision: Option<Revision>,
    pub want: Want,
    pub size: PageSize,
    /// How many bytes of its first key the end shares; none where it is the range's own end.
    depth: Option<usize>,
    /// How many keys of the range are left, as the page before it counted them at the same revision.
    left: Option<i64>,
}

impl PageRequest {
    pub(super) fn first(keys: &KeyRange, revision: Option<Revision>, want: Want, size: PageSize) -> Self {
        Self { keys: keys.clone(), limit: FIRST_PAGE, revision, want, size, depth: None, left: None }
    }

    /// As many as `most` keys, as far as one page may have them.
    pub(super) fn limited(self, most: usize) -> Self {
        Self { limit: i64::try_from(most).unwrap_or(LARGEST_PAGE).clamp(1, LARGEST_PAGE), ..self }
    }

    /// From this page's first key to the end of `whole`.
    pub(super) fn whole(&self, whole: &KeyRange) -> KeyRange {
        KeyRange { start: self.keys.start.clone(), end: whole.end.clone() }
    }

    /// What its answer must be.
    pub(super) fn asked(&self) -> RangeAsked<'_> {
        RangeAsked { keys: &self.keys, revision: self.revision, content: RangeContent::Entries { limit: self.limit } }
    }

    /// Checks an answer; what pages of one revision count must agree.
    pub(super) fn check(&self, answer: &RangeResponse) -> Result<(), Untrue> {
        self.asked().check(answer)?;
        let agrees = match (self.left, self.depth) {
            (None, _) => true,
            (Some(left), None) => answer.count == left,
            (Some(left), Some(_)) => answer.count <= left,
        };
        if agrees { Ok(()) } else { Err(Untrue::new("counts the keys of one revision differently from page to page")) }
    }

    /// How many keys of the range are left, where that is known.
    pub(super) fn left(&self) -> Option<i64> {
        self.left
    }

    /// The page that begins after `key`, the last of `taken` keys.
    pub(super) fn after(self, whole: &KeyRange, key: &[u8], taken: usize) -> Self {
        let left = self.left.map(|left| left - taken as i64);
        Self { keys: KeyRange { start: [key, &[0]].concat(), end: whole.end.clone() }, depth: None, left, ..self }
    }

    /// The request after the one that `answer` answers, if there is more of `whole`.
    pub(super) fn next(&self, whole: &KeyRange, answer: &RangeResponse) -> Option<Self> {
        let mut next = self.clone();
        next.left = Some(self.left.unwrap_or(answer.count) - answer.kvs.len() as i64);
        if let Some(last) = answer.kvs.last() {
            let average = bytes(&answer.kvs) / answer.kvs.len() + 1;
            let fitting = i64::try_from(self.size.bytes / average).unwrap_or(LARGEST_PAGE);
            next.limit = fitting.clamp(1, LARGEST_PAGE.min(self.limit * 4));
            if answer.more {
                next.keys.start = [&last.key[..], &[0]].concat();
                if answer.count > COUNTED_PAGES * next.limit.max(FIRST_PAGE) {
                    let depth = self.depth.map_or_else(|| directory(&last.key), |depth| depth + 1);
                    next.end_near(whole, depth.min(last.key.len()), &last.key);
                }
                return Some(next);
            }
        }
        // This stretch is exhausted: the next begins where it ends, and is wider.
        let depth = self.depth?;
        next.keys.start = self.keys.end.clone()?;
        let start = next.keys.start.clone();
        next.end_near(whole, depth.saturating_sub(1), &start);
        Some(next)
    }

    /// Ends before the first key that does not share `depth` bytes with `key`, or with the whole range if that comes first.
    fn end_near(&mut self, whole: &KeyRange, depth: usize, key: &[u8]) {
        let end = (depth > whole.start.len()).then(|| KeyRange::prefix(&key[..depth.min(key.len())]).end).flatten();
        match end.filter(|end| whole.end.as_ref().is_none_or(|last| end < last)) {
            Some(end) => (self.keys.end, self.depth) = (Some(end), Some(depth)),
            None => (self.keys.end, self.depth) = (whole.end.clone(), None),
        }
    }
}

fn directory(key: &[u8]) -> usize {
    key.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1)
}

/// How large pages are, and how fast etcd gives them.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageSize {
    bytes: usize,
    /// The best time per megabyte so far.
    best: Option<Duration>,
}

impl PageSize {
    /// The longest that etcd is left alone between two pages.
    const LONGEST_REST: Duration = Duration::from_secs(2);
    /// etcd is at work elsewhere when a message of a stream is so long in coming.
    const SLOW_ANSWER: Duration = Duration::from_millis(250);
    /// A page smaller than this says little about etcd's pace.
    const TELLING_BYTES: usize = 256 << 10;

    pub(super) fn of(bytes: usize) -> Self {
        Self { bytes, best: None }
    }

    /// How long to leave etcd alone after one of a stream's messages, which come many a second while etcd is well.
    pub(super) fn rest_of_stream(took: Duration) -> Duration {
        if took < Self::SLOW_ANSWER { Duration::ZERO } else { took.min(Self::LONGEST_REST) }
    }

    /// How long to leave etcd alone after a page that took so long: not at all while it gives pages as fast as it did, else as long as it
    /// took longer.
    pub(super) fn rest(&mut self, bytes: usize, took: Duration) -> Duration {
        if bytes < Self::TELLING_BYTES {
            return Duration::ZERO;
        }
        let pace = took.div_f64(bytes as f64 / f64::from(1 << 20));
        let best = self.best.map_or(pace, |best| best.min(pace));
        self.best = Some(best);
        let expected = best.mul_f64(2.0 * bytes as f64 / f64::from(1 << 20));
        took.saturating_sub(expected).min(Self::LONGEST_REST)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::proto::etcdserverpb::ResponseHeader;
    use crate::proto::mvccpb::KeyValue;

    /// Answers as etcd does, and counts the keys that it would have to walk over.
    fn answer(keys: &BTreeSet<Vec<u8>>, page: &PageRequest, walked: &mut usize) -> RangeResponse {
        let found: Vec<&Vec<u8>> = keys.range(page.keys.start.clone()..).take_while(|key| page.keys.contains(key)).collect();
        *walked += found.len();
        let limit = usize::try_from(page.limit).unwrap();
        let kvs = found.iter().take(limit).map(|key| KeyValue {
            key: key.to_vec().into(),
            value: vec![0; 8192].into(),
            create_revision: 2,
            mod_revision: 2,
            version: 1,
            ..KeyValue::default()
        });
        let header = Some(ResponseHeader { revision: 2, ..ResponseHeader::default() });
        RangeResponse { header, kvs: kvs.collect(), more: found.len() > limit, count: found.len() as i64 }
    }

    /// Reads all pages; returns how many keys etcd walked over for each that it gave.
    fn check(keys: impl Iterator<Item = String>) -> usize {
        let keys: BTreeSet<Vec<u8>> = keys.map(String::into_bytes).collect();
        let whole = KeyRange::prefix("/registry/pods/");
        let mut page = PageRequest::first(&whole, None, Want::Values, PageSize::of(4 << 20));
        let (mut found, mut walked) = (Vec::new(), 0);
        loop {
            let answer = answer(&keys, &page, &mut walked);
            page.check(&answer).unwrap();
            let next = page.next(&whole, &answer);
            found.extend(answer.kvs.into_iter().map(|kv| kv.key));
            let Some(next) = next else { break };
            page = next;
        }
        assert!(found.iter().map(|key| &key[..]).eq(keys.iter().map(Vec::as_slice)));
        walked / found.len()
    }

    #[test]
    fn every_key_comes_once_and_etcd_walks_over_few() {
        let pods = |namespaces: usize, pods: usize| {
            (0..namespaces).flat_map(move |ns| (0..pods).map(move |pod| format!("/registry/pods/ns-{ns:03}/web-{:05x}", pod * 7919)))
        };
        let walked = [pods(300, 500), pods(1, 60_000), pods(40_000, 1)].map(check);
        assert!(walked.iter().all(|&walked| walked < 16), "{walked:?}");
        assert_eq!(check(pods(3, 50)), 1);
    }

    #[test]
    fn etcd_is_left_alone_when_it_slows_down() {
        let mut size = PageSize::of(1);
        let megabyte = 1 << 20;
        assert_eq!(size.rest(megabyte, Duration::from_millis(10)), Duration::ZERO);
        assert_eq!(size.rest(megabyte, Duration::from_millis(19)), Duration::ZERO);
        assert_eq!(size.rest(megabyte, Duration::from_millis(120)), Duration::from_millis(100));
        assert_eq!(size.rest(100, Duration::from_secs(9)), Duration::ZERO);
    }
}
