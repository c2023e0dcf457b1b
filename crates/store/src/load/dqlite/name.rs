//! The names of a node's files (`src/raft/uv.h`): `snapshot-TERM-INDEX-TIME`, the same with `.meta`, `FIRST-LAST` and `open-NUMBER`.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Snapshot(SnapshotMoment),
    Meta(SnapshotMoment),
    /// A segment that is complete: the indexes of its entries.
    Closed {
        first: u64,
        last: u64,
    },
    /// A segment that was being written, or will be.
    Open(u64),
    /// The term, and for whom the node voted.
    Metadata,
}

/// When a snapshot was taken, in the order in which dqlite compares them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SnapshotMoment {
    term: u64,
    /// The last entry in it.
    pub index: u64,
    time: u64,
}

impl Name {
    /// Reads the name of a file; `None` where it is not one of a node.
    pub(super) fn of(name: &str) -> Option<Self> {
        if matches!(name, "metadata1" | "metadata2") {
            return Some(Self::Metadata);
        }
        if let Some(snapshot) = name.strip_prefix("snapshot-") {
            return match snapshot.strip_suffix(".meta") {
                Some(snapshot) => SnapshotMoment::of(snapshot).map(Self::Meta),
                None => SnapshotMoment::of(snapshot).map(Self::Snapshot),
            };
        }
        if let Some(open) = name.strip_prefix("open-") {
            return number(open).map(Self::Open);
        }
        let (first, last) = name.split_once('-').filter(|(first, last)| first.len() >= 16 && last.len() >= 16)?;
        let (first, last) = (number(first)?, number(last)?);
        (0 < first && first <= last).then_some(Self::Closed { first, last })
    }
}

impl SnapshotMoment {
    fn of(text: &str) -> Option<Self> {
        let mut numbers = text.split('-').map(number);
        let moment = Self { term: numbers.next()??, index: numbers.next()??, time: numbers.next()?? };
        numbers.next().is_none().then_some(moment)
    }
}

/// A decimal number, and nothing else; none that arithmetic could overflow on.
fn number(text: &str) -> Option<u64> {
    let number = text.parse().ok().filter(|&number: &u64| number < u64::MAX / 2);
    number.filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_a_node() {
        let moment = SnapshotMoment { term: 1, index: 300, time: 5_666_747 };
        assert_eq!(Name::of("snapshot-1-300-5666747"), Some(Name::Snapshot(moment)));
        assert_eq!(Name::of("snapshot-1-300-5666747.meta"), Some(Name::Meta(moment)));
        assert_eq!(Name::of("0000000000000201-0000000000000300"), Some(Name::Closed { first: 201, last: 300 }));
        assert_eq!((Name::of("open-4"), Name::of("metadata2")), (Some(Name::Open(4)), Some(Name::Metadata)));
        for name in [
            "snapshot.db",
            "snapshot-1-300",
            "snapshot-1-2-3-4",
            "snapshot-1-+2-3",
            "open-",
            "open-x",
            "1-2",
            "0000000000000300-0000000000000201",
            "0000000000000000-0000000000000000",
            "00000000000000000001-99999999999999999999",
            "",
        ] {
            assert_eq!(Name::of(name), None, "{name}");
        }
    }
}
