//! Databases of a few changes, one a revision, in which keys and objects are what a test wants them to be.

use ketcd_store::{Event, EventKind, KeyValue, Origin, Revision, Sources};
use serde_json::Value;

/// A history that is being written.
#[derive(Default)]
pub(crate) struct Written(Vec<Event>);

impl Written {
    /// Writes a key for the first time.
    pub(crate) fn put(&mut self, key: &str, value: &Value) {
        self.push(key, EventKind::Put, value.to_string());
    }

    /// Deletes a key.
    pub(crate) fn delete(&mut self, key: &str) {
        self.push(key, EventKind::Delete, String::new());
    }

    fn push(&mut self, key: &str, kind: EventKind, value: String) {
        let revision = Revision(self.0.len() as i64 + 2);
        let key_value = KeyValue {
            key: key.as_bytes().to_vec().into(),
            value: value.into_bytes().into(),
            create_revision: revision,
            mod_revision: revision,
            version: i64::from(kind == EventKind::Put),
            replaced: Revision(0),
            lease: 0,
        };
        self.0.push(Event { revision, sub_revision: 0, kind, key_value, origin: Origin::Db, sources: Sources::default() });
    }

    /// The database file.
    pub(crate) fn finish(&self) -> Vec<u8> {
        ketcd_testing::database!(&self.0, self.0.len() as i64 + 1, None, false)
    }
}
