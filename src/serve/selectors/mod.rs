//! Which objects of a collection a request wants.

mod fields;
mod labels;

pub(super) use fields::Fields;
pub(super) use labels::parse as parse_labels;
