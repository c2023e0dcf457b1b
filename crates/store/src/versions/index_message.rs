//! The index of one file as a message, column by column, to be kept without the file's values.

use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use prost::encoding::{decode_varint, encode_varint};

use super::builder::group_by_key;
use super::{Layer, Version, VersionBytes, Versions, Volatile};
use crate::{Origin, Revision, RevisionSpan};

/// An index whose values lie in one file. Columns of numbers stay packed, where they lie in the kept file, until the index is made of them.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct KeptVersions {
    #[prost(bytes = "bytes", tag = "1")]
    main: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    create_revision: Bytes,
    #[prost(bytes = "bytes", tag = "3")]
    version: Bytes,
    #[prost(bytes = "bytes", tag = "4")]
    replaced: Bytes,
    #[prost(bytes = "bytes", tag = "5")]
    lease: Bytes,
    #[prost(bytes = "bytes", tag = "6")]
    value: Bytes,
    #[prost(bytes = "bytes", tag = "7")]
    value_length: Bytes,
    #[prost(bytes = "bytes", tag = "8")]
    sub: Bytes,
    #[prost(bytes = "bytes", tag = "9")]
    key: Bytes,
    /// The layers' bits, above them 1 for what comes from a free page, and 2 for a deletion.
    #[prost(bytes = "bytes", tag = "10")]
    flags: Bytes,
    #[prost(bytes = "bytes", tag = "11")]
    key_bytes: Bytes,
    #[prost(bytes = "bytes", tag = "12")]
    key_lengths: Bytes,
    /// First and last revision of each, one after the other.
    #[prost(int64, repeated, tag = "13")]
    gaps: Vec<i64>,
    #[prost(int64, repeated, tag = "14")]
    skipped: Vec<i64>,
    #[prost(message, repeated, tag = "15")]
    layers: Vec<KeptLayer>,
}

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

const FREE_PAGE: u64 = 1 << 16;
const DELETED_FLAG: u64 = 2 << 16;

/// Numbers as a packed field of protobuf holds them.
fn packed(numbers: impl Iterator<Item = u64>) -> Bytes {
    let mut packed = Vec::new();
    numbers.for_each(|number| encode_varint(number, &mut packed));
    packed.into()
}

/// How many numbers are packed in a column.
fn count(column: &[u8]) -> usize {
    /// Set in each byte of a number but the last.
    const CONTINUES: u8 = 0x80;
    column.iter().filter(|&&byte| byte < CONTINUES).count()
}

/// The next number of each column.
fn next_row<const COLUMNS: usize>(columns: &mut [&[u8]; COLUMNS]) -> Option<[u64; COLUMNS]> {
    let mut row = [0; COLUMNS];
    for (number, column) in row.iter_mut().zip(columns) {
        *number = decode_varint(column).ok()?;
    }
    Some(row)
}

/// Where pieces of these lengths begin that lie side by side, and where the last one ends.
fn starts(lengths: &[u8]) -> Option<Vec<usize>> {
    let mut starts = Vec::with_capacity(count(lengths) + 1);
    let (mut end, mut lengths) = (0_usize, [lengths]);
    starts.push(end);
    while !lengths[0].is_empty() {
        let [length] = next_row(&mut lengths)?;
        end = end.checked_add(usize::try_from(length).ok()?)?;
        starts.push(end);
    }
    Some(starts)
}

impl Versions {
    pub(crate) fn kept(&self) -> KeptVersions {
        let of = |layer: &Layer| KeptLayer {
            span: layer.span.map_or(Vec::new(), |span| vec![span.oldest.0, span.newest.0, span.compacted.map_or(0, |revision| revision.0)]),
            is_compaction_finished: layer.is_compaction_finished,
            is_compaction_unknown: layer.is_compaction_unknown,
        };
        let flags = |version: &Version| {
            let of_page = if version.origin == Origin::FreePage { FREE_PAGE } else { 0 };
            u64::from(version.layers) | of_page | if version.deleted { DELETED_FLAG } else { 0 }
        };
        let column = |of: fn(&Version) -> u64| packed(self.versions.iter().map(of));
        let runs = |runs: &[(i64, i64)]| runs.iter().flat_map(|run| [run.0, run.1]).collect();
        KeptVersions {
            main: column(|version| version.main.cast_unsigned()),
            create_revision: column(|version| version.create_revision.cast_unsigned()),
            version: column(|version| version.version.cast_unsigned()),
            replaced: column(|version| version.replaced.cast_unsigned()),
            lease: column(|version| version.lease.cast_unsigned()),
            value: column(|version| version.value),
            value_length: column(|version| version.value_length.into()),
            sub: column(|version| version.sub.into()),
            key: column(|version| version.key.into()),
            flags: packed(self.versions.iter().map(flags)),
            key_bytes: self.key_bytes.clone(),
            key_lengths: packed(self.key_starts.windows(2).map(|ends| (ends[1] - ends[0]) as u64)),
            gaps: runs(&self.gaps),
            skipped: runs(&self.skipped),
            layers: self.layers.iter().map(of).collect(),
        }
    }

    /// The index that was kept of a file with these bytes; `None` where it cannot be of them. If they are still being written, `volatile` gives values.
    pub(crate) fn of_kept(kept: KeptVersions, image: Bytes, volatile: Option<Arc<dyn Volatile>>) -> Option<Self> {
        let columns = [
            &kept.main,
            &kept.create_revision,
            &kept.version,
            &kept.replaced,
            &kept.lease,
            &kept.value,
            &kept.value_length,
            &kept.sub,
            &kept.key,
            &kept.flags,
        ];
        let mut columns = columns.map(|column| &column[..]);
        let mut versions = Vec::with_capacity(count(&kept.main));
        while !columns[0].is_empty() {
            let [main, create_revision, version, replaced, lease, value, value_length, sub, key, flags] = next_row(&mut columns)?;
            versions.push(Version {
                main: main.cast_signed(),
                create_revision: create_revision.cast_signed(),
                version: version.cast_signed(),
                replaced: replaced.cast_signed(),
                lease: lease.cast_signed(),
                value,
                value_length: u32::try_from(value_length).ok()?,
                sub: u32::try_from(sub).ok()?,
                key: u32::try_from(key).ok()?,
                crc: 0,
                image: 0,
                layers: flags as u16,
                origin: if flags & FREE_PAGE != 0 { Origin::FreePage } else { Origin::Db },
                deleted: flags & DELETED_FLAG != 0,
            });
        }
        let key_starts = starts(&kept.key_lengths)?;
        let keys = key_starts.len() - 1;
        let lies_in = |version: &Version| {
            let end = version.value.checked_add(u64::from(version.value_length));
            (version.key as usize) < keys && end.is_some_and(|end| end <= image.len() as u64)
        };
        if columns.iter().any(|column| !column.is_empty())
            || key_starts.last() != Some(&kept.key_bytes.len())
            || !versions.iter().all(lies_in)
        {
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
