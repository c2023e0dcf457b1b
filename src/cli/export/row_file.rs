//! One file of rows on its way: written to a temporary file, in one of the formats.

use std::io::Write;

use tempfile::NamedTempFile;

use crate::cli::outcome::{Error, Result};
use ketcd_render::contract::export::Row;
#[cfg(feature = "parquet")]
use ketcd_render::parquet::ParquetWriter;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum FileFormat {
    /// Columns, compressed with zstd: what DuckDB, Spark, ClickHouse, Athena and pandas read.
    Parquet,
    /// One JSON document a line, compressed with zstd.
    Ndjson,
}

impl FileFormat {
    /// How file names end, without the leading dot.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Ndjson => "ndjson.zst",
        }
    }

    /// Whether this build can write it.
    ///
    /// # Errors
    /// It cannot, and what to do.
    pub(super) fn check(self) -> Result<()> {
        if self == Self::Parquet && !cfg!(feature = "parquet") {
            return Err(Error::new("this ketcd was built without Parquet").hint(
                "use --format ndjson, a released ketcd, or build it with Parquet: cargo install --path . --locked --features parquet",
            ));
        }
        Ok(())
    }
}

/// A file that is being written.
pub(super) enum RowFile {
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetWriter<NamedTempFile>>),
    Lines(zstd::Encoder<'static, NamedTempFile>),
}

impl RowFile {
    /// Begins a file for the rows of `R`.
    ///
    /// # Errors
    /// The file cannot be written, or this build cannot write the format.
    #[cfg_attr(not(feature = "parquet"), expect(clippy::extra_unused_type_parameters, reason = "only columns have the types of a row"))]
    pub(super) fn new<R: Row>(format: FileFormat, file: NamedTempFile) -> Result<Self> {
        match format {
            #[cfg(feature = "parquet")]
            FileFormat::Parquet => Ok(Self::Parquet(Box::new(ParquetWriter::new::<R>(file)?))),
            #[cfg(not(feature = "parquet"))]
            FileFormat::Parquet => Err(format.check().err().unwrap_or_else(|| Error::new("no Parquet"))),
            FileFormat::Ndjson => Ok(Self::Lines(zstd::Encoder::new(file, 0)?)),
        }
    }

    /// Adds a row.
    pub(super) fn push(&mut self, row: &impl Row) -> Result<()> {
        match self {
            #[cfg(feature = "parquet")]
            Self::Parquet(file) => file.push(row)?,
            Self::Lines(file) => {
                serde_json::to_writer(&mut *file, row)?;
                file.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    /// Ends the file.
    pub(super) fn finish(self) -> Result<NamedTempFile> {
        match self {
            #[cfg(feature = "parquet")]
            Self::Parquet(file) => Ok(file.finish()?),
            Self::Lines(file) => Ok(file.finish()?),
        }
    }
}
