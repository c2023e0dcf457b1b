//! The parser `scheduler_configuration` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("scheduler_configuration");
