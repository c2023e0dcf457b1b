//! How far a recording has come: a line that changes on a terminal, else one line a minute.

use std::convert::Infallible;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::{Instant, interval};

use ketcd_store::{At, KeyRange, Source, Want};

use super::position::Shared;
use crate::cli::output::note;

/// How often the line is drawn.
const DRAW_INTERVAL: Duration = Duration::from_millis(500);
/// How often a line is printed where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(60);
/// How often etcd is asked for its newest revision.
const REVISION_INTERVAL: Duration = Duration::from_secs(10);

pub(crate) struct RecordingProgress {
    shared: Arc<Shared>,
    bar: Option<ProgressBar>,
}

impl RecordingProgress {
    /// Shows nothing yet.
    pub(crate) fn start(shared: Arc<Shared>) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self { shared, bar }
    }

    /// Shows how far it has come, from time to time.
    pub(crate) async fn run(&self, source: &dyn Source, ranges: &[KeyRange]) -> Infallible {
        let (mut ticks, mut asks) = (interval(if self.bar.is_some() { DRAW_INTERVAL } else { LINE_INTERVAL }), interval(REVISION_INTERVAL));
        // The first tick is at once.
        ticks.tick().await;
        let mut before = (Instant::now(), self.shared.recorded().changes);
        loop {
            tokio::select! {
                _ = ticks.tick() => {
                    let changes = self.shared.recorded().changes;
                    let elapsed = before.0.elapsed().as_secs_f64().max(0.001);
                    let rate = changes.saturating_sub(before.1) as f64 / elapsed;
                    // Over half a second a rate says little.
                    if self.bar.is_none() || elapsed > 5.0 {
                        before = (Instant::now(), changes);
                    }
                    self.show(&line(&self.shared, rate));
                }
                _ = asks.tick() => self.ask(source, ranges).await,
            }
        }
    }

    /// Asks etcd for its newest revision. While it does not answer, what was known stands.
    async fn ask(&self, source: &dyn Source, ranges: &[KeyRange]) {
        let key = KeyRange::key(KeyRange::hull(ranges).start);
        let answer = tokio::time::timeout(REVISION_INTERVAL, source.range(key, At::Newest, Want::Keys)).await;
        if let Ok(Ok(listing)) = answer {
            self.shared.newest.fetch_max(listing.revision.0, Ordering::Relaxed);
        }
    }

    fn show(&self, line: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_message(line.to_owned());
                bar.tick();
            }
            None => note(line),
        }
    }

    /// Shows no more.
    pub(crate) fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// How far it has come, in a line.
fn line(shared: &Shared, rate: f64) -> String {
    let recorded = shared.recorded();
    let lag = match shared.lag() {
        ..=0 => "up to date".to_owned(),
        1 => "1 revision behind".to_owned(),
        lag => format!("{} revisions behind", HumanCount(lag.cast_unsigned())),
    };
    format!("revision {}, {rate:.1} changes/s, {} in {} files, {lag}", recorded.revision, HumanBytes(recorded.bytes), recorded.files)
}

#[cfg(test)]
mod tests {
    use ketcd_store::Revision;
    use ketcd_store::recording::Recorded;

    use super::*;

    #[test]
    fn the_line_says_revision_rate_bytes_and_lag() {
        let recorded = Recorded { revision: Revision(4711), changes: 12, bytes: 3 << 20, files: 2 };
        let shared = Shared::new(recorded, Revision(4711));
        assert_eq!(line(&shared, 12.34), "revision 4711, 12.3 changes/s, 3.00 MiB in 2 files, up to date");
        shared.newest.store(9000, Ordering::Relaxed);
        assert_eq!(line(&shared, 0.0), "revision 4711, 0.0 changes/s, 3.00 MiB in 2 files, 4,289 revisions behind");
    }
}
