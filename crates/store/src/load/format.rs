//! A row of the table of formats: how a format is recognised, and how it is loaded.

use bytes::Bytes;

use super::image::Image;
use super::indexed_files::Loaded;
use super::objects::Objects;
use super::options::Reading;
use super::problem::LoadProblem;
use crate::SourceKind;
use crate::versions::VersionsBuilder;

pub(super) struct Format {
    /// What a file of it is; `None` where that is what lies in it.
    pub kind: Option<SourceKind>,
    pub recognised: Recognised,
    pub load: fn(&mut Loading<'_, '_>, &str, Image) -> Result<Loaded, LoadProblem>,
}

pub(super) enum Recognised {
    /// By its beginning, for certain.
    Beginning(fn(&[u8]) -> bool),
    /// By all of it; `may_begin` says whether bytes that begin so may be of it.
    Whole { may_begin: fn(&[u8]) -> bool, is_one: fn(&Bytes) -> bool },
}

#[cfg_attr(not(all(feature = "kine", feature = "objects")), allow(dead_code, reason = "some formats do without"))]
pub(super) struct Loading<'a, 'k> {
    pub reading: Reading<'a>,
    pub builder: &'a mut VersionsBuilder,
    pub objects: &'a mut Objects<'k>,
    /// Whether it was opened by its path, so that other files may lie next to it.
    pub has_path: bool,
}

pub(super) fn recognise(formats: &'static [Format], bytes: &Bytes) -> Option<&'static Format> {
    let by_beginning = |format: &&Format| matches!(format.recognised, Recognised::Beginning(is_one) if is_one(bytes));
    let by_whole = |format: &&Format| matches!(format.recognised, Recognised::Whole { is_one, .. } if is_one(bytes));
    formats.iter().find(by_beginning).or_else(|| formats.iter().find(by_whole))
}

/// Whether bytes that begin so may be of one of the formats.
pub(super) fn may_be_one(formats: &[Format], beginning: &[u8]) -> bool {
    formats.iter().any(|format| match format.recognised {
        Recognised::Beginning(is_one) => is_one(beginning),
        Recognised::Whole { may_begin, .. } => may_begin(beginning),
    })
}
