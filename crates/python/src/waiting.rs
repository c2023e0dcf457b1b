//! Waiting for another thread without Python's lock, and with an eye on signals: Ctrl-C ends the waiting.

use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use pyo3::prelude::*;

/// How long nobody looks for signals: Ctrl-C is answered within a tenth of a second.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(40);

/// Returns what comes next; `None` where the other thread ended.
///
/// # Errors
/// What a handler of a signal raised, such as `KeyboardInterrupt`.
pub(crate) fn next<T: Send>(py: Python<'_>, receiver: &std::sync::Mutex<Receiver<T>>) -> PyResult<Option<T>> {
    let receive = |wait: Option<Duration>| {
        let receiver = receiver.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match wait {
            None => receiver.try_recv().map_err(|error| error == TryRecvError::Disconnected),
            Some(wait) => receiver.recv_timeout(wait).map_err(|error| error == RecvTimeoutError::Disconnected),
        }
    };
    let mut received = py.detach(|| receive(None));
    loop {
        match received {
            Ok(item) => return Ok(Some(item)),
            Err(true) => return Ok(None),
            Err(false) => py.check_signals()?,
        }
        received = py.detach(|| receive(Some(SIGNAL_CHECK_INTERVAL)));
    }
}
