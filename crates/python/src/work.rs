//! A question on a thread of its own. Its lines wait in a queue of bounded length, so that an answer larger than memory can be read.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use ketcd_cluster::Notices;
use ketcd_render::notice;
use pyo3::prelude::*;

use crate::asked::Asked;
use crate::failure::Failure;
use crate::lines::{Lines, Message};
use crate::opened::Opened;
use crate::questions::{self, Question};
use crate::shared::Abandoned;
use crate::waiting;

/// How many lines may wait to be taken.
const MAX_WAITING_LINES: usize = 64;

/// What a command has for its main thread; debug builds recurse deeply.
const STACK_BYTES: usize = 16 << 20;

/// A question under way.
pub(crate) struct Work {
    messages: Mutex<Receiver<Message>>,
    abandoned: Abandoned,
    notices: Arc<Mutex<Vec<String>>>,
}

impl Work {
    /// Asks.
    ///
    /// # Errors
    /// There is no thread for it.
    pub(crate) fn begin(opened: Arc<Opened>, question: Question, asked: Asked) -> Result<Self, Failure> {
        let (sender, receiver) = sync_channel(MAX_WAITING_LINES);
        let (abandoned, notices) = (Abandoned::default(), Arc::new(Mutex::new(Vec::new())));
        let (of_thread, noted) = (abandoned.clone(), Arc::clone(&notices));
        let sink = Notices::new(move |noticed| noted.lock().unwrap_or_else(PoisonError::into_inner).push(notice::words(noticed)));
        let answer = move || {
            let mut lines = Lines::new(sender.clone());
            let work = || opened.block_on(questions::answer(&opened, question, &asked, (sink, of_thread), &mut lines));
            let last = match catch_unwind(AssertUnwindSafe(work)) {
                Ok(Ok(())) => Message::Done,
                Ok(Err(failure)) => Message::Failed(failure),
                Err(_) => Message::Failed(Failure::new("ketcd panicked: this is a bug in ketcd; please report it")),
            };
            // Nobody may wait any more.
            let _ = sender.send(last);
        };
        thread::Builder::new().name("ketcd".to_owned()).stack_size(STACK_BYTES).spawn(answer)?;
        Ok(Self { messages: Mutex::new(receiver), abandoned, notices })
    }

    /// Returns the next line; `None` after the last.
    ///
    /// # Errors
    /// The question failed, or a signal was handled with an exception: then it is abandoned.
    pub(crate) fn next(&self, py: Python<'_>) -> PyResult<Option<Vec<u8>>> {
        match waiting::next(py, &self.messages) {
            Ok(Some(Message::Line(line))) => Ok(Some(line)),
            Ok(Some(Message::Failed(failure))) => Err(failure.raised(py)),
            Ok(Some(Message::Done) | None) => Ok(None),
            Err(error) => {
                self.abandoned.set();
                Err(error)
            }
        }
    }

    /// Takes what was noticed so far.
    pub(crate) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.abandoned.set();
    }
}
