//! How far a reading has come, on a terminal, once it lasts longer than a second.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use ketcd_store::Revision;

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
    /// Held while something is drawn, so that nothing is drawn after the end.
    is_over: Mutex<bool>,
}

/// Begins to show progress on standard error, if that is a terminal. Must be called on a tokio runtime.
pub(super) fn start() {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
        bar.set_style(style);
    }
    let values = (AtomicU64::new(0), AtomicU64::new(0));
    let progress = Progress { bar, values: values.0, bytes: values.1, revision: AtomicI64::new(0), is_over: Mutex::new(false) };
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
        let (values, bytes) = (self.values.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        let at = match self.revision.load(Ordering::Relaxed) {
            0 => String::new(),
            revision => format!(", at revision {revision}"),
        };
        self.bar.set_message(format!("{} values read, {}{at}", HumanCount(values), HumanBytes(bytes)));
        self.bar.tick();
        true
    }
}
