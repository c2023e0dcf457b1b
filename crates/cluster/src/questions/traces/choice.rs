//! Which traces are exported: those about what was asked for, and those that these follow from.

use std::collections::{BTreeSet, HashSet};

use ketcd_store::Revision;

use super::assembly::{Draft, Drafts};
use super::ids::{SpanId, TraceId};
use super::model::{LinkReason, MAX_TRACE_SPANS, SpanFacts, Trace, Traces};

/// Chooses the traces of which an object `is_asked` for and a span ended after a revision.
pub(super) fn choose(drafts: &mut Drafts, is_asked: impl Fn(&[u8]) -> bool, after: Revision) -> BTreeSet<TraceId> {
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
    chosen
}

/// The traces that were chosen, without links to what is not among them.
pub(super) fn traces(mut drafts: Drafts, chosen: &BTreeSet<TraceId>) -> Traces {
    drafts.retain(|id, _| chosen.contains(id));
    let known = known(&drafts);
    finished(drafts, &known)
}

fn known(drafts: &Drafts) -> HashSet<(TraceId, SpanId)> {
    drafts.iter().flat_map(|(id, draft)| draft.spans.iter().map(|span| (*id, span.id))).collect()
}

fn finished(drafts: Drafts, known: &HashSet<(TraceId, SpanId)>) -> Traces {
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

/// The traces of nodes, which every part of a story adds to: each shows only some of the pods that a node lost.
#[derive(Default)]
pub(super) struct NodeTraces {
    drafts: Drafts,
    chosen: BTreeSet<TraceId>,
}

impl NodeTraces {
    /// Takes the traces of nodes from those of a part, and returns the others that were chosen.
    pub(super) fn take(&mut self, mut drafts: Drafts, chosen: &BTreeSet<TraceId>) -> Traces {
        let is_of_node = |draft: &Draft| draft.about.subject.kind == "Node";
        // A trace of a node is exported if any part needs it, this one or another.
        let known = {
            drafts.retain(|id, draft| chosen.contains(id) || is_of_node(draft));
            known(&drafts)
        };
        let (of_nodes, others): (Drafts, Drafts) = drafts.into_iter().partition(|(_, draft)| is_of_node(draft));
        self.chosen.extend(of_nodes.keys().filter(|id| chosen.contains(id)));
        for (id, draft) in of_nodes {
            match self.drafts.get_mut(&id) {
                Some(known) => add_costs(known, &draft),
                None => _ = self.drafts.insert(id, draft),
            }
        }
        finished(others, &known)
    }

    /// The traces of nodes that any part chose.
    pub(super) fn finish(self) -> Traces {
        traces(self.drafts, &self.chosen)
    }
}

/// Adds the pods that another part shows to have left a node, or to have stayed. Both parts show the same spans of it.
fn add_costs(known: &mut Draft, part: &Draft) {
    for span in &mut known.spans {
        let other = part.spans.iter().find(|other| other.id == span.id).map(|other| &other.facts);
        if let (SpanFacts::Node { left, stayed }, Some(SpanFacts::Node { left: more_left, stayed: more_stayed })) = (&mut span.facts, other)
        {
            *left += more_left;
            *stayed += more_stayed;
        }
    }
}

/// Puts the spans in order and keeps the first of them.
fn bound(draft: &mut Draft) {
    draft.spans.sort_by_key(|span| (span.from.time, std::cmp::Reverse(span.to.time), span.kind, span.id));
    let above = draft.spans.len().saturating_sub(MAX_TRACE_SPANS);
    draft.spans.truncate(MAX_TRACE_SPANS);
    draft.left_out.above_bounds += above;
}
