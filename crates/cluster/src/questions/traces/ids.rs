//! The ids of traces and spans: hashes of what they are of, so that a second export gives the same ones.

use std::fmt;

use sha2::{Digest, Sha256};

/// The id of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId(pub [u8; 16]);

/// The id of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId(pub [u8; 8]);

impl TraceId {
    /// The id of the trace of an object: what happens to it besides its start in the trace of another one, or with `begin` something that began
    /// in that revision.
    pub(super) fn of(what: &str, uid: &str, begin: Option<i64>) -> Self {
        Self(hash("trace", &[what, uid, &begin.map(|begin| begin.to_string()).unwrap_or_default()]))
    }
}

impl SpanId {
    /// The id of a span: what it is, the uid of its object, the revision that begins it where it can come several times, and what else tells it
    /// from others.
    pub(super) fn of(what: &str, uid: &str, begin: Option<i64>, which: &str) -> Self {
        Self(hash("span", &[what, uid, &begin.map(|begin| begin.to_string()).unwrap_or_default(), which]))
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The first bytes of a hash of some words. An id of zeros alone is invalid (W3C Trace Context, 3.2.2.3).
fn hash<const N: usize>(of: &str, words: &[&str]) -> [u8; N] {
    let mut hash = Sha256::new();
    hash.update("ketcd ");
    hash.update(of);
    for word in words {
        hash.update([0]);
        hash.update(word);
    }
    let mut id = [0; N];
    id.copy_from_slice(&hash.finalize()[..N]);
    if id.iter().all(|byte| *byte == 0) {
        id[N - 1] = 1;
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_depend_on_each_word() {
        let ids = [
            SpanId::of("restart", "u1", Some(7), "a"),
            SpanId::of("restart", "u1", Some(7), "b"),
            SpanId::of("restart", "u1", Some(8), "a"),
            SpanId::of("restart", "u2", Some(7), "a"),
            SpanId::of("run", "u1", Some(7), "a"),
            SpanId::of("restart", "u17", None, "a"),
        ];
        for (place, id) in ids.iter().enumerate() {
            assert!(!ids[..place].contains(id), "{place}");
        }
        assert_eq!(SpanId::of("restart", "u1", Some(7), "a"), ids[0]);
        assert_eq!(TraceId::of("pod", "u1", None).to_string().len(), 32);
    }
}
