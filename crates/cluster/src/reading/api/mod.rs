//! What an API server of a cluster serves at a revision: its resources, their stored objects, and what RBAC allows.

mod decoder;
mod definitions;
mod objects;
mod policy;

pub use definitions::Definitions;
pub use objects::StoredObjects;
pub use policy::policy;
