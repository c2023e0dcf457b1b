//! What a trace is: spans of one rollout, Job, pod or node, each with the moments that the history shows it begins and ends at.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;

use ketcd_history::Actor;
use ketcd_history::timeline::{Phase, Rollout, StepDetail, StepKind, Subject};
use ketcd_store::Revision;

use super::ids::{SpanId, TraceId};

/// The most spans of a trace. Tempo and Jaeger fail at some 40,000.
pub const MAX_TRACE_SPANS: usize = 10_000;
/// The most starts of pods in the trace of their rollout or Job; later pods have traces of their own.
pub const MAX_TRACE_STARTS: usize = 300;
/// The most spans of the start of one pod.
pub const MAX_START_SPANS: usize = 32;

/// What is exported as traces, or a part of it.
#[derive(Debug, Default)]
pub struct Traces {
    /// The traces, in each part by when they begin.
    pub traces: Vec<Trace>,
    /// The uid of kube-system, which tells this cluster from others; `None` where the data do not show it.
    pub cluster_uid: Option<String>,
    /// What is missing in them.
    pub left_out: MissingSpans,
}

impl Traces {
    /// Adds another part.
    pub fn add(&mut self, other: Self) {
        self.traces.extend(other.traces);
        self.cluster_uid = self.cluster_uid.take().or(other.cluster_uid);
        self.left_out.add(other.left_out);
    }
}

/// One trace.
#[derive(Debug)]
pub struct Trace {
    /// Its id: the same in every export.
    pub id: TraceId,
    /// The object that it is about.
    pub about: Arc<Traced>,
    /// Its spans, by when they begin.
    pub spans: Vec<Span>,
}

/// How many spans are missing, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissingSpans {
    /// Starts of pods and other spans whose begin is not readable.
    pub without_begin: usize,
    /// Spans that have not ended, or whose end is not readable.
    pub without_end: usize,
    /// Spans whose begin or end nothing dates.
    pub undated: usize,
    /// Spans above the bounds of a trace.
    pub above_bounds: usize,
    /// Annotations that hold no valid trace parent.
    pub unreadable_parents: usize,
}

impl MissingSpans {
    /// Adds up.
    pub fn add(&mut self, other: Self) {
        self.without_begin += other.without_begin;
        self.without_end += other.without_end;
        self.undated += other.undated;
        self.above_bounds += other.above_bounds;
        self.unreadable_parents += other.unreadable_parents;
    }

    /// How many spans are missing.
    pub fn spans(&self) -> usize {
        self.without_begin + self.without_end + self.undated + self.above_bounds
    }
}

/// The object that a span is about.
#[derive(Debug, Default)]
pub struct Traced {
    /// The object, with the uid of the life that the span is of.
    pub subject: Subject,
    /// Its key in etcd.
    pub key: Bytes,
    /// Its owners, the nearest first.
    pub owners: Vec<Subject>,
    /// The node that it is on, or that it is.
    pub node: Option<String>,
}

/// What a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpanKind {
    /// A refusal of the scheduler: a moment.
    Attempt,
    /// A pod was bound to its node: a moment.
    Bound,
    /// From the binding of a pod to the start of its containers.
    Containers,
    /// A node took no new pods.
    Cordon,
    /// From the request of a deletion to its end.
    Deletion,
    /// From the eviction of a pod to its end.
    Eviction,
    /// A pod was held back by scheduling gates.
    Gated,
    /// An image was pulled.
    ImagePull,
    /// An init container ran.
    InitContainer,
    /// A Job, from its creation to its end.
    Job,
    /// From the last heartbeat of a node to the moment in which the control plane missed it.
    MissedHeartbeats,
    /// A node's kubelet did not report.
    NodeOutage,
    /// A pod waited for room on the node that it was nominated to.
    Nominated,
    /// A pod that had been ready was not.
    NotReady,
    /// A pod from its creation until it is ready.
    PodStart,
    /// A pod waited for the scheduler.
    Queued,
    /// From the start of a pod's containers until it is ready.
    Readiness,
    /// Resources of a pod were changed in place.
    Resize,
    /// A container was down before it was started again.
    Restart,
    /// A rollout.
    Rollout,
    /// The containers of a pod that comes to an end.
    Run,
    /// From the binding of a pod until its volumes and network are there.
    Sandbox,
    /// A taint that evicts pods was set on a node: a moment.
    Tainted,
    /// A volume was attached to the pod's node.
    VolumeAttach,
    /// A claim was bound to a volume.
    VolumeBind,
}

