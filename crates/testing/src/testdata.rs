//! Recorded data: clusters, answers of released schedulers and API servers. They are in the package, so that a packaged crate runs its own tests.

use std::fs::File;
use std::path::{Path, PathBuf};

/// The path of a file of `testdata`.
pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// What a compressed file of `testdata` holds.
///
/// # Panics
/// It is not there, or not what zstd wrote.
pub fn read(name: &str) -> Vec<u8> {
    let path = path(name);
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    zstd::decode_all(file).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
