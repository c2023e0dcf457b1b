//! The parser `recording` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("recording");
