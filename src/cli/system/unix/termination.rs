//! What ends a command that continues until it is told to stop.

use crate::cli::outcome::Result;
use crate::cli::system::interruption::{Interrupted, interrupts};

/// The requests to end, from when it was made on: none is missed, and none ends the process by itself.
pub(in crate::cli) struct Interruptions {
    signals: [(tokio::signal::unix::Signal, Interrupted); 2],
    /// `None` where the process was started to outlive its terminal (nohup).
    hangup: Option<tokio::signal::unix::Signal>,
}

impl Interruptions {
    /// Begins to wait. Must be called on a tokio runtime.
    pub(in crate::cli) fn begin() -> Result<Self> {
        interrupts::take_over();
        use tokio::signal::unix::{SignalKind, signal};
        let hangup = if ignores_hangup() { None } else { Some(signal(SignalKind::hangup())?) };
        let keyboard = (signal(SignalKind::interrupt())?, Interrupted::Keyboard);
        Ok(Self { signals: [keyboard, (signal(SignalKind::terminate())?, Interrupted::Terminate)], hangup })
    }

    /// Waits for the next request.
    pub(in crate::cli) async fn next(&mut self) -> Interrupted {
        let [(keyboard, pressed), (terminate, asked)] = &mut self.signals;
        let hung_up = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = keyboard.recv() => *pressed,
            _ = terminate.recv() => *asked,
            _ = hung_up => Interrupted::Terminate,
        }
    }
}

/// Whether the process was started with SIGHUP ignored, as nohup does it.
fn ignores_hangup() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores(&status, 1))
}

/// Whether a signal is among those that `/proc/PID/status` has as ignored.
fn ignores(status: &str, signal: u32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).map(|mask| u64::from_str_radix(mask.trim(), 16));
    matches!(mask, Some(Ok(mask)) if mask & (1 << (signal - 1)) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read() {
        let status = |mask: &str| format!("Name:\tketcd\nSigBlk:\tffffffffffffffff\nSigIgn:\t{mask}\nSigCgt:\tffffffffffffffff\n");
        assert!(ignores(&status("0000000000001001"), 1) && ignores(&status("0000000000001001"), 13));
        assert!(!ignores(&status("0000000000001000"), 1) && !ignores("", 1) && !ignores(&status("x"), 1));
    }
}
