//! The parser `wal` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("wal");
