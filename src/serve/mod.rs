//! `ketcd serve`: the data as a read-only Kubernetes API, so that kubectl, k9s and other clients work on it.
//!
//! It knows a [`Data`] and the table renderer, and is known by `cli::commands::serve` alone, but for [`Versions`], which `cli::extraction` asks too. A request goes through [`access`], [`path`],
//! [`authorization`] where it impersonates a user, and [`router`] to what answers it: [`discovery`], [`get`], [`list`], [`watch`], [`reviews`].

mod accept;
mod access;
mod action;
mod address;
mod app;
mod asker;
mod authorization;
mod call;
mod continuation;
mod convert;
mod data;
mod discovery;
mod door;
mod fields;
mod frames;
mod get;
mod kubeconfig;
mod limits;
mod list;
mod newcomers;
mod objects;
mod openapi;
mod outflow;
mod params;
mod path;
mod protobuf;
mod replay;
mod resources;
mod reviews;
mod router;
mod scale;
mod server;
mod status;
mod table;
mod tls;
mod version;
mod versions;
mod watch;
mod websocket;

pub(crate) use data::Data;
pub use door::read_request;
pub(crate) use kubeconfig::is_own as is_own_kubeconfig;
pub(crate) use limits::threads;
pub(crate) use server::{Options, Server};
pub(crate) use tls::CertificateFiles;
pub(crate) use versions::Versions;
