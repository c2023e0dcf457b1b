//! `export`: tables of a cluster's objects, history, Events and scheduling decisions, appended to a dataset of files.

mod cluster;
mod covered;
mod dataset;
mod decisions;
mod history;
mod objects;
mod row_file;
mod table_writer;

pub(super) use cluster::name as cluster_name;
pub(super) use dataset::Dataset;
pub(super) use decisions::decisions;
pub(super) use history::history;
pub(super) use objects::objects;
pub(super) use row_file::FileFormat;
