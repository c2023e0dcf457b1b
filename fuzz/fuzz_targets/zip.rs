//! The parser `zip` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("zip");
