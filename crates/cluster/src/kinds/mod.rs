//! From addresses as users type them to keys and back: addresses, the keys of a namespace, resources without a definition, the object of a key.

mod addresses;
mod key_subject;
mod namespace;
mod unlisted;

pub use addresses::joined;
pub use key_subject::KeySubject;
