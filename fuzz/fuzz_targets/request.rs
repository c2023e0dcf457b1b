//! The parser `request` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("request");
