//! Opens a link in the user's browser. The link holds a token, and other users of the machine see the command lines of programs: the browser gets the path of
//! a private file that leads there.

use std::io::Write;

use tempfile::NamedTempFile;

use crate::cli::system::process;

/// Opens a link, and returns the file that leads to it: it must stay until the browser has read it.
///
/// # Errors
/// No browser can be started, or the file not be written.
pub(super) fn open(link: &str) -> std::io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix("ketcd-").suffix(".html").tempfile()?;
    file.write_all(document(link).as_bytes())?;
    file.flush()?;
    process::open_document(file.path())?;
    Ok(file)
}

/// A page that leads to a link of ours, which has no sign that HTML gives a meaning.
fn document(link: &str) -> String {
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<meta http-equiv=\"refresh\" content=\"0; url={link}\">\n\
         <title>ketcd</title>\n<a href=\"{link}\">ketcd</a>\n"
    )
}
