//! The parser `assistant_call` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("assistant_call");
