//! The parser `etcd_answers` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("etcd_answers");
