//! A timestamp that came with a revision: whose clock it is of, and how it bounds the time of the write.

/// Microseconds since 1970.
pub(super) type Micros = i64;

pub(super) const MICROS_PER_SECOND: Micros = 1_000_000;

/// A writer, by its place in [`StampCollector`](super::StampCollector)'s list of names; 0 is the API server, the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct WriterId(pub(super) u32);

pub(super) const API_SERVER_WRITER: WriterId = WriterId(0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StampKind {
    /// The writer stamped the moment of its write: it is committed at most `lag` later.
    Now { lag: Micros },
    /// The writer stamped the moment before its first attempt to write: it is committed at most `lag` later, or again so much after each further attempt.
    /// So it bounds a write from above where nothing shows that it came later, and being late says nothing of the writer's clock.
    Begun { lag: Micros },
    /// Some moment before the write.
    Past,
}

/// A timestamp that came with a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) revision: i64,
    pub(super) at: Micros,
    /// The stamp was cut to a multiple of this: the moment lies in `[at, at + unit)`.
    pub(super) unit: Micros,
    pub(super) writer: WriterId,
    pub(super) kind: StampKind,
}

impl Stamp {
    /// When the write was committed at the latest, if the stamp shows that.
    pub(super) fn latest(&self) -> Option<Micros> {
        match self.kind {
            StampKind::Now { lag } | StampKind::Begun { lag } => Some(self.at + self.unit + lag),
            StampKind::Past => None,
        }
    }

    /// Whether the stamp is of the API server's clock.
    pub(super) fn is_reference(&self) -> bool {
        self.writer == API_SERVER_WRITER
    }
}
