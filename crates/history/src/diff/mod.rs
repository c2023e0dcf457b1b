//! What changed between two versions of an object, matching list items by the keys Kubernetes gives them.
//!
//! [`patch`] is for programs: RFC 6902, exact. [`fields`] is for people: each changed field once, with the value before and after.
//! [`object_patch`] and [`object_fields`] take whole objects and see changes of masked values too.

mod align;
mod field;
mod keys;
mod masked_values;
mod patch;

pub use align::{Alignment, align};
pub use field::{Detail, Field, FieldChange, FieldPath, Segment, fields};
pub use keys::label;
pub use masked_values::{object_fields, object_patch};
pub use patch::{ManagedFields, patch};
