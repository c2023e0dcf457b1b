#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod authorship;
mod change;
mod forms;
mod join;
mod names;
mod reader;
mod request;
mod rows;
mod splitter;

pub use authorship::{Authors, Authorship, Unexplained};
pub use change::{ChangeFacts, Did, Stamp};
pub use join::{Join, Wanted};
pub use names::Names;
pub use reader::{Damage, FileReport, LogSpan, Reader};
pub use request::{Level, Request, RequestTarget, Verb};
