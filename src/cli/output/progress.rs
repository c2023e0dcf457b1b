//! How far a reading has come, on a terminal, once it lasts longer than a second: what is read, how much of it, and how long the rest will take.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use ketcd_store::Revision;
use ketcd_store::load::OpeningProgress;

use ketcd_render::visible::visible;

/// A reading is not mentioned before.
const QUIET_TIME: Duration = Duration::from_secs(1);
/// How often the line is drawn.
const DRAW_INTERVAL: Duration = Duration::from_millis(200);

static CURRENT_PROGRESS: OnceLock<ReadingProgress> = OnceLock::new();

/// What was read of the files that are opened.
static OPENING_PROGRESS: LazyLock<OpeningProgress> = LazyLock::new(OpeningProgress::counting);

/// Returns what counts the bytes of the files that are opened.
pub(in crate::cli) fn opening() -> OpeningProgress {
    OPENING_PROGRESS.clone()
}

struct ReadingProgress {
    bar: ProgressBar,
    values: AtomicU64,
    bytes: AtomicU64,
    /// The revision that a walk over the history has reached; 0 before it begins.
    revision: AtomicI64,
    /// The walk at hand, if it is known where it ends.
    walk: Mutex<Option<Walk>>,
    /// The part of a calculation at hand, once it begins: what is read is of no more interest then.
    part: Mutex<Option<String>>,
    /// What goes on before the first value is read.
    beginning: String,
    /// Held while something is drawn, so that nothing is drawn after the end.
    is_over: Mutex<bool>,
}

#[derive(Clone, Copy)]
struct Walk {
    from: Revision,
    to: Revision,
    begun: Instant,
}

/// Begins to show progress on standard error, if that is a terminal and it was not begun before: first `beginning`, until a value is read. Must be
/// called on a tokio runtime.
pub(in crate::cli) fn start(beginning: String) {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
        bar.set_style(style);
    }
    let progress = ReadingProgress {
        bar,
        values: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        revision: AtomicI64::new(0),
        walk: Mutex::new(None),
        part: Mutex::new(None),
        beginning,
        is_over: Mutex::new(false),
    };
    if CURRENT_PROGRESS.set(progress).is_err() {
        return;
    }
    tokio::spawn(async {
        tokio::time::sleep(QUIET_TIME).await;
        let Some(progress) = CURRENT_PROGRESS.get() else { return };
        // It draws nothing where standard error is no terminal.
        progress.bar.set_draw_target(ProgressDrawTarget::stderr());
        while progress.draw() {
            tokio::time::sleep(DRAW_INTERVAL).await;
        }
    });
}

/// Counts a value that was read.
pub(in crate::cli) fn count(bytes: usize, revision: Option<Revision>) {
    let Some(progress) = CURRENT_PROGRESS.get() else { return };
    progress.values.fetch_add(1, Ordering::Relaxed);
    progress.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    if let Some(revision) = revision {
        progress.revision.store(revision.0, Ordering::Relaxed);
    }
}

pub(in crate::cli) fn walk(from: Revision, to: Revision) {
    let Some(progress) = CURRENT_PROGRESS.get() else { return };
    *progress.walk.lock().unwrap_or_else(PoisonError::into_inner) = Some(Walk { from, to, begun: Instant::now() });
}

/// Shows which part of a calculation begins, such as `node 5 of 18`.
pub(in crate::cli) fn part(part: &str, number: usize, all: usize) {
    let Some(progress) = CURRENT_PROGRESS.get() else { return };
    *progress.part.lock().unwrap_or_else(PoisonError::into_inner) = Some(format!("{part} {number} of {all}"));
}

/// Shows no more: the answer comes.
pub(in crate::cli) fn end() {
    let Some(progress) = CURRENT_PROGRESS.get() else { return };
    let mut is_over = progress.is_over.lock().unwrap_or_else(PoisonError::into_inner);
    if !std::mem::replace(&mut *is_over, true) {
        progress.bar.finish_and_clear();
    }
}

/// Writes something else to standard error.
pub(in crate::cli) fn beside(write: impl FnOnce()) {
    let Some(progress) = CURRENT_PROGRESS.get() else { return write() };
    let is_over = progress.is_over.lock().unwrap_or_else(PoisonError::into_inner);
    if *is_over { write() } else { progress.bar.suspend(write) }
}

impl ReadingProgress {
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
        if let Some(part) = &*self.part.lock().unwrap_or_else(PoisonError::into_inner) {
            return part.clone();
        }
        let (values, bytes) = (self.values.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        if values == 0 {
            return format!("{}{}", visible(&self.beginning), OPENING_PROGRESS.bytes().map_or_else(String::new, share));
        }
        let revision = Revision(self.revision.load(Ordering::Relaxed));
        let at = match *self.walk.lock().unwrap_or_else(PoisonError::into_inner) {
            _ if revision == Revision(0) => String::new(),
            Some(walk) => walk.words(revision, walk.begun.elapsed()),
            None => format!(", at revision {revision}"),
        };
        format!("{} values read, {}{at}", HumanCount(values), HumanBytes(bytes))
    }
}

/// How much of the files was read.
fn share((done, all): (u64, u64)) -> String {
    format!(", {} of {}, {}%", HumanBytes(done), HumanBytes(all), u128::from(done) * 100 / u128::from(all.max(1)))
}

impl Walk {
    /// Where it is after so long, and how long the rest will take.
    fn words(&self, at: Revision, elapsed: Duration) -> String {
        let since = |revision: Revision| revision.0.saturating_sub(self.from.0);
        let (done, all) = (since(at).max(0) as f64, since(self.to).max(1) as f64);
        let left = Duration::try_from_secs_f64(elapsed.as_secs_f64() * (all - done).max(0.0) / done).ok();
        let left = left.filter(|_| done > 0.0 && elapsed >= QUIET_TIME);
        let left = left.map_or_else(String::new, |left| format!(", {} left", HumanDuration(left)));
        format!(", at revision {at} of {}{left}", self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_played_is_shown_not_what_was_read() {
        let progress = ReadingProgress {
            bar: ProgressBar::hidden(),
            values: AtomicU64::new(7_456),
            bytes: AtomicU64::new(1 << 20),
            revision: AtomicI64::new(0),
            walk: Mutex::new(None),
            part: Mutex::new(None),
            beginning: "reading".to_owned(),
            is_over: Mutex::new(false),
        };
        assert_eq!(progress.message(), "7,456 values read, 1.00 MiB");
        *progress.part.lock().unwrap() = Some("node 5 of 18".to_owned());
        assert_eq!(progress.message(), "node 5 of 18");
    }

    #[test]
    fn opening_says_how_much_of_the_files_is_read() {
        assert_eq!(share((1 << 30, 4 << 30)), ", 1.00 GiB of 4.00 GiB, 25%");
        assert!(share((u64::MAX, u64::MAX)).ends_with(", 100%"));
        assert_eq!(share((0, 4096)), ", 0 B of 4.00 KiB, 0%");
    }

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