impl SpanKind {
    /// Its name in a tracing system.
    pub fn name(self) -> &'static str {
        match self {
            Self::Attempt => "attempt",
            Self::Bound => "bound",
            Self::Containers => "containers",
            Self::Cordon => "cordon",
            Self::Deletion => "deletion",
            Self::Eviction => "eviction",
            Self::Gated => "gated",
            Self::ImagePull => "image pull",
            Self::InitContainer => "init container",
            Self::Job => "job",
            Self::MissedHeartbeats => "missed heartbeats",
            Self::NodeOutage => "node outage",
            Self::Nominated => "nominated",
            Self::NotReady => "not ready",
            Self::PodStart => "pod start",
            Self::Queued => "queued",
            Self::Readiness => "readiness",
            Self::Resize => "resize",
            Self::Restart => "restart",
            Self::Rollout => "rollout",
            Self::Run => "run",
            Self::Sandbox => "sandbox",
            Self::Tainted => "tainted",
            Self::VolumeAttach => "volume attach",
            Self::VolumeBind => "volume bind",
        }
    }
}

/// A moment that the history shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// When.
    pub time: Timestamp,
    /// How far that may be off, in seconds; `None` where the clock is one that nothing is compared with.
    pub error: Option<f64>,
    /// The revision that shows it.
    pub revision: Revision,
}

impl Moment {
    /// The moment of a phase; `None` where nothing dates it.
    pub(super) fn of(phase: &Phase) -> Option<Self> {
        Self::at(phase.revision, phase.dated)
    }

    /// The moment of a revision; `None` where nothing dates it.
    pub(super) fn at(revision: Revision, dated: Option<ketcd_history::clock::Dated>) -> Option<Self> {
        dated.map(|dated| Self { time: dated.time, error: Some(dated.error), revision })
    }
}

/// What else is known about a span.
#[derive(Clone, Debug, Default)]
pub enum SpanFacts {
    /// Nothing.
    #[default]
    None,
    /// The step that ends it.
    Step(StepKind, StepDetail),
    /// A component's sentence.
    Message(String),
    /// The rollout.
    Rollout(Box<Rollout>),
    /// The chain by which a deletion came, as in a timeline's `deletion`.
    Deletion(&'static str),
    /// What an outage or a cordon of a node cost.
    Node {
        /// Pods that left the node.
        left: usize,
        /// Pods that stayed on it.
        stayed: usize,
    },
}

/// A stretch of time in the life of an object.
#[derive(Debug)]
pub struct Span {
    /// Its id: the same in every export.
    pub id: SpanId,
    /// The span of the same trace that it is a part of. It is left out while its end is not known.
    pub parent: Option<SpanId>,
    /// What it is.
    pub kind: SpanKind,
    /// What it is about.
    pub about: Arc<Traced>,
    /// When it begins.
    pub from: Moment,
    /// When it ends; the same as `from` for a moment.
    pub to: Moment,
    /// Who did it.
    pub by: Option<Actor>,
    /// The container that it is about.
    pub container: Option<String>,
    /// The image that it is about.
    pub image: Option<String>,
    /// Whether it ended badly.
    pub is_failed: bool,
    /// What else is known.
    pub facts: SpanFacts,
    /// Spans of this or other traces that it follows from.
    pub links: Vec<Link>,
    /// Parts of it that are above the bounds of a trace.
    pub parts_left_out: usize,
}

/// A link from a span to one that it follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The trace of that span.
    pub trace: TraceId,
    /// The span.
    pub span: SpanId,
    /// Why it follows.
    pub reason: LinkReason,
}

/// Why a span follows from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkReason {
    /// That one is the start of the same pod.
    Start,
    /// That rollout or Job made or removed the pod.
    Owner,
    /// That outage or cordon of its node took the pod away.
    Node,
    /// That outage or cordon of a node took the pod away that this one replaces.
    Replaces,
    /// That pod preempted this one.
    Preemptor,
    /// An annotation names a span of another system.
    Annotation,
}

impl LinkReason {
    /// The word for machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Owner => "owner",
            Self::Node => "node",
            Self::Replaces => "replaces",
            Self::Preemptor => "preemptor",
            Self::Annotation => "annotation",
        }
    }
}
