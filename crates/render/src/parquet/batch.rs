//! A group of rows, column by column.

use std::io::{self, Write};

use bytes::Bytes;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::{SerializedColumnWriter, SerializedRowGroupWriter};
use serde::Serialize;

use super::field::RowSerializer;
use crate::columns::{ColumnType, TableColumn};

/// Rows that are not written yet.
pub(super) struct ColumnBatch {
    columns: Vec<Values>,
    rows: usize,
}

/// The values of a column, and which rows have one.
pub(super) struct Values {
    pub(super) column: TableColumn,
    pub(super) data: ColumnData,
    /// 1 for a value, 0 for null; empty for a column without nulls.
    present: Vec<i16>,
}

/// Values of one type; nulls are not among them.
pub(super) enum ColumnData {
    /// Text and documents: all bytes, and where each value ends.
    Bytes(Vec<u8>, Vec<usize>),
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    Booleans(Vec<bool>),
}

impl ColumnBatch {
    /// An empty group.
    pub(super) fn new(columns: Vec<TableColumn>) -> Self {
        let values = columns.into_iter().map(|column| {
            let data = match column.kind {
                ColumnType::Text | ColumnType::Json => ColumnData::Bytes(Vec::new(), Vec::new()),
                ColumnType::Integer | ColumnType::Time => ColumnData::Integers(Vec::new()),
                ColumnType::Number => ColumnData::Numbers(Vec::new()),
                ColumnType::Boolean => ColumnData::Booleans(Vec::new()),
            };
            Values { column, data, present: Vec::new() }
        });
        Self { columns: values.collect(), rows: 0 }
    }

    /// Adds a row: a struct with the columns' fields in their order.
    ///
    /// # Errors
    /// A row of another table, which is a mistake in its type.
    pub(super) fn push(&mut self, row: &impl Serialize) -> io::Result<()> {
        row.serialize(RowSerializer::new(&mut self.columns)).map_err(io::Error::other)?;
        self.rows += 1;
        Ok(())
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn bytes(&self) -> usize {
        self.columns.iter().map(|values| values.data.bytes()).sum()
    }

    /// Writes all rows; none are left.
    pub(super) fn write<W: Write + Send>(&mut self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<()> {
        self.rows = 0;
        for values in &mut self.columns {
            let mut column = group.next_column()?.ok_or_else(|| ParquetError::General("a column too many".to_owned()))?;
            values.write(&mut column)?;
            column.close()?;
        }
        Ok(())
    }
}

impl Values {
    /// Marks the next row as one with or without a value.
    ///
    /// # Errors
    /// A null in a column without nulls, whose name is the error.
    pub(super) fn mark(&mut self, is_present: bool) -> std::result::Result<(), &str> {
        if self.column.nullable {
            self.present.push(i16::from(is_present));
        } else if !is_present {
            return Err(&self.column.name);
        }
        Ok(())
    }

    fn write(&mut self, column: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let present = self.column.nullable.then_some(&self.present[..]);
        match &mut self.data {
            ColumnData::Bytes(bytes, ends) => {
                let all = Bytes::from(std::mem::take(bytes));
                let begins = std::iter::once(0).chain(ends.iter().copied());
                let values: Vec<ByteArray> = begins.zip(ends.iter()).map(|(begin, &end)| all.slice(begin..end).into()).collect();
                column.typed::<ByteArrayType>().write_batch(&values, present, None)?;
                ends.clear();
            }
            ColumnData::Integers(values) => {
                column.typed::<Int64Type>().write_batch(values, present, None)?;
                values.clear();
            }
            ColumnData::Numbers(values) => {
                column.typed::<DoubleType>().write_batch(values, present, None)?;
                values.clear();
            }
            ColumnData::Booleans(values) => {
                column.typed::<BoolType>().write_batch(values, present, None)?;
                values.clear();
            }
        }
        self.present.clear();
        Ok(())
    }
}

impl ColumnData {
    fn bytes(&self) -> usize {
        match self {
            Self::Bytes(bytes, ends) => bytes.len() + ends.len() * size_of::<usize>(),
            Self::Integers(values) => values.len() * size_of::<i64>(),
            Self::Numbers(values) => values.len() * size_of::<f64>(),
            Self::Booleans(values) => values.len(),
        }
    }
}
