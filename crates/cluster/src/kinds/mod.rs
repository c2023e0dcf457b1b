//! From addresses as users type them to keys: addresses, the keys of a namespace, resources without a definition.

mod addresses;
mod namespace;
mod unlisted;

pub use addresses::joined;
