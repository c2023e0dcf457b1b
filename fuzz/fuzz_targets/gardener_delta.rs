//! The parser `gardener_delta` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("gardener_delta");
