//! Text files that flags name.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use zeroize::Zeroizing;

use crate::cli::outcome::{Error, Result};

/// Reads the file that `flag` names. There may be keys in it.
///
/// # Errors
/// It cannot be read, is not UTF-8, or is larger than any configuration.
pub(in crate::cli) fn read(flag: &str, path: &Path) -> Result<Zeroizing<String>> {
    const MAX_FILE_BYTES: u64 = 16 << 20;
    let mut bytes = Zeroizing::new(Vec::new());
    let named = |problem: String| Error::new(problem).hint("check the path and its permissions");
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error: io::Error| named(format!("cannot read {flag} {}: {error}", path.display())))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(named(format!("{flag} {} is larger than 16 MiB", path.display())));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| named(format!("{flag} {} is not UTF-8 text", path.display())))?;
    Ok(Zeroizing::new(text.to_owned()))
}
