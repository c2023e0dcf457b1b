//! Makes the spans of one object: what is not readable or not dated is left out and counted.

use std::sync::Arc;

use ketcd_history::Actor;
use ketcd_history::timeline::Phase;

use super::ids::SpanId;
use super::model::{MissingSpans, Moment, Span, SpanFacts, SpanKind, Traced};

pub(super) struct SpanList {
    about: Arc<Traced>,
    /// Those that were made.
    pub made: Vec<Span>,
    /// Those that were not.
    pub left_out: MissingSpans,
}

/// What a span is, and which of several.
#[derive(Clone, Copy)]
pub(super) struct Which<'w> {
    /// What it is.
    pub kind: SpanKind,
    /// What else tells it from others of the object that begin in the same revision.
    pub name: &'w str,
    /// The span that it is a part of.
    pub parent: Option<SpanId>,
}

impl Which<'_> {
    pub(super) fn part(kind: SpanKind, parent: SpanId) -> Self {
        Self { kind, name: "", parent: Some(parent) }
    }

    /// A span that is a part of none.
    pub(super) fn root(kind: SpanKind) -> Self {
        Self { kind, name: "", parent: None }
    }
}

impl SpanList {
    pub(super) fn new(about: &Arc<Traced>) -> Self {
        Self { about: Arc::clone(about), made: Vec::new(), left_out: MissingSpans::default() }
    }

    /// Adds the span between two phases, the second of which says who did it and how it ended.
    pub(super) fn between(&mut self, which: Which<'_>, from: &Phase, to: &Phase) -> Option<&mut Span> {
        let by = to.by.clone();
        let span = self.add(which, Moment::of(from), Moment::of(to), by)?;
        span.facts = SpanFacts::Step(to.phase, to.detail.clone());
        Some(span)
    }

    pub(super) fn moment(&mut self, which: Which<'_>, at: &Phase) -> Option<&mut Span> {
        self.between(which, at, at)
    }

    /// Adds the span from a phase to one that may not be readable.
    pub(super) fn until(&mut self, which: Which<'_>, from: &Phase, to: Option<&Phase>) -> Option<&mut Span> {
        match to {
            Some(to) => self.between(which, from, to),
            None => {
                self.left_out.without_end += 1;
                None
            }
        }
    }

    /// Adds a span of the object, between two moments.
    pub(super) fn add(&mut self, which: Which<'_>, from: Option<Moment>, to: Option<Moment>, by: Option<Actor>) -> Option<&mut Span> {
        let about = Arc::clone(&self.about);
        self.add_about(which, &about, from, to, by)
    }

    /// The same of another object, whose span is a part of one of this object.
    pub(super) fn add_about(
        &mut self,
        which: Which<'_>,
        about: &Arc<Traced>,
        from: Option<Moment>,
        to: Option<Moment>,
        by: Option<Actor>,
    ) -> Option<&mut Span> {
        // The times of one clock never run backwards; those of two may.
        let (Some(from), Some(to)) = (from, to.filter(|to| from.is_none_or(|from| to.time >= from.time))) else {
            self.left_out.undated += 1;
            return None;
        };
        let Which { kind, name, parent } = which;
        // A pod and a Job start once, and of pulls the first counts: these spans have the same ids, whichever revision shows them.
        let begin = (!matches!(kind, SpanKind::PodStart | SpanKind::Job | SpanKind::ImagePull)).then_some(from.revision.0);
        // The volume of two pods is attached once for each.
        let of = if Arc::ptr_eq(about, &self.about) { name.to_owned() } else { format!("{}/{}", about.subject.uid, name) };
        self.made.push(Span {
            id: SpanId::of(kind.name(), &self.about.subject.uid, begin, &of),
            parent,
            kind,
            about: Arc::clone(about),
            from,
            to,
            by,
            container: None,
            image: None,
            is_failed: false,
            facts: SpanFacts::None,
            links: Vec::new(),
            parts_left_out: 0,
        });
        self.made.last_mut()
    }
}
