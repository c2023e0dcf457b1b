//! The parser `stored_form` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("stored_form");
