//! The rules on made-up stores, each on a healthy case and on one that was tampered with, and on recorded clusters.

mod calls;
mod captures;
mod exempt;
mod identities;
mod made_up_lives;
mod made_up_seals;
mod objects;
mod store;
mod values;
