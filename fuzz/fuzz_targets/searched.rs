//! The parser `searched` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("searched");
