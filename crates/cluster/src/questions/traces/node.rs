//! The outages and cordons of a node.

use std::sync::Arc;

use ketcd_history::timeline::{Fate, StepKind, Story, Subject, Timeline};
use ketcd_store::Revision;

use super::ids::{SpanId, TraceId};
use super::model::{Moment, Span, SpanFacts, SpanKind, Traced};
use super::spans::{SpanList, Which};

/// A time in which a node lost pods.
pub(super) struct NodeLoss {
    /// The node's name.
    pub node: String,
    /// From where on.
    pub from: Revision,
    /// Up to where.
    pub until: Revision,
    /// Its trace.
    pub trace: TraceId,
    /// Its span.
    pub span: SpanId,
    /// The uids of the pods that replaced those that left.
    pub replacements: Vec<String>,
}

/// The spans of one outage or cordon.
pub(super) struct NodeSpans {
    /// Its trace.
    pub trace: TraceId,
    /// The spans.
    pub spans: SpanList,
    /// What it cost.
    pub loss: Option<NodeLoss>,
}

fn has(node: &Timeline, kinds: &[StepKind]) -> bool {
    node.phases.iter().any(|phase| kinds.contains(&phase.phase))
}

/// The outages and cordons of a node. What they cost is known where the story `has_all_pods`.
pub(super) fn spans(story: &Story, node: &Timeline, about: &Arc<Traced>, has_all_pods: bool) -> Vec<NodeSpans> {
    let cost = |left: usize, stayed: usize| if has_all_pods { SpanFacts::Node { left, stayed } } else { SpanFacts::None };
    let mut made = Vec::new();
    if has(node, &[StepKind::HeartbeatLost, StepKind::LastHeartbeat]) {
        made.extend(story.outages(node).iter().map(|outage| {
            let mut spans = SpanList::new(about);
            let id = SpanId::of(SpanKind::NodeOutage.name(), &about.subject.uid, Some(outage.lost.revision.0), "");
            let from = Moment::of(&outage.from);
            match &outage.until {
                None => spans.left_out.without_end += 1,
                Some(until) => {
                    if let Some(span) = spans.add(Which::root(SpanKind::NodeOutage), from, Moment::of(until), outage.lost.by.clone()) {
                        // The revision that shows the loss is the same, whether the last heartbeat is readable or not.
                        span.id = id;
                        span.is_failed = true;
                        span.facts = cost(outage.evicted.len(), outage.stayed.len());
                    }
                    if outage.lost.dated != outage.from.dated {
                        let which = Which::part(SpanKind::MissedHeartbeats, id);
                        if let Some(span) = spans.add(which, from, Moment::of(&outage.lost), outage.lost.by.clone()) {
                            span.facts = SpanFacts::Step(outage.lost.phase, outage.lost.detail.clone());
                        }
                    }
                    if let Some(tainted) = &outage.tainted {
                        spans.moment(Which::part(SpanKind::Tainted, id), tainted);
                    }
                }
            }
            let trace = TraceId::of("outage", &about.subject.uid, Some(outage.lost.revision.0));
            finish(spans, trace, outage.lost.revision, outage.until.as_ref().map(|until| until.revision), &outage.evicted)
        }));
    }
    if has(node, &[StepKind::Cordoned]) {
        made.extend(story.cordons(node).iter().map(|cordon| {
            let mut spans = SpanList::new(about);
            if let Some(span) = spans.until(Which::root(SpanKind::Cordon), &cordon.from, cordon.until.as_ref()) {
                span.by.clone_from(&cordon.from.by);
                span.facts = cost(cordon.left.len(), 0);
            }
            let trace = TraceId::of("cordon", &about.subject.uid, Some(cordon.from.revision.0));
            finish(spans, trace, cordon.from.revision, cordon.until.as_ref().map(|until| until.revision), &cordon.left)
        }));
    }
    made
}

fn finish(spans: SpanList, trace: TraceId, from: Revision, until: Option<Revision>, left: &[(Subject, Fate)]) -> NodeSpans {
    let is_root = |span: &&Span| matches!(span.kind, SpanKind::NodeOutage | SpanKind::Cordon);
    let root = spans.made.iter().find(is_root);
    let replacement = |fate: &Fate| match fate {
        Fate::Replaced(replacement) => Some(replacement.pod.uid.clone()),
        _ => None,
    };
    let loss = root.zip(until).map(|(root, until)| NodeLoss {
        node: root.about.subject.name.clone(),
        from,
        until,
        trace,
        span: root.id,
        replacements: left.iter().filter_map(|(_, fate)| replacement(fate)).collect(),
    });
    NodeSpans { trace, spans, loss }
}
