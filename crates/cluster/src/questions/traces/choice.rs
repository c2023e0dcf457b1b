//! Which traces are exported: those about what was asked for, and those that these follow from.

use std::collections::{BTreeSet, HashSet};

use ketcd_store::Revision;

use super::assembly::{Draft, Drafts};
use super::ids::TraceId;
use super::model::{LinkReason, MAX_TRACE_SPANS, Trace, Traces};

/// Chooses the traces of which an object `is_asked` for and a span ended after a revision.
pub(super) fn choose(mut drafts: Drafts, is_asked: impl Fn(&[u8]) -> bool, after: Revision) -> Traces {
    for draft in drafts.values_mut() {
        bound(draft);
    }
    let is_chosen = |draft: &Draft| {
        let is_new = after == Revision(0) || draft.spans.iter().any(|span| span.to.revision > after);
        is_new && draft.keys.iter().any(|key| is_asked(key))
    };
    let mut chosen: BTreeSet<TraceId> = drafts.iter().filter(|(_, draft)| is_chosen(draft)).map(|(id, _)| *id).collect();
    let mut next: Vec<TraceId> = chosen.iter().copied().collect();
    while let Some(id) = next.pop() {
        let links = drafts[&id].spans.iter().flat_map(|span| &span.links).filter(|link| link.reason != LinkReason::Annotation);
        let causes: Vec<TraceId> = links.map(|link| link.trace).filter(|trace| drafts.contains_key(trace)).collect();
        next.extend(causes.into_iter().filter(|trace| chosen.insert(*trace)));
    }
    drafts.retain(|id, _| chosen.contains(id));
    let known: HashSet<_> = drafts.iter().flat_map(|(id, draft)| draft.spans.iter().map(|span| (*id, span.id))).collect();
    let mut traces = Traces::default();
    for (id, mut draft) in drafts {
        traces.left_out.add(draft.left_out);
        for span in &mut draft.spans {
            span.links.retain(|link| link.reason == LinkReason::Annotation || known.contains(&(link.trace, link.span)));
            span.links.sort_by_key(|link| (link.trace, link.span));
        }
        if !draft.spans.is_empty() {
            traces.traces.push(Trace { id, about: draft.about, spans: draft.spans });
        }
    }
    traces.traces.sort_by_key(|trace| (trace.spans[0].from.time, trace.id));
    traces
}

/// Puts the spans in order and keeps the first of them.
fn bound(draft: &mut Draft) {
    draft.spans.sort_by_key(|span| (span.from.time, std::cmp::Reverse(span.to.time), span.kind, span.id));
    let above = draft.spans.len().saturating_sub(MAX_TRACE_SPANS);
    draft.spans.truncate(MAX_TRACE_SPANS);
    draft.left_out.above_bounds += above;
}
