//! The parser `json_path` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("json_path");
