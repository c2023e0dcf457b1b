//! The index of one file as a message, column by column, to be kept without the file's values.

use std::sync::Arc;

use bytes::Bytes;
use prost::Message;

use super::builder::group_by_key;
use super::{Layer, Version, VersionBytes, Versions, Volatile};
use crate::{Origin, Revision, RevisionSpan};

/// An index whose values lie in one file.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct KeptVersions {
    #[prost(int64, repeated, tag = "1")]
    main: Vec<i64>,
    #[prost(int64, repeated, tag = "2")]
    create_revision: Vec<i64>,
    #[prost(int64, repeated, tag = "3")]
    version: Vec<i64>,
    #[prost(int64, repeated, tag = "4")]
    replaced: Vec<i64>,
    #[prost(int64, repeated, tag = "5")]
    lease: Vec<i64>,
    #[prost(uint64, repeated, tag = "6")]
    value: Vec<u64>,
    #[prost(uint32, repeated, tag = "7")]
    value_length: Vec<u32>,
    #[prost(uint32, repeated, tag = "8")]
    sub: Vec<u32>,
    #[prost(uint32, repeated, tag = "9")]
    key: Vec<u32>,
    /// The layers' bits, above them 1 for what comes from a free page, and 2 for a deletion.
    #[prost(uint32, repeated, tag = "10")]
    flags: Vec<u32>,
    #[prost(bytes = "bytes", tag = "11")]
    key_bytes: Bytes,
    #[prost(uint32, repeated, tag = "12")]
    key_lengths: Vec<u32>,
    /// First and last revision of each, one after the other.
    #[prost(int64, repeated, tag = "13")]
    gaps: Vec<i64>,
    #[prost(int64, repeated, tag = "14")]
    skipped: Vec<i64>,
    #[prost(message, repeated, tag = "15")]
    layers: Vec<KeptLayer>,
}

/// A layer.
#[derive(Clone, PartialEq, Message)]
struct KeptLayer {
    /// Oldest, newest and compacted revision (0: none); empty where the layer answers for none.
    #[prost(int64, repeated, tag = "1")]
    span: Vec<i64>,
    #[prost(bool, tag = "2")]
    is_compaction_finished: bool,
    #[prost(bool, tag = "3")]
    is_compaction_unknown: bool,
}

const FREE_PAGE: u32 = 1 << 16;
const DELETED_FLAG: u32 = 2 << 16;

impl Versions {
    /// What is to be kept of the index.
    pub(crate) fn kept(&self) -> KeptVersions {
        let of = |layer: &Layer| KeptLayer {
            span: layer.span.map_or(Vec::new(), |span| vec![span.oldest.0, span.newest.0, span.compacted.map_or(0, |revision| revision.0)]),
            is_compaction_finished: layer.is_compaction_finished,
            is_compaction_unknown: layer.is_compaction_unknown,
        };
        let flags = |version: &Version| {
            let of_page = if version.origin == Origin::FreePage { FREE_PAGE } else { 0 };
            u32::from(version.layers) | of_page | if version.deleted { DELETED_FLAG } else { 0 }
        };
        let runs = |runs: &[(i64, i64)]| runs.iter().flat_map(|run| [run.0, run.1]).collect();
        let all = &self.versions;
        KeptVersions {
            main: all.iter().map(|version| version.main).collect(),
            create_revision: all.iter().map(|version| version.create_revision).collect(),
            version: all.iter().map(|version| version.version).collect(),
            replaced: all.iter().map(|version| version.replaced).collect(),
            lease: all.iter().map(|version| version.lease).collect(),
            value: all.iter().map(|version| version.value).collect(),
            value_length: all.iter().map(|version| version.value_length).collect(),
            sub: all.iter().map(|version| version.sub).collect(),
            key: all.iter().map(|version| version.key).collect(),
            flags: all.iter().map(flags).collect(),
            key_bytes: self.key_bytes.clone(),
            key_lengths: self.key_starts.windows(2).map(|ends| (ends[1] - ends[0]) as u32).collect(),
            gaps: runs(&self.gaps),
            skipped: runs(&self.skipped),
            layers: self.layers.iter().map(of).collect(),
        }
    }

    /// The index that was kept of a file with these bytes; `None` where it cannot be of them. If they are still being written, `volatile` gives values.
    pub(crate) fn of_kept(kept: KeptVersions, image: Bytes, volatile: Option<Arc<dyn Volatile>>) -> Option<Self> {
        let count = kept.main.len();
        let columns = [
            kept.create_revision.len(),
            kept.version.len(),
            kept.replaced.len(),
            kept.lease.len(),
            kept.value.len(),
            kept.value_length.len(),
            kept.sub.len(),
            kept.key.len(),
            kept.flags.len(),
        ];
        if columns.iter().any(|&length| length != count) {
            return None;
        }
        let version = |place: usize| Version {
            main: kept.main[place],
            create_revision: kept.create_revision[place],
            version: kept.version[place],
            replaced: kept.replaced[place],
            lease: kept.lease[place],
            value: kept.value[place],
            value_length: kept.value_length[place],
            sub: kept.sub[place],
            key: kept.key[place],
            crc: 0,
            image: 0,
            layers: kept.flags[place] as u16,
            origin: if kept.flags[place] & FREE_PAGE != 0 { Origin::FreePage } else { Origin::Db },
            deleted: kept.flags[place] & DELETED_FLAG != 0,
        };
        let versions: Vec<Version> = (0..count).map(version).collect();
        let mut key_starts = vec![0];
        key_starts.extend(kept.key_lengths.iter().scan(0, |end, &length| {
            *end += length as usize;
            Some(*end)
        }));
        let keys = kept.key_lengths.len();
        let lies_in = |version: &Version| {
            let end = version.value.checked_add(u64::from(version.value_length));
            (version.key as usize) < keys && end.is_some_and(|end| end <= image.len() as u64)
        };
        if key_starts.last() != Some(&kept.key_bytes.len()) || !versions.iter().all(lies_in) {
            return None;
        }
        let runs = |runs: &[i64]| runs.chunks_exact(2).map(|run| (run[0], run[1])).collect();
        let (by_key, key_versions) = group_by_key(&versions, keys);
        Some(Self {
            images: vec![VersionBytes { bytes: image, volatile }],
            layers: kept.layers.iter().map(layer_of).collect(),
            versions,
            key_bytes: kept.key_bytes,
            key_starts,
            by_key,
            key_versions,
            gaps: runs(&kept.gaps),
            skipped: runs(&kept.skipped),
            contradicted: Vec::new(),
            _memory: None,
        })
    }
}

fn layer_of(kept: &KeptLayer) -> Layer {
    Layer {
        span: match kept.span[..] {
            [oldest, newest, compacted] => {
                let compacted = Some(compacted).filter(|&revision| revision > 0).map(Revision);
                Some(RevisionSpan { oldest: Revision(oldest), newest: Revision(newest), compacted })
            }
            _ => None,
        },
        one_moment: false,
        is_compaction_finished: kept.is_compaction_finished,
        is_compaction_unknown: kept.is_compaction_unknown,
    }
}
