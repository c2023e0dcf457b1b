#![doc = include_str!("../README.md")]
//!
//! [`ketcd_kube::api`] says what is served. A request goes through `access`, `path`,
//! `authorization` where it impersonates a user, and `router` to what answers it: `discovery`, `get`, `list`, `watch`, `reviews`.

mod accept;
mod access;
mod action;
mod address;
mod app;
mod asker;
mod authorization;
mod backpressure;
mod call;
mod continuation;
mod discovery;
mod frames;
mod get;
mod kubeconfig;
mod limits;
mod list;
mod newcomers;
mod objects;
mod openapi;
mod params;
mod path;
mod protobuf;
mod replay;
mod reviews;
mod router;
mod scale;
mod served;
mod server;
mod status;
mod table;
mod tls;
mod version;
mod watch;
mod websocket;

pub use kubeconfig::is_own as is_own_kubeconfig;
pub use limits::threads;
pub use router::read_request;
pub use server::{Options, Server};
pub use tls::CertificateFiles;
