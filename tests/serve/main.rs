//! `ketcd serve`: the real binary on recorded clusters, asked over HTTP.

mod access;
mod assistant;
mod collections;
mod custom_resources;
mod discovery;
mod help;
mod hostile;
mod impersonation;
mod ketcd;
mod kubectl;
mod memory;
mod moments;
mod objects;
mod openapi;
mod openshift;
mod page;
mod protobuf;
mod read_back;
mod replay;
#[path = "../contracts/schema.rs"]
#[allow(dead_code, reason = "the contracts ask it for more")]
mod schema;
mod server;
mod signals;
mod tables;
mod watches;
mod websockets;
