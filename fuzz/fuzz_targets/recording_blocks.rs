//! The parser `recording_blocks` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("recording_blocks");
