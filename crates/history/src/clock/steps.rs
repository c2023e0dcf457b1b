//! A function of revisions that only ever rises, kept as its steps.

use super::stamp::Micros;

/// Steps `(revision, value)`, both strictly ascending.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps(Vec<(i64, Micros)>);

impl Steps {
    /// From `revision` on the value is at least `value`. Revisions come in ascending order.
    pub(super) fn raise(&mut self, revision: i64, value: Micros) {
        match self.0.last_mut() {
            Some((_, highest)) if value <= *highest => {}
            Some((last, highest)) if *last == revision => *highest = value,
            _ => self.0.push((revision, value)),
        }
    }

    /// Up to each revision of `bounds` (ascending) the value is at most its bound.
    pub(super) fn lowest_from_the_end(bounds: &[(i64, Micros)]) -> Self {
        let mut steps: Vec<(i64, Micros)> = Vec::new();
        for &(revision, value) in bounds.iter().rev() {
            match steps.last_mut() {
                Some((_, lowest)) if value >= *lowest => {}
                Some((first, lowest)) if *first == revision => *lowest = value,
                _ => steps.push((revision, value)),
            }
        }
        steps.reverse();
        Self(steps)
    }

    /// The value of the last step at or before `revision`.
    pub(super) fn at_or_before(&self, revision: i64) -> Option<Micros> {
        let next = self.0.partition_point(|(at, _)| *at <= revision);
        next.checked_sub(1).map(|place| self.0[place].1)
    }

    /// The value of the first step at or after `revision`.
    pub(super) fn at_or_after(&self, revision: i64) -> Option<Micros> {
        self.0.get(self.0.partition_point(|(at, _)| *at < revision)).map(|(_, value)| *value)
    }

    pub(super) fn first(&self) -> Option<i64> {
        self.0.first().map(|(revision, _)| *revision)
    }

    pub(super) fn last(&self) -> Option<i64> {
        self.0.last().map(|(revision, _)| *revision)
    }
}
