#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod authorship;
mod change;
mod container_log;
mod effect;
mod forms;
mod join;
mod names;
mod outcome;
mod patch;
mod placement;
mod reader;
mod request;
mod rotation;
mod rows;
mod splitter;

pub use authorship::{Authors, Authorship, Unexplained};
pub use change::{ChangeFacts, Did, Stamp};
pub use effect::{Made, RequestEffect, effects, may_stay};
pub use join::{Join, Wanted};
pub use names::Names;
pub use outcome::RequestOutcome;
pub use patch::patched;
pub use placement::{Placed, Unplaced, Written, place};
pub use reader::{Damage, FileReport, LogSpan, Reader};
pub use request::{Bodies, Level, Request, RequestTarget, Verb};
pub use rotation::UnfinishedLines;
pub use splitter::LONGEST_RECORD;
