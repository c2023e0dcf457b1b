//! The parser `yaml` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("yaml");
