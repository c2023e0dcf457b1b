//! Reads stored objects, and tells pods of one template by their stored bytes.

use ketcd_kube::{Decoder, Excerpt};

use super::pod::template;

/// What reads the stored objects of a source.
#[derive(Debug)]
pub struct ObjectReader<'d> {
    /// The decoder.
    pub(super) decoder: &'d Decoder,
    /// What the pods of a template share; `None` where the decoder cannot tell it from the bytes.
    pub(super) template: Option<Excerpt>,
}

impl<'d> ObjectReader<'d> {
    /// A reader that decodes with `decoder`.
    pub fn new(decoder: &'d Decoder) -> Self {
        Self { decoder, template: template::excerpt(decoder) }
    }
}
