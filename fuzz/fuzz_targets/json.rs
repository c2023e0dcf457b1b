//! The parser `json` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("json");
