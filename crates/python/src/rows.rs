//! An answer that is read line by line, or as columns.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow::Batches;
use crate::columns::Column;
use crate::lines::text;
use crate::work::Work;

/// An answer, read once.
#[pyclass(frozen, module = "ketcd._ketcd")]
pub(crate) struct Rows {
    work: Arc<Work>,
    columns: Vec<Column>,
}

impl Rows {
    pub(crate) fn new(work: Work, columns: Vec<Column>) -> Self {
        Self { work: Arc::new(work), columns }
    }
}

#[pymethods]
impl Rows {
    /// The next line of JSON; `None` after the last.
    fn next_line(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.work.next(py)?.map(text))
    }

    /// What was noticed since this was asked last.
    fn notices(&self) -> Vec<String> {
        self.work.take_notices()
    }

    /// The lines that are left, as a stream of Arrow's C interface.
    fn arrow_c_stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let stream = FFI_ArrowArrayStream::new(Box::new(Batches::new(Arc::clone(&self.work), self.columns.clone())));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
