//! Results to text, JSON and HTML; knows no source and no user.
//!
//! Renderers write to any `std::io::Write` and always write ANSI styles ([`style`]); who prints strips them where they are not wanted.

pub mod blame;
pub mod change;
pub mod change_text;
pub mod comparison;
pub mod custom_columns;
pub mod document;
pub mod duration;
pub mod encryption;
pub mod explanation;
pub mod json;
pub mod json_path;
pub mod plugins;
pub mod report;
mod row;
pub mod secret;
pub mod sort_key;
pub mod status;
pub mod style;
pub mod table;
pub mod timeline;
pub mod value;
pub mod with_config;
pub mod yaml;
