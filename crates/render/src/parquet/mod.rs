//! Rows to Parquet: groups of rows are gathered column by column and written when they are large enough, so that memory does not grow with the table.

mod batch;
mod field;

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use serde::Serialize;

use super::columns::{ColumnType, TableColumn, columns};
use super::contract::export::Row;
use batch::ColumnBatch;

/// A group of rows is written when its values take this many bytes: readers work group by group, and the writer holds one group.
const GROUP_BYTES: usize = 16 << 20;
/// A group is written when it has this many rows, too.
const GROUP_ROWS: usize = 128 << 10;

/// A file of one table.
pub struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    batch: ColumnBatch,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file for the rows of `R`.
    ///
    /// # Errors
    /// The stream's.
    pub fn new<R: Row>(out: W) -> io::Result<Self> {
        let columns = columns(R::TABLE);
        let schema = schema(R::TABLE.name(), &columns).map_err(io_error)?;
        let file = SerializedFileWriter::new(out, schema, Arc::new(properties(&columns))).map_err(io_error)?;
        Ok(Self { file, batch: ColumnBatch::new(columns) })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The stream's.
    pub fn push(&mut self, row: &impl Serialize) -> io::Result<()> {
        self.batch.push(row)?;
        if self.batch.bytes() >= GROUP_BYTES || self.batch.rows() >= GROUP_ROWS { self.end_group() } else { Ok(()) }
    }

    /// Ends the file and returns the stream.
    ///
    /// # Errors
    /// The stream's.
    pub fn finish(mut self) -> io::Result<W> {
        self.end_group()?;
        self.file.into_inner().map_err(io_error)
    }

    fn end_group(&mut self) -> io::Result<()> {
        if self.batch.rows() == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group().map_err(io_error)?;
        self.batch.write(&mut group).map_err(io_error)?;
        group.close().map_err(io_error)?;
        Ok(())
    }
}

fn schema(name: &str, columns: &[TableColumn]) -> parquet::errors::Result<TypePtr> {
    let fields = columns.iter().map(|column| {
        let (physical, logical) = match column.kind {
            ColumnType::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            ColumnType::Json => (PhysicalType::BYTE_ARRAY, Some(LogicalType::Json)),
            ColumnType::Integer => (PhysicalType::INT64, None),
            ColumnType::Time => (PhysicalType::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
            ColumnType::Number => (PhysicalType::DOUBLE, None),
            ColumnType::Boolean => (PhysicalType::BOOLEAN, None),
        };
        let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let field = Type::primitive_type_builder(&column.name, physical).with_repetition(repetition).with_logical_type(logical);
        field.build().map(Arc::new)
    });
    let fields = fields.collect::<parquet::errors::Result<Vec<TypePtr>>>()?;
    Ok(Arc::new(Type::group_type_builder(name).with_fields(fields).build()?))
}

/// How a file is written. The same rows give the same bytes, whenever and wherever they are written.
fn properties(columns: &[TableColumn]) -> WriterProperties {
    let compression = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder()
        .set_created_by(concat!("ketcd ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(compression)
        .set_statistics_enabled(EnabledStatistics::Page);
    // Documents seldom repeat, and nobody looks for the first or the last of them.
    let documents = columns.iter().filter(|column| column.kind == ColumnType::Json);
    let properties = documents.fold(properties, |properties, column| {
        let path = ColumnPath::from(column.name.as_str());
        properties.set_column_dictionary_enabled(path.clone(), false).set_column_statistics_enabled(path, EnabledStatistics::None)
    });
    properties.build()
}

/// An error of the format's library; one of the stream's stays what it was.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => cause.downcast::<io::Error>().map_or_else(io::Error::other, |error| *error),
        other => io::Error::other(other),
    }
}
