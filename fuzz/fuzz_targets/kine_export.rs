//! The parser `kine_export` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("kine_export");
