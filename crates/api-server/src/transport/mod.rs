//! HTTP to one API server: connections, credentials, pace and repeats. The only request that can be made is a GET.

mod client;
mod connections;
mod dial;
mod failure;
mod login;
mod pace;
mod response;
mod tls;

pub(crate) use client::{Client, JSON, METADATA};
pub(crate) use failure::Failure;
pub(crate) use pace::{Backoff, jitter};
