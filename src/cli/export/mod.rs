//! `export`: tables of a cluster's objects, history, Events and scheduling decisions, appended to a dataset of files.

mod cluster;
mod coverage;
mod dataset;
mod decisions;
mod history;
mod objects;
mod row_file;
mod rows;
mod table_writer;
mod tables;

pub(super) use row_file::FileFormat;
pub(super) use rows::ExportedRows;
pub(super) use tables::{Outward, export};
