//! Lines of JSON as columns of Arrow: batches of rows, made as they come. Text is `string`, times are `timestamp[us, UTC]`, documents are JSON in a `string`:
//! the types that every reader takes.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use jiff::Timestamp;
use ketcd_render::columns::ColumnType;
use pyo3::prelude::*;
use serde_json::Value;

use crate::columns::Column;
use crate::work::Work;

/// A batch has no more rows than this.
const MAX_BATCH_ROWS: usize = 8192;
/// A batch ends when its lines have this many bytes.
const MAX_BATCH_BYTES: usize = 8 << 20;

/// The rows that are left of an answer, as batches.
pub(crate) struct Batches {
    work: Arc<Work>,
    columns: Vec<Column>,
    schema: SchemaRef,
    is_done: bool,
}

impl Batches {
    pub(crate) fn new(work: Arc<Work>, columns: Vec<Column>) -> Self {
        let field = |column: &Column| Field::new(&column.name, data_type(column.kind), true);
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        Self { work, columns, schema, is_done: false }
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let mut builders: Vec<Builder> = self.columns.iter().map(|column| Builder::new(column.kind)).collect();
        let (mut rows, mut bytes) = (0, 0);
        while rows < MAX_BATCH_ROWS && bytes < MAX_BATCH_BYTES {
            // Who reads the stream may hold Python's lock or not.
            let next = Python::attach(|py| self.work.next(py).map_err(|error| ArrowError::ExternalError(Box::new(error))));
            let Some(line) = next? else {
                self.is_done = true;
                break;
            };
            let row: Value = serde_json::from_slice(&line).map_err(|error| ArrowError::JsonError(error.to_string()))?;
            for (column, builder) in self.columns.iter().zip(&mut builders) {
                builder.push(row.pointer(&column.pointer).filter(|value| !value.is_null()));
            }
            rows += 1;
            bytes += line.len();
        }
        if rows == 0 {
            return Ok(None);
        }
        let arrays = builders.into_iter().map(Builder::finish).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), arrays).map(Some)
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let batch = self.batch().transpose();
        self.is_done |= !matches!(batch, Some(Ok(_)));
        batch
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

fn data_type(kind: ColumnType) -> DataType {
    match kind {
        ColumnType::Text | ColumnType::Json => DataType::Utf8,
        ColumnType::Integer => DataType::Int64,
        ColumnType::Number => DataType::Float64,
        ColumnType::Boolean => DataType::Boolean,
        ColumnType::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
    }
}

/// The values of a column.
enum Builder {
    Text(StringBuilder),
    Json(StringBuilder),
    Integer(Int64Builder),
    Number(Float64Builder),
    Boolean(BooleanBuilder),
    Time(TimestampMicrosecondBuilder),
}

impl Builder {
    fn new(kind: ColumnType) -> Self {
        match kind {
            ColumnType::Text => Self::Text(StringBuilder::new()),
            ColumnType::Json => Self::Json(StringBuilder::new()),
            ColumnType::Integer => Self::Integer(Int64Builder::new()),
            ColumnType::Number => Self::Number(Float64Builder::new()),
            ColumnType::Boolean => Self::Boolean(BooleanBuilder::new()),
            ColumnType::Time => Self::Time(TimestampMicrosecondBuilder::new().with_timezone("UTC")),
        }
    }

    /// Adds a value; null where there is none.
    fn push(&mut self, value: Option<&Value>) {
        match self {
            Self::Text(builder) => builder.append_option(value.and_then(Value::as_str)),
            Self::Json(builder) => builder.append_option(value.map(Value::to_string)),
            Self::Integer(builder) => builder.append_option(value.and_then(Value::as_i64)),
            Self::Number(builder) => builder.append_option(value.and_then(Value::as_f64)),
            Self::Boolean(builder) => builder.append_option(value.and_then(Value::as_bool)),
            Self::Time(builder) => {
                let time = value.and_then(Value::as_str).and_then(|text| text.parse::<Timestamp>().ok());
                builder.append_option(time.map(Timestamp::as_microsecond));
            }
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Text(mut builder) | Self::Json(mut builder) => Arc::new(builder.finish()),
            Self::Integer(mut builder) => Arc::new(builder.finish()),
            Self::Number(mut builder) => Arc::new(builder.finish()),
            Self::Boolean(mut builder) => Arc::new(builder.finish()),
            Self::Time(mut builder) => Arc::new(builder.finish()),
        }
    }
}
