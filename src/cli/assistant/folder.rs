//! A folder for what nobody else may read: a token, or a copy of a cluster.

use tempfile::TempDir;

use crate::cli::outcome::Result;
use crate::cli::system::files;

/// Its owner alone can look into it.
const FOLDER_MODE: u32 = 0o700;

/// Makes a folder that is removed with what is returned.
///
/// # Errors
/// The file system's.
pub(super) fn private() -> Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    files::with_mode(builder.prefix("ketcd-mcp-"), FOLDER_MODE);
    Ok(builder.tempdir()?)
}
