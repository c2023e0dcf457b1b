//! What ends a command that continues until it is told to stop.

use crate::cli::outcome::Result;
use crate::cli::system::interruption::{Interrupted, interrupts};

/// Ctrl-C, from when it was made on.
pub(in crate::cli) struct Interruptions;

impl Interruptions {
    /// Begins to wait.
    ///
    /// # Errors
    /// There is none.
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
    pub(in crate::cli) fn begin() -> Result<Self> {
        interrupts::take_over();
        Ok(Self)
    }

    /// Waits for the next request.
    pub(in crate::cli) async fn next(&mut self) -> Interrupted {
        let _ = tokio::signal::ctrl_c().await;
        Interrupted::Keyboard
    }
}
