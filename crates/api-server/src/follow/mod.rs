//! An API server that is followed: the watches of all resources, merged by revision.

mod frames;
mod order;
mod server;
#[cfg(test)]
mod tests;
mod watcher;

pub use server::ApiServer;
