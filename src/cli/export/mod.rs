//! `export`: tables of a cluster's objects, history, Events and scheduling decisions, appended to a dataset of files; and times as traces.

mod cluster;
mod coverage;
mod dataset;
mod decisions;
mod format;
mod history;
mod objects;
mod otlp_server;
mod row_file;
mod rows;
mod table_writer;
mod tables;
mod traces;

pub(super) use format::{ExportFormat, TraceFormat};
pub(super) use rows::ExportedRows;
pub(super) use tables::{Outward, export_tables};
pub(super) use traces::{TraceExport, export_traces};
