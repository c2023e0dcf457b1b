//! The parser `packed` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("packed");
