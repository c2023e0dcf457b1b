//! The parser `bolt` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("bolt");
