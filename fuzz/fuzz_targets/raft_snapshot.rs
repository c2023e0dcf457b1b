//! The parser `raft_snapshot` of `targets::TARGETS`.
#![no_main]

#[macro_use]
mod harness;

target!("raft_snapshot");
