//! The parser `audit_log` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("audit_log");
