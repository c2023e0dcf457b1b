//! How answers are written: documents, failures and frames in JSON, YAML and protobuf, and how many are written at once.

mod document;
mod encoding;
mod frames;
mod protobuf;
mod status;
mod turns;

pub(crate) use document::{append_json, respond, respond_failure};
pub(crate) use encoding::Encoding;
pub(crate) use frames::{Framing, WatchResponse, append_line};
pub(crate) use protobuf::ListEncoder;
pub(crate) use status::{EXPIRED_LIST, EXPIRED_WATCH, Result, Status};
pub(crate) use turns::Turns;
pub use turns::threads;
