//! From addresses as users type them to keys and back: addresses, the keys of a namespace, resources without a definition, other API
//! servers' keys, the object of a key.

mod addresses;
mod key_subject;
mod namespace;
mod other_prefixes;
mod unlisted;

pub use addresses::joined;
pub use key_subject::KeySubject;
pub(crate) use other_prefixes::OtherPrefixes;
