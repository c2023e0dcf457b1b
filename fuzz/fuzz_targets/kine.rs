//! The parser `kine` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("kine");
