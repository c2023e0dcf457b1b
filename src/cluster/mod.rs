//! All objects at one revision, as a scheduler sees them.
