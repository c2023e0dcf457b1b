//! The releases that a row of a table holds for.

use crate::Release;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    first: u16,
    last: u16,
}

/// From `1.{first}` on.
pub(crate) const fn since(first: u16) -> Span {
    Span { first, last: u16::MAX }
}

/// From `1.{first}` to `1.{last}`.
pub(crate) const fn between(first: u16, last: u16) -> Span {
    Span { first, last }
}

impl Span {
    pub(crate) fn contains(self, release: Release) -> bool {
        (self.first..=self.last).contains(&release.0)
    }
}
