//! The rows of one table on their way into files: a file for each day, and none for revisions that the dataset has already.

use jiff::Timestamp;

use super::coverage::{Covered, Span};
use super::dataset::Dataset;
use super::row_file::RowFile;
use crate::cli::outcome::Result;
use ketcd_render::contract::export::{ExportedFile, ExportedTable, Row, Table};

/// What Hive calls the partition of rows without a value. pandas cannot read a table that has it beside others (pyarrow: "Cannot yet unify dictionaries
/// with nulls"), so it is taken only where nothing at all is dated.
const UNDATED_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// Writes the rows of one table, which come in the order of their revisions.
pub(super) struct TableWriter<'d> {
    dataset: &'d Dataset,
    table: Table,
    covered: Covered,
    open: Option<OpenFile>,
    /// The day of the row before; rows that nothing dates lie there too.
    day: Option<String>,
    written: Vec<ExportedFile>,
    rows_present: u64,
}

struct OpenFile {
    day: String,
    span: Span,
    rows: u64,
    file: RowFile,
}

impl<'d> TableWriter<'d> {
    /// Looks up what the dataset has of a table.
    pub(super) async fn new(dataset: &'d Dataset, table: Table) -> Result<Self> {
        let covered = dataset.covered(table).await?;
        Ok(Self { dataset, table, covered, open: None, day: None, written: Vec::new(), rows_present: 0 })
    }

    /// Says when the first row that is dated was written, for those before it that are not.
    pub(super) fn beginning(self, first: Option<Timestamp>) -> Self {
        Self { day: first.map(day), ..self }
    }

    /// Whether the dataset has the rows of a revision already.
    pub(super) fn has(&self, revision: i64) -> bool {
        self.covered.contains(revision)
    }

    /// The revisions that the dataset has already.
    pub(super) fn covered(&self) -> &Covered {
        &self.covered
    }

    /// Adds a row of a revision, unless the dataset has it. `time`: the moment of the revision, as far as it is known.
    pub(super) fn push<R: Row>(&mut self, row: &R, revision: i64, time: Option<Timestamp>) -> Result<()> {
        if self.has(revision) {
            return self.skip();
        }
        let day = time.map(day).or_else(|| self.day.clone()).unwrap_or_else(|| UNDATED_PARTITION.to_owned());
        self.day = Some(day.clone());
        if self.open.as_ref().is_some_and(|open| open.day != day) {
            self.end_file()?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            closed => {
                let file = RowFile::new::<R>(self.dataset.format(), self.dataset.temporary(self.table, &day)?)?;
                closed.insert(OpenFile { day, span: Span::of(revision), rows: 0, file })
            }
        };
        open.span.add(revision);
        open.rows += 1;
        open.file.push(row)
    }

    /// Counts a row that the dataset has.
    pub(super) fn skip(&mut self) -> Result<()> {
        self.rows_present += 1;
        // No file covers what another one does.
        self.end_file()
    }

    /// Ends the last file and says what was written.
    pub(super) fn finish(mut self) -> Result<ExportedTable> {
        self.end_file()?;
        Ok(ExportedTable { files: self.written, rows_present: self.rows_present, table: self.table })
    }

    fn end_file(&mut self) -> Result<()> {
        let Some(OpenFile { day, span, rows, file }) = self.open.take() else { return Ok(()) };
        let (path, bytes) = self.dataset.put(self.table, &day, span, file.finish()?)?;
        self.written.push(ExportedFile { bytes, path, rows });
        Ok(())
    }
}

fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}
