#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod addresses;
mod choice;
mod encodings;
mod fields;
mod images;
mod keyed;
mod leaks;
mod managed_fields;
mod mask;
mod memo;
mod names;
mod ordered;
mod own_words;
mod redactor;
mod report;
mod secrets;
mod shapes;
mod tally;
mod values;
mod vocabulary;
mod walk;
mod words;

pub use choice::{Choice, Class, Error};
pub use leaks::{Encoding, Leak, SearchedTokens};
pub use redactor::Redactor;
pub use report::{ClassReport, PathCount, Report};
