//! The parser `encryption_configuration` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("encryption_configuration");
