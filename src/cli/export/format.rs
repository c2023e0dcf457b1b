//! What `export` writes: tables of one of two formats, or times as traces.

use clap::ValueEnum;

use super::row_file::FileFormat;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ExportFormat {
    /// Tables: columns, compressed with zstd, which DuckDB, Spark, ClickHouse, Athena and pandas read.
    Parquet,
    /// Tables: one JSON document a line, compressed with zstd.
    Ndjson,
    /// Times as traces, for Jaeger, Tempo and their like: lines of JSON, or protobuf if the file's name ends with .pb; or with --endpoint to a server.
    Otlp,
    /// Times as traces, in one file for ui.perfetto.dev.
    Perfetto,
}

/// How times are written as traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum TraceFormat {
    Otlp,
    Perfetto,
}

impl ExportFormat {
    /// The format of the files of tables, or that of traces.
    pub(in crate::cli) fn of(self) -> Result<FileFormat, TraceFormat> {
        match self {
            Self::Parquet => Ok(FileFormat::Parquet),
            Self::Ndjson => Ok(FileFormat::Ndjson),
            Self::Otlp => Err(TraceFormat::Otlp),
            Self::Perfetto => Err(TraceFormat::Perfetto),
        }
    }
}
