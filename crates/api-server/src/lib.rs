#![doc = include_str!("../README.md")]

mod follow;
mod kubeconfig;
mod limits;
#[cfg(test)]
mod mock;
mod objects;
mod problem;
mod transport;

pub use follow::ApiServer;
pub use kubeconfig::{Access, Kubeconfig};
pub use objects::{PresentState, WantedResources};
