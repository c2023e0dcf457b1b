//! The parser `cbor` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("cbor");
