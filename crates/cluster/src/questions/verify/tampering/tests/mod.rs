//! The rules on made-up stores, each on a healthy case and on one that was tampered with, and on recorded clusters.

mod calls;
mod captures;
mod exempt;
mod identities;
mod objects;
mod store;
mod values;
