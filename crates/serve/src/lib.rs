#![doc = include_str!("../README.md")]
//!
//! [`ketcd_kube::api`] says what is served, and [`ketcd_cluster::api`] reads it. The rooms, from the ground up; each uses only those above it here:
//! `wire` writes answers, `request` reads what is asked, `data` finds the moment, `access` says who may ask, `answers` has what is answered, and
//! `server` listens and routes.

mod access;
mod answers;
mod data;
mod request;
mod server;
mod wire;

pub use answers::page::{PAGE_SCRIPT, PAGE_STYLE};
pub use request::read_request;
pub use server::{CertificateFiles, Guarded, GuardedOptions, Options, PageOptions, Server, is_own_kubeconfig};
pub use wire::threads;
