//! The keys of etcd as files, one each, with the value as it was stored: the state of one moment, of which no key's own revision is known.

use bytes::Bytes;

use super::db_file::DatabaseFacts;
use crate::versions::{Layer, Location, StoredChange, VersionsBuilder};
use crate::{EventKind, Origin, Revision, RevisionSpan};

#[derive(Default)]
pub(super) struct Keys {
    pub pairs: Vec<(Bytes, Bytes)>,
    /// The revision that they are the state of, where that is known.
    pub revision: Option<i64>,
    /// What is missing, each a sentence.
    pub damage: Vec<String>,
}

/// Puts keys with their values into the index.
///
/// # Errors
///
/// A fragment: there are too many files, or a value is too long.
pub(super) fn load(Keys { pairs: keys, revision, damage }: Keys, builder: &mut VersionsBuilder) -> Result<DatabaseFacts, String> {
    const TOO_MANY: &str = "too many files at once";
    let mut text = Vec::with_capacity(keys.iter().map(|(key, value)| key.len() + value.len()).sum());
    let mut places = Vec::with_capacity(keys.len());
    for (key, value) in &keys {
        places.push([key, value].map(|bytes| {
            text.extend_from_slice(bytes);
            (text.len() - bytes.len(), bytes.len())
        }));
    }
    let file_bytes = text.len() as u64;
    let image = builder.image(text.into()).ok_or(TOO_MANY)?;
    let layer = builder.layer(Layer { one_moment: true, ..Layer::default() }).ok_or(TOO_MANY)?;
    let at = Revision(revision.unwrap_or(1));
    builder.set_span(layer, RevisionSpan { oldest: at, newest: at, compacted: None });
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
            crc: 0,
        };
        builder.push(layer, unknown);
    }
    let notes = vec![match revision {
        Some(revision) => format!("it holds keys and values of revision {revision}, not at which revision each was written"),
        None => "it holds keys and values without revisions: they are shown as the state of one moment, at revision 1".to_owned(),
    }];
    Ok(DatabaseFacts { file_bytes, in_use_bytes: file_bytes, notes, damage, ..DatabaseFacts::default() })
}
