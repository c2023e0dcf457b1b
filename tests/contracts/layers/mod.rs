//! Which files use which: layers that hold, and circles that do not come back.

mod circles;
mod cli;
mod commands;
mod features;
mod scheduler;
mod serve;
mod state;
mod system;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

use ketcd_testing::layers::{self, SourceFile};

use super::root;
use circles::Files;

/// The source files below a folder of this repository.
fn sources(folder: &str) -> Vec<SourceFile> {
    layers::sources(&root().join(folder))
}

/// The names and texts of the source files below a folder of this repository.
fn texts(folder: &str) -> Vec<(String, String)> {
    layers::texts(&root().join(folder))
}

/// Which files of a crate use which. Parsing takes most of the time of these tests, so each crate is parsed once for all of them.
fn files(folder: &str) -> Arc<Files> {
    static PARSED: LazyLock<Mutex<BTreeMap<String, Arc<Files>>>> = LazyLock::new(Mutex::default);
    let mut parsed = PARSED.lock().unwrap();
    Arc::clone(parsed.entry(folder.to_owned()).or_insert_with(|| Arc::new(Files::new(sources(folder)))))
}
