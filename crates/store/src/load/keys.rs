//! The keys of etcd as files, one each, with the value as it was stored: the state of one moment, of which no key's own revision is known.

use bytes::Bytes;

use super::db_file::DatabaseFacts;
use crate::versions::{Layer, Location, StoredChange, VersionsBuilder};
use crate::{EventKind, Origin, Revision, RevisionSpan};

/// Puts keys with their values, the state at `revision`, into the index.
///
/// # Errors
///
/// A fragment: there are too many files, or a value is too long.
pub(super) fn load(keys: &[(String, Bytes)], revision: i64, builder: &mut VersionsBuilder) -> Result<DatabaseFacts, String> {
    const TOO_MANY: &str = "too many files at once";
    let mut text = Vec::with_capacity(keys.iter().map(|(key, value)| key.len() + value.len()).sum());
    let mut places = Vec::with_capacity(keys.len());
    for (key, value) in keys {
        places.push([key.as_bytes(), value].map(|bytes| {
            text.extend_from_slice(bytes);
            (text.len() - bytes.len(), bytes.len())
        }));
    }
    let file_bytes = text.len() as u64;
    let image = builder.image(text.into()).ok_or(TOO_MANY)?;
    let layer = builder.layer(Layer { one_moment: true, ..Layer::default() }).ok_or(TOO_MANY)?;
    builder.set_span(layer, RevisionSpan { oldest: Revision(revision), newest: Revision(revision), compacted: None });
    for (sub, [key, value]) in (0..).zip(places) {
        let place = |(start, length): (usize, usize)| {
            let length = u32::try_from(length).map_err(|_| "one of its values is longer than etcd takes".to_owned())?;
            Ok::<_, String>(Location { image, start: start as u64, length })
        };
        let (key, value) = (place(key)?, place(value)?);
        let unknown = StoredChange {
            main: 0,
            sub,
            kind: EventKind::Put,
            origin: Origin::Objects,
            key,
            value,
            create_revision: 0,
            version: 0,
            replaced: 0,
            lease: 0,
        };
        builder.push(layer, unknown);
    }
    let left_out = vec![format!("it holds keys and values of revision {revision}, not at which revision each was written")];
    Ok(DatabaseFacts { file_bytes, in_use_bytes: file_bytes, left_out, ..DatabaseFacts::default() })
}
