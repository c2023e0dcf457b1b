//! The lanes of an object's track: slices of one lane lie in each other or one after the other, as Perfetto nests them.

use std::cmp::Reverse;

use ketcd_cluster::traces::Span;

/// Puts spans into as few lanes as a greedy choice gives, each in the order in which its slices begin.
pub(super) fn lanes<'s>(spans: impl Iterator<Item = &'s Span>) -> Vec<Vec<&'s Span>> {
    let mut spans: Vec<&Span> = spans.collect();
    spans.sort_by_key(|span| (span.from.time, Reverse(span.to.time), span.kind, span.id));
    let mut lanes: Vec<Lane<'_>> = Vec::new();
    for span in spans {
        match lanes.iter_mut().find_map(|lane| lane.fits(span).then_some(lane)) {
            Some(lane) => lane.push(span),
            None => lanes.push(Lane { spans: vec![span], open: vec![span] }),
        }
    }
    lanes.into_iter().map(|lane| lane.spans).collect()
}

struct Lane<'s> {
    spans: Vec<&'s Span>,
    /// Those that have not ended, the innermost last.
    open: Vec<&'s Span>,
}

impl<'s> Lane<'s> {
    /// Whether a span that begins no earlier than those before lies in or behind them.
    fn fits(&self, span: &Span) -> bool {
        let around = self.open.iter().rev().find(|open| open.to.time > span.from.time);
        around.is_none_or(|open| span.to.time <= open.to.time)
    }

    fn push(&mut self, span: &'s Span) {
        self.open.retain(|open| open.to.time > span.from.time);
        self.open.push(span);
        self.spans.push(span);
    }
}
