//! Reads stored objects, and recognizes pods of one template by their stored bytes.

use ketcd_kube::{Decoder, Excerpt};

use super::pod::excerpt;

/// What reads the stored objects of a source.
#[derive(Debug)]
pub struct ObjectReader<'d> {
    /// The decoder.
    pub(super) decoder: &'d Decoder,
    /// What the pods of a template share; `None` if the decoder cannot find it in the bytes.
    pub(super) template: Option<Excerpt>,
}

impl<'d> ObjectReader<'d> {
    /// A reader that decodes with `decoder`.
    pub fn new(decoder: &'d Decoder) -> Self {
        Self { decoder, template: excerpt::excerpt(decoder) }
    }
}
