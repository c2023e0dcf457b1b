//! Which files use which: layers that hold, and circles that do not come back.

#![allow(clippy::disallowed_methods, reason = "the test reads the source files")]

mod arrows;
mod circles;
mod features;
mod scheduler;

use std::fs;
use std::path::Path;

use arrows::Source;

/// The source files below a folder of this repository.
fn sources(folder: &str) -> Vec<Source> {
    fn read(folder: &Path, root: &Path, found: &mut Vec<Source>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                read(&path, root, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                found.push(Source::new(&name, &fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    read(&root, &root, &mut found);
    found
}
