//! What leaves a redactor: nothing that was to go, and all that rules depend on.

mod canaries;
mod captures;
mod leftovers;
mod properties;
