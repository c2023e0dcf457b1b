#![doc = include_str!("../README.md")]
//!
//! Text of data goes through [`visible`], so that it can neither drive a terminal nor forge a line.

#[macro_use]
mod mirrored;

pub mod blame;
pub mod browser;
pub mod bundle;
pub mod census;
pub mod change;
pub mod change_text;
pub mod changes;
pub mod columns;
pub mod command_line;
pub mod comparison;
pub mod contract;
pub mod custom_columns;
pub mod describe;
pub mod document;
pub mod duration;
pub mod encryption;
pub mod event;
pub mod explanation;
pub mod export;
pub mod extraction;
pub mod fit;
pub mod go_template;
pub mod grep;
pub mod json;
pub mod json_path;
pub mod kyaml;
pub mod members;
pub mod notice;
mod page;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod plan;
pub mod plugins;
pub mod rehearse;
pub mod report;
mod request_text;
mod row;
pub mod since_last;
pub mod sort_key;
pub mod spec_comparison;
pub mod status;
pub mod style;
pub mod table;
pub mod timeline;
pub mod traces;
pub mod tree;
pub mod triage;
pub mod usage;
pub mod value;
pub mod verify;
pub mod visible;
pub mod watch;
pub mod what_if;
pub mod with_config;
pub mod words;
pub mod yaml;
