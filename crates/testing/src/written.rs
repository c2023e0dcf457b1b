//! Databases of a few changes, one a revision, in which keys and values are what a test wants them to be.

use crate::etcd_file::Record;
use crate::snapshot;

/// A history that is being written. Its first change has revision 2, as in an etcd.
#[derive(Debug, Default)]
pub struct Written(Vec<WrittenChange>);

#[derive(Debug)]
struct WrittenChange {
    key: Vec<u8>,
    value: Option<Vec<u8>>,
    create_revision: i64,
    version: i64,
}

impl Written {
    /// Returns a history in which each of these keys is written once.
    pub fn of(values: &[(&str, &str)]) -> Self {
        let mut written = Self::default();
        values.iter().for_each(|(key, value)| written.put(key, value));
        written
    }

    /// Writes a key.
    pub fn put(&mut self, key: &str, value: impl AsRef<[u8]>) {
        let last = self.0.iter().rev().find(|change| change.key == key.as_bytes()).filter(|change| change.value.is_some());
        let (create_revision, version) = last.map_or((self.next(), 1), |last| (last.create_revision, last.version + 1));
        self.0.push(WrittenChange { key: key.into(), value: Some(value.as_ref().to_vec()), create_revision, version });
    }

    /// Deletes a key.
    pub fn delete(&mut self, key: &str) {
        self.0.push(WrittenChange { key: key.into(), value: None, create_revision: 0, version: 0 });
    }

    /// Returns the database file.
    pub fn finish(&self) -> Vec<u8> {
        let changes = self.0.iter().zip(2..).map(|(change, mod_revision)| Record {
            key: &change.key,
            value: change.value.as_deref(),
            create_revision: change.create_revision,
            mod_revision,
            sub_revision: 0,
            version: change.version,
            lease: 0,
        });
        let records: Vec<Record<'_>> = changes.collect();
        snapshot::database(&records, self.next() - 1, None, false)
    }

    /// The revision of the next change.
    fn next(&self) -> i64 {
        self.0.len() as i64 + 2
    }
}
