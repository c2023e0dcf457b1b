//! HTTP to one API server: connections, credentials, pace and repeats. Only GET requests leave: see [`read_only`].

mod client;
mod connections;
mod dial;
mod failure;
mod pace;
mod read_only;
mod response;
mod tls;

pub(crate) use client::{Client, JSON_ACCEPT, METADATA_ACCEPT};
pub(crate) use failure::Failure;
pub(crate) use pace::{Backoff, jitter};
