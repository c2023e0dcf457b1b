//! The parser `recording_manifest` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("recording_manifest");
