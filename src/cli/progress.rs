//! How far a reading has come, on a terminal, once it lasts longer than a second: what is read, how much of it, and how long the rest will take.

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use ketcd_store::Revision;

use ketcd_render::visible::visible;

/// A reading is not mentioned before.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the line is drawn.
const TICK: Duration = Duration::from_millis(200);

static PROGRESS: OnceLock<Progress> = OnceLock::new();

struct Progress {
    bar: ProgressBar,
    values: AtomicU64,
    bytes: AtomicU64,
    /// The revision that a walk over the history has reached; 0 before it begins.
    revision: AtomicI64,
    /// The walk at hand, if it is known where it ends.
    walk: Mutex<Option<Walk>>,
    /// How many parts of a calculation are done, and how many there are; 0 before it begins.
    parts: (AtomicUsize, AtomicUsize),
    /// What goes on before the first value is read.
    beginning: String,
    /// Held while something is drawn, so that nothing is drawn after the end.
    is_over: Mutex<bool>,
}

/// A walk over revisions.
#[derive(Clone, Copy)]
struct Walk {
    from: Revision,
    to: Revision,
    begun: Instant,
}

/// Begins to show progress on standard error, if that is a terminal and it was not begun before: first `beginning`, until a value is read. Must be
/// called on a tokio runtime.
pub(super) fn start(beginning: String) {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
        bar.set_style(style);
    }
    let progress = Progress {
        bar,
        values: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        revision: AtomicI64::new(0),
        walk: Mutex::new(None),
        parts: (AtomicUsize::new(0), AtomicUsize::new(0)),
        beginning,
        is_over: Mutex::new(false),
    };
    if PROGRESS.set(progress).is_err() {
        return;
    }
    tokio::spawn(async {
        tokio::time::sleep(PATIENCE).await;
        let Some(progress) = PROGRESS.get() else { return };
        // It draws nothing where standard error is no terminal.
        progress.bar.set_draw_target(ProgressDrawTarget::stderr());
        while progress.draw() {
            tokio::time::sleep(TICK).await;
        }
    });
}

/// Counts a value that was read.
pub(super) fn count(bytes: usize, revision: Option<Revision>) {
    let Some(progress) = PROGRESS.get() else { return };
    progress.values.fetch_add(1, Ordering::Relaxed);
    progress.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    if let Some(revision) = revision {
        progress.revision.store(revision.0, Ordering::Relaxed);
    }
}

/// Begins a walk over these revisions.
pub(super) fn walk(from: Revision, to: Revision) {
    let Some(progress) = PROGRESS.get() else { return };
    *progress.walk.lock().unwrap_or_else(PoisonError::into_inner) = Some(Walk { from, to, begun: Instant::now() });
}

/// Shows how many parts of a calculation are done.
pub(super) fn parts(done: usize, all: usize) {
    let Some(progress) = PROGRESS.get() else { return };
    progress.parts.0.store(done, Ordering::Relaxed);
    progress.parts.1.store(all, Ordering::Relaxed);
}

/// Shows no more: the answer comes.
pub(super) fn end() {
    let Some(progress) = PROGRESS.get() else { return };
    let mut is_over = progress.is_over.lock().unwrap_or_else(PoisonError::into_inner);
    if !std::mem::replace(&mut *is_over, true) {
        progress.bar.finish_and_clear();
    }
}

/// Writes something else to standard error.
pub(super) fn beside(write: impl FnOnce()) {
    let Some(progress) = PROGRESS.get() else { return write() };
    let is_over = progress.is_over.lock().unwrap_or_else(PoisonError::into_inner);
    if *is_over { write() } else { progress.bar.suspend(write) }
}

impl Progress {
    /// Draws how far it came; returns false once nothing is to be drawn any more.
    fn draw(&self) -> bool {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_over {
            return false;
        }
        self.bar.set_message(self.message());
        self.bar.tick();
        true
    }

    fn message(&self) -> String {
        let (values, bytes) = (self.values.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        if values == 0 {
            return visible(&self.beginning).into_owned();
        }
        let revision = Revision(self.revision.load(Ordering::Relaxed));
        let at = match *self.walk.lock().unwrap_or_else(PoisonError::into_inner) {
            _ if revision == Revision(0) => String::new(),
            Some(walk) => walk.words(revision, walk.begun.elapsed()),
            None => format!(", at revision {revision}"),
        };
        let parts = match (self.parts.0.load(Ordering::Relaxed), self.parts.1.load(Ordering::Relaxed)) {
            (_, 0) => String::new(),
            (done, all) => format!(", {done} of {all} simulated"),
        };
        format!("{} values read, {}{at}{parts}", HumanCount(values), HumanBytes(bytes))
    }
}

impl Walk {
    /// Where it is after so long, and how long the rest will take.
    fn words(&self, at: Revision, elapsed: Duration) -> String {
        let since = |revision: Revision| revision.0.saturating_sub(self.from.0);
        let (done, all) = (since(at).max(0) as f64, since(self.to).max(1) as f64);
        let left = Duration::try_from_secs_f64(elapsed.as_secs_f64() * (all - done).max(0.0) / done).ok();
        let left = left.filter(|_| done > 0.0 && elapsed >= PATIENCE);
        let left = left.map_or_else(String::new, |left| format!(", {} left", HumanDuration(left)));
        format!(", at revision {at} of {}{left}", self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_says_how_long_the_rest_takes() {
        let walk = Walk { from: Revision(100), to: Revision(500), begun: Instant::now() };
        assert_eq!(walk.words(Revision(200), Duration::from_secs(10)), ", at revision 200 of 500, 30 seconds left");
        assert_eq!(walk.words(Revision(500), Duration::from_secs(40)), ", at revision 500 of 500, 0 seconds left");
        // Too early to tell.
        assert_eq!(walk.words(Revision(110), Duration::from_millis(10)), ", at revision 110 of 500");
        assert_eq!(walk.words(Revision(50), Duration::from_secs(5)), ", at revision 50 of 500");
        // Longer than any duration.
        let walk = Walk { from: Revision(0), to: Revision(i64::MAX), begun: Instant::now() };
        assert_eq!(walk.words(Revision(1), Duration::from_secs(10)), ", at revision 1 of 9223372036854775807");
    }
}
