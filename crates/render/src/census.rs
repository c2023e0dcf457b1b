//! What is stored, without decoding any of it: objects and bytes by kind, and raw keys.

use std::io::{self, Write};

use ketcd_cluster::census::ResourceCount;
use ketcd_store::KeyValue;

use crate::contract::listing::{KindCount, KindCounts};
use crate::table::write_aligned;

/// A table of counts, or of keys with what etcd says of them.
pub struct CensusTable {
    lines: Vec<Vec<String>>,
    headings: usize,
}

impl CensusTable {
    /// Counts and bytes by kind.
    pub fn of_kinds(rows: &[ResourceCount], without_headings: bool) -> Self {
        let mut table = Self::new(["RESOURCE", "OBJECTS", "BYTES"].map(str::to_owned).to_vec(), without_headings);
        table.lines.extend(rows.iter().map(|row| vec![row.resource.clone(), row.objects.to_string(), row.bytes.to_string()]));
        table
    }

    /// Keys, of which there is none yet.
    pub fn of_keys(without_headings: bool) -> Self {
        Self::new(["KEY", "CREATED", "MODIFIED", "VERSION", "LEASE", "BYTES"].map(str::to_owned).to_vec(), without_headings)
    }

    fn new(headings: Vec<String>, without_headings: bool) -> Self {
        let lines = if without_headings { Vec::new() } else { vec![headings] };
        Self { headings: lines.len(), lines }
    }

    /// Adds a key.
    pub fn push_key(&mut self, entry: &KeyValue) {
        let lease = if entry.lease == 0 { "-".to_owned() } else { format!("{:x}", entry.lease) };
        self.lines.push(vec![
            String::from_utf8_lossy(&entry.key).into_owned(),
            entry.create_revision.to_string(),
            entry.mod_revision.to_string(),
            entry.version.to_string(),
            lease,
            entry.value.len().to_string(),
        ]);
    }

    /// How many rows there are below the headings.
    pub fn len(&self) -> usize {
        self.lines.len() - self.headings
    }

    /// Whether there are headings alone.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the table; the cells after the first are numbers, which end below each other.
    ///
    /// # Errors
    /// The stream's.
    pub fn write(mut self, out: &mut dyn Write) -> io::Result<()> {
        for column in 1..self.lines.first().map_or(0, Vec::len) {
            let width = self.lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
            self.lines.iter_mut().for_each(|line| line[column] = format!("{:>width$}", line[column]));
        }
        write_aligned(&self.lines, out)
    }
}

/// Returns a document for each kind.
pub fn documents(rows: &[ResourceCount]) -> impl Iterator<Item = KindCount<'_>> {
    rows.iter().map(|row| KindCount { bytes: row.bytes, kind: row.kind.as_deref(), objects: row.objects, resource: &row.resource })
}

/// Returns the one document of all kinds.
pub fn document(rows: &[ResourceCount]) -> KindCounts<'_> {
    KindCounts { kind: "List", items: documents(rows).collect() }
}
