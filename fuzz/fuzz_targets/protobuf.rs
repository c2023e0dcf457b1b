//! The parser `protobuf` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("protobuf");
