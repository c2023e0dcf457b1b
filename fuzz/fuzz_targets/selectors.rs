//! The parser `selectors` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("selectors");
