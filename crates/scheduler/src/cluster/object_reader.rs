//! Reads stored objects, and recognizes pods of one template by their stored bytes.

use ketcd_kube::{Decoder, Excerpt};

use super::pod::excerpt;

/// What reads the stored objects of a source.
#[derive(Debug)]
pub struct ObjectReader {
    /// The decoder. Nothing reads managedFields.
    pub(super) decoder: Decoder,
    /// What the pods of a template share; `None` if the decoder cannot find it in the bytes.
    pub(super) template: Option<Excerpt>,
}

impl ObjectReader {
    /// A reader that decodes with `decoder`.
    pub fn new(decoder: &Decoder) -> Self {
        Self { decoder: decoder.clone().without_managed_fields(), template: excerpt::excerpt(decoder) }
    }
}
