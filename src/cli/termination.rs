//! What ends a command that goes on until it is told to stop.

use super::Result;

/// Who asked for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interrupted {
    /// Ctrl-C.
    Keyboard,
    /// A request to terminate.
    Terminate,
}

/// Waits for Ctrl-C or a request to terminate.
pub(super) async fn interrupted() -> Result<Interrupted> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            pressed = tokio::signal::ctrl_c() => pressed?,
            _ = terminate.recv() => return Ok(Interrupted::Terminate),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await?;
    Ok(Interrupted::Keyboard)
}
