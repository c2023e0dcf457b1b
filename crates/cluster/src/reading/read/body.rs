//! As much of an object as is needed, and what decodes it.

use std::borrow::Cow;
use std::sync::Arc;

use ketcd_history::ObjectVersion;
use ketcd_history::state::Tone;
use ketcd_kube::{Body as Decoded, Decoder, FieldSet, KeyResource, Kind, Object, ObjectPath, Opaque};
use ketcd_store::KeyValue;

use crate::cluster::Cluster;
use crate::selection::Selection;

/// As much of an object as was needed.
pub enum ReadBody {
    /// Nothing.
    None,
    /// Compact JSON with sorted members.
    Text(Vec<u8>),
    /// Its row of a table.
    Row(Row),
    /// The object.
    Object(Arc<Object>),
    /// It could not be decoded.
    Opaque(Opaque),
}

/// A row of a table, made where the object was read.
pub struct Row {
    /// The namespace, then a cell for each column that is shown.
    pub cells: Vec<String>,
    /// How the state of the object should strike the reader.
    pub tone: Tone,
}

impl ReadBody {
    /// The whole object.
    pub fn object(decoder: &Decoder, entry: &KeyValue) -> Self {
        decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body.into()
    }
}

impl From<ObjectVersion> for ReadBody {
    fn from(version: ObjectVersion) -> Self {
        match version {
            ObjectVersion::Object(object) => Self::Object(object),
            ObjectVersion::Opaque(opaque) => Self::Opaque(opaque),
            ObjectVersion::Absent | ObjectVersion::Unreadable => Self::None,
        }
    }
}

impl From<Decoded> for ReadBody {
    fn from(decoded: Decoded) -> Self {
        match decoded {
            Decoded::Object(object) => Self::Object(Arc::new(object)),
            Decoded::Opaque(opaque) => Self::Opaque(opaque),
        }
    }
}

/// What decodes objects for a listing.
pub fn decoder(cluster: &Cluster) -> Decoder {
    let decoder = cluster.reporting_decoder.clone();
    if cluster.options.show_managed_fields { decoder } else { decoder.without_managed_fields() }
}

/// The kind that a key says, where it is known.
pub(super) fn kind_of(key: Option<ObjectPath<'_>>) -> Option<&Arc<Kind>> {
    match key?.resource {
        KeyResource::Known(kind) => Some(kind),
        _ => None,
    }
}

/// What decodes objects of a kind: those of a custom kind are read by its schemas, as API servers do.
pub fn decoder_of<'d>(decoder: &'d Decoder, kind: Option<&Arc<Kind>>) -> Cow<'d, Decoder> {
    match kind.and_then(|kind| kind.schemas.as_ref()) {
        Some(schemas) => Cow::Owned(decoder.clone().with_schemas(Arc::clone(schemas))),
        None => Cow::Borrowed(decoder),
    }
}

/// Whether a stored object fits selectors, which look at these fields. What cannot be decoded fits none.
pub(super) fn fits_stored(
    (selection, looks_at): (&Selection, &FieldSet),
    decoder: &Decoder,
    key: Option<ObjectPath<'_>>,
    entry: &KeyValue,
) -> bool {
    let part = decoder_of(decoder, kind_of(key)).only(looks_at).decode(&entry.key, &entry.value, entry.mod_revision.0);
    part.object().is_some_and(|object| selection.fits(object))
}
