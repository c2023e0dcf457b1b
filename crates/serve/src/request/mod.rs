//! What a request asks for: its path, its query and its headers, read and checked as an API server does.

mod accept;
mod action;
mod asker;
mod body;
mod continuation;
mod filter;
mod handshake;
mod params;
mod path;
mod route;

pub(crate) use accept::{Accepted, Endpoint, Shape, negotiate};
pub(crate) use action::action;
pub(crate) use asker::Asker;
pub(crate) use body::read_body;
pub(crate) use continuation::Continuation;
pub(crate) use filter::Filter;
pub(crate) use handshake::{Handshake, offered_token};
pub(crate) use params::{Include, Match, Params};
pub(crate) use path::{ApiPath, MomentPath, ResourcePath};
pub use route::read_request;
pub(crate) use route::{api, resource};
