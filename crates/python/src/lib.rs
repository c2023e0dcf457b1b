//! The extension module below the Python package `ketcd`: sources, questions, lines of JSON, and the command.
//!
//! `python/ketcd` is what users see; this hands it the answers of `ketcd-cluster` as the JSON of `ketcd-render`, without a logic of its own. A question
//! runs on a thread of its own and never holds Python's lock; who waits for it looks for signals.

mod arrow;
mod asked;
mod columns;
mod failure;
mod lines;
mod open_source;
mod opened;
mod questions;
mod rows;
mod shared;
mod waiting;
mod work;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with these arguments, the program's name first, and returns its exit code.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| ketcd::run(arguments))
}

/// The module.
#[pymodule]
fn _ketcd(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<open_source::OpenSource>()?;
    module.add_class::<rows::Rows>()?;
    module.add_function(wrap_pyfunction!(command, module)?)
}
