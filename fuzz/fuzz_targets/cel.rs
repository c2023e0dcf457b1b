//! The parser `cel` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("cel");
