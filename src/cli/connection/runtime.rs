//! The runtime that sources are read on. Ctrl-C ends it where nothing else answers that.

use tokio::runtime::Handle;

use crate::cli::outcome::{Error, Result};
use crate::cli::output::progress;
use crate::cli::system::interrupts;

/// Waits for `work` on a small runtime, or on the one that this thread belongs to; commands without a source never start one.
pub(in crate::cli) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match Handle::try_current() {
        Ok(runtime) => runtime.block_on(work),
        Err(_) => block_on_threads(2, work),
    }
}

/// The same on this many threads.
pub(in crate::cli) fn block_on_threads<T>(threads: usize, work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .map_err(|error| Error::new(format!("cannot start: {error}")))?
        .block_on(async {
            end_at_interrupt();
            work.await
        })
}

/// Ends the process at Ctrl-C, without a line of progress left behind, until another part takes over. Must be called on a tokio runtime.
fn end_at_interrupt() {
    tokio::spawn(async {
        if tokio::signal::ctrl_c().await.is_ok() && !interrupts::are_taken() {
            progress::end();
            std::process::exit(130);
        }
    });
}
