//! The parser `dqlite` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("dqlite");
