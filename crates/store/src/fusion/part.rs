//! One of several sources: what is known of it before it is opened, and opening it when a question needs it.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::load::Peek;
use crate::{EarlierRevisions, Result, RevisionSpan, Source, SourceKind};

pub(crate) type Opener = Box<dyn Fn() -> Result<Box<dyn Source>> + Send + Sync>;

/// One of several sources.
pub(crate) struct Part {
    /// The path or the endpoints, as the user gave them.
    pub name: Arc<str>,
    pub kind: SourceKind,
    /// etcd's cluster id, hexadecimal, where known.
    pub cluster_id: Option<String>,
    /// The revisions that can be read. A live etcd's are asked for when they are needed.
    pub span: RevisionSpan,
    /// What became of the revisions before those.
    pub earlier: EarlierRevisions,
    has_all_keys: bool,
    pub held: PartState,
    /// What could not be read of it, once it was opened.
    pub damage: OnceLock<Vec<String>>,
    /// What was found out late of it before it was closed again.
    late: Mutex<Vec<String>>,
}

pub(crate) enum PartState {
    Open(Arc<dyn Source>),
    /// It is opened when it is needed.
    Closed {
        bytes: u64,
        open: Opener,
        /// What the file says of itself without being opened; dropped once it was compared with its neighbours.
        peek: Option<Box<Peek>>,
    },
}

impl Part {
    /// A part that stays open.
    pub(crate) fn open(name: &str, kind: SourceKind, cluster_id: Option<String>, span: RevisionSpan, source: Box<dyn Source>) -> Self {
        let facts = source.facts();
        let (has_all_keys, earlier, damage) = (facts.has_all_keys, facts.earlier, OnceLock::from(facts.damage.to_vec()));
        Self {
            name: name.into(),
            kind,
            cluster_id,
            span,
            earlier,
            has_all_keys,
            held: PartState::Open(source.into()),
            damage,
            late: Mutex::default(),
        }
    }

    /// The same, of which keys may be missing: a backup of objects has those that were selected.
    pub(crate) fn of_some_keys(self) -> Self {
        Self { has_all_keys: false, ..self }
    }

    /// A database file that is opened when it is needed.
    pub(crate) fn of_peek(name: &str, peek: Peek, open: Opener) -> Self {
        Self::closed(name, peek.span(), PartState::Closed { bytes: peek.bytes(), open, peek: Some(Box::new(peek)) })
    }

    /// The same, where its revisions are known.
    pub(crate) fn closed(name: &str, span: RevisionSpan, held: PartState) -> Self {
        let (damage, late, earlier) = (OnceLock::new(), Mutex::default(), EarlierRevisions::Compacted);
        Self { name: name.into(), kind: SourceKind::Db, cluster_id: None, span, earlier, has_all_keys: true, held, damage, late }
    }

    /// Whether it has all keys. A recording may have been made of some.
    pub(super) fn has_all_keys(&self) -> bool {
        self.has_all_keys
    }

    /// Whether something of it is known to be damaged.
    pub(super) fn is_damaged(&self) -> bool {
        self.damage.get().is_some_and(|damage| !damage.is_empty())
    }

    /// The revision behind which it has all changes.
    pub(super) fn complete_after(&self) -> i64 {
        self.span.compacted.map_or(0, |compacted| compacted.0)
    }

    /// Whether it has no change: a raft snapshot, or a store that was never written to.
    pub(super) fn is_empty(&self) -> bool {
        self.span.newest <= crate::Revision(1)
    }

    pub(super) fn newest(&self) -> i64 {
        self.span.newest.0
    }

    /// What was found out late before it was closed.
    pub(super) fn late(&self) -> MutexGuard<'_, Vec<String>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The parts that are open for a while, the one used last at the end.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<Pooled>>);

struct Pooled {
    part: usize,
    bytes: u64,
    source: Arc<dyn Source>,
}

/// Two files stay open however large they are: one question often reads two.
pub(super) const POOL_FILES: usize = 2;
/// If there are more, the bytes of those held together; their indexes take about a tenth of that.
pub(super) const POOL_BYTES: u64 = 4 << 30;

impl Pool {
    /// The source of a part, opened if need be.
    pub(super) fn get(&self, parts: &[Part], number: usize) -> Result<Arc<dyn Source>> {
        let part = &parts[number];
        let (bytes, open) = match &part.held {
            PartState::Open(source) => return Ok(Arc::clone(source)),
            PartState::Closed { bytes, open, .. } => (*bytes, open),
        };
        let mut pooled = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = pooled.iter().position(|pooled| pooled.part == number) {
            let last = pooled.remove(place);
            let source = Arc::clone(&last.source);
            pooled.push(last);
            return Ok(source);
        }
        let source: Arc<dyn Source> = open()?.into();
        let _ = part.damage.set(source.damage().to_vec());
        pooled.push(Pooled { part: number, bytes, source: Arc::clone(&source) });
        while pooled.len() > POOL_FILES && pooled.iter().map(|pooled| pooled.bytes).sum::<u64>() > POOL_BYTES {
            let first = pooled.remove(0);
            let mut late = parts[first.part].late();
            *late = first.source.late_damage();
        }
        Ok(source)
    }

    pub(super) fn opened(&self) -> Vec<(usize, Arc<dyn Source>)> {
        let pooled = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pooled.iter().map(|pooled| (pooled.part, Arc::clone(&pooled.source))).collect()
    }
}
