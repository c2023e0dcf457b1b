//! The parser `error_text` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("error_text");
