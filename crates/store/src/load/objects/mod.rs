//! API objects as kubectl prints them: a `List`, one object, a YAML stream or lines of JSON. All files of them together are the state of one
//! moment: one revision, no history.
//!
//! Objects are read one by one. Of JSON only the places are kept, as it can be read where it lies; what comes as YAML, or lacks its kind, is kept as
//! compact JSON.

mod collection;
mod configuration;
#[cfg(feature = "objects")]
mod container_log;
mod copies;
#[cfg(feature = "objects")]
mod document;
mod finish;
mod guess;
#[cfg(feature = "objects")]
mod json;
mod path_kind;
#[cfg(feature = "objects")]
mod printed_text;
#[cfg(feature = "objects")]
mod reading;
#[cfg(feature = "objects")]
mod surroundings;
#[cfg(feature = "objects")]
mod yaml;

pub(super) use collection::Objects;
pub(super) use path_kind::PathKind;
