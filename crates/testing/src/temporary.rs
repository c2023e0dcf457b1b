//! Files of a test's own.

use std::io::Write;

use tempfile::NamedTempFile;

/// Returns a file that holds this, and is removed when it is dropped.
pub fn file(content: impl AsRef<[u8]>) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(content.as_ref()).unwrap();
    file
}
