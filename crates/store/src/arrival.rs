//! When changes arrived at a recorder that followed a running etcd.

use crate::Revision;

/// When some revisions arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The first revision that arrived then,
    pub from: Revision,
    /// and the last.
    pub to: Revision,
    /// When, in microseconds since 1970, by the recorder's clock.
    pub time: i64,
    /// How long before that they were committed at most, in microseconds.
    pub delay: i64,
}

impl Arrival {
    /// The part of it from one revision to another, both included.
    pub(crate) fn within(self, from: Revision, to: Revision) -> Option<Self> {
        let part = Self { from: self.from.max(from), to: self.to.min(to), ..self };
        (part.from <= part.to).then_some(part)
    }
}

/// What a recorder noted of when changes arrived.
pub trait Arrivals: Sync {
    /// Returns when the revisions from one to another arrived, ascending, each once at most: those of which it was not noted are left out.
    fn arrivals(&self, from: Revision, to: Revision) -> Vec<Arrival>;

    /// Returns whether nothing was received at these times: they bound when revisions were written, as a bundle's source dated them.
    fn are_dates(&self) -> bool {
        false
    }
}

/// Returns arrivals that may overlap so that each revision has one, the first; ascending.
pub(crate) fn each_once(mut arrivals: Vec<Arrival>) -> Vec<Arrival> {
    arrivals.sort_by_key(|arrival| (arrival.from, arrival.to));
    let mut next = Revision(i64::MIN);
    let kept = arrivals.into_iter().filter_map(|arrival| {
        let part = arrival.within(next, Revision(i64::MAX))?;
        next = part.to.after();
        Some(part)
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_revision_arrives_once() {
        let arrival = |(from, to, time): (i64, i64, i64)| Arrival { from: Revision(from), to: Revision(to), time, delay: 1 };
        let kept = each_once([(5, 9, 2), (1, 6, 1), (2, 3, 4), (12, 12, 5)].map(arrival).to_vec());
        assert_eq!(kept, [(1, 6, 1), (7, 9, 2), (12, 12, 5)].map(arrival));
    }
}
