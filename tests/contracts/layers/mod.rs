//! Which files use which: layers that hold, and circles that do not come back.

mod circles;
mod cli;
mod commands;
mod features;
mod scheduler;
mod serve;
mod state;
mod system;

use ketcd_testing::layers::{self, SourceFile};

use super::root;

/// The source files below a folder of this repository.
fn sources(folder: &str) -> Vec<SourceFile> {
    layers::sources(&root().join(folder))
}
