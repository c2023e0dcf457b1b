//! The first question of an incident, worked out before it is asked: of a large cluster `triage` takes seconds, and an assistant is often started long before
//! it asks. A client that asks something else does not wait for it: it is given up.

use ketcd_mcp::{Question, read_call};
use ketcd_store::{At, KeyRange, Shortcuts};
use serde_json::Map;

use super::kept::is_same;
use crate::cli::connection::interruptible::{Interrupt, Interruptible};
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::opened::OpenedSource;
use crate::cli::outcome::Result;

/// A cluster of fewer keys is triaged at once.
pub(super) const MIN_KEYS: u64 = 20_000;

/// The question that is worked out ahead.
pub(super) struct Ahead {
    pub question: Question,
    /// The flags of the server, with its source as long as nobody asks something else.
    pub global: GlobalArgs,
    interrupt: Interrupt,
    min_keys: u64,
}

impl Ahead {
    /// Reads the source that the flags hold open, if it has at least this many keys; `None` where they hold none.
    pub(super) fn new(global: &GlobalArgs, min_keys: u64) -> Option<Self> {
        let question = read_call("triage", Map::new()).ok()?;
        let interrupt = Interrupt::default();
        let opened = global.opened.as_ref()?;
        let until = Interruptible::new(Box::new(opened.clone()), interrupt.clone());
        let opened = OpenedSource::new(Box::new(until), opened.newest_stamp(), opened.logs());
        Some(Self { question, global: GlobalArgs { opened: Some(opened), ..global.clone() }, interrupt, min_keys })
    }

    /// Whether the cluster is so large that this is worth it, and nobody has asked something else.
    ///
    /// # Errors
    /// The source's.
    pub(super) async fn is_wanted(&self) -> Result<bool> {
        let Some(opened) = &self.global.opened else { return Ok(false) };
        Ok(opened.count(KeyRange::all(), At::Newest).await? >= self.min_keys && !self.is_given_up())
    }

    /// Gives it up for another question.
    pub(super) fn make_way(&self, asked: &Question) {
        if !is_same(&self.question, asked) {
            self.give_up();
        }
    }

    /// Gives it up.
    pub(super) fn give_up(&self) {
        self.interrupt.end();
    }

    /// Whether it was given up: what was found by then is not the answer.
    pub(super) fn is_given_up(&self) -> bool {
        self.interrupt.is_set()
    }
}
