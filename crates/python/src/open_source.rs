//! Files of one cluster, as Python holds them, and the two ways to ask: for a document, or for rows.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread;

use pyo3::prelude::*;

use crate::asked::Asked;
use crate::failure::Failure;
use crate::lines::text;
use crate::opened::Opened;
use crate::questions::Question;
use crate::rows::Rows;
use crate::work::Work;
use crate::{columns, waiting};

/// Files of one cluster, as Python holds them.
#[pyclass(frozen, module = "ketcd._ketcd")]
pub(crate) struct OpenSource {
    opened: Arc<Opened>,
}

#[pymethods]
impl OpenSource {
    #[new]
    #[pyo3(signature = (files, prefix=None, encryption_config=None))]
    fn new(py: Python<'_>, files: Vec<String>, prefix: Option<String>, encryption_config: Option<String>) -> PyResult<Self> {
        let (sender, receiver) = sync_channel(1);
        let open = move || {
            // Nobody may wait any more.
            let _ = sender.send(Opened::open(files, prefix, encryption_config.as_deref()));
        };
        thread::Builder::new().name("ketcd-open".to_owned()).spawn(open)?;
        let opened = waiting::next(py, &Mutex::new(receiver))?;
        let opened = opened.unwrap_or_else(|| Err(Failure::new("ketcd panicked while it opened the files: this is a bug in ketcd")));
        Ok(Self { opened: Arc::new(opened.map_err(|failure| failure.raised(py))?) })
    }

    /// What is wrong with the files, and what of them is not etcd's.
    fn notices(&self) -> Vec<String> {
        self.opened.notices()
    }

    /// Asks a question that has one document for an answer: its JSON, and what was noticed.
    fn document(&self, py: Python<'_>, question: &str, asked: &str) -> PyResult<(String, Vec<String>)> {
        let work = self.begin(question, asked).map_err(|failure| failure.raised(py))?;
        let document = work.next(py)?;
        // What follows the document is how the question ended.
        work.next(py)?;
        let document = document.ok_or_else(|| Failure::new("no answer").raised(py))?;
        Ok((text(document), work.take_notices()))
    }

    /// Asks a question whose answer is read line by line.
    fn rows(&self, py: Python<'_>, question: &str, asked: &str) -> PyResult<Rows> {
        let begin = || {
            let work = self.begin(question, asked)?;
            Ok::<_, Failure>(Rows::new(work, columns::of(question.parse()?, &Asked::read(asked)?)?))
        };
        begin().map_err(|failure| failure.raised(py))
    }
}

impl OpenSource {
    fn begin(&self, question: &str, asked: &str) -> Result<Work, Failure> {
        self.opened.check_process()?;
        Work::begin(Arc::clone(&self.opened), question.parse::<Question>()?, Asked::read(asked)?)
    }
}
