//! The parser `tar` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("tar");
