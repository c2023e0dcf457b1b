//! Which files use which: layers that hold, and circles that do not come back.

mod circles;
mod commands;
mod features;
mod scheduler;
mod serve;
mod system;

use std::path::Path;

use ketcd_testing::layers::{self, SourceFile};

/// The source files below a folder of this repository.
fn sources(folder: &str) -> Vec<SourceFile> {
    layers::sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
}
