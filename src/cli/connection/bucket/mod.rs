//! Buckets of S3, GCS and Azure: files that `-f` names there, and the place that `export` writes to.

#[cfg(feature = "object-store")]
mod bounded;
#[cfg(feature = "object-store")]
mod client;
#[cfg(feature = "object-store")]
mod exclusion;
#[cfg(feature = "object-store")]
mod fetch;
#[cfg(feature = "object-store")]
mod limits;
#[cfg(not(feature = "object-store"))]
mod unsupported;

use std::borrow::Cow;

use tempfile::TempDir;

use crate::cli::connection::runtime;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::source_names::ENTRY_SEPARATOR;
use crate::cli::outcome::Result;
use crate::cli::output;

#[cfg(feature = "object-store")]
pub(in crate::cli) use client::Bucket;
#[cfg(feature = "object-store")]
use fetch::Wanted;
#[cfg(not(feature = "object-store"))]
pub(in crate::cli) use unsupported::Bucket;
#[cfg(not(feature = "object-store"))]
use unsupported::Wanted;

/// Whether a name is a URL of a bucket: `s3://bucket/path`, `gs://…`, `az://container/…`.
pub(in crate::cli) fn is_url(name: &str) -> bool {
    ["s3://", "gs://", "az://"].iter().any(|scheme| name.starts_with(scheme))
}

/// The flags, with each file or folder that lies in a bucket replaced by a copy in TMPDIR, which is gone with what is returned beside them.
///
/// # Errors
/// A file that is not there, or is larger than `--max-unpacked-size`; this build knows no buckets.
pub(in crate::cli) fn fetched(args: &GlobalArgs) -> Result<(Cow<'_, GlobalArgs>, Option<TempDir>)> {
    if !args.files.iter().any(|name| is_url(name)) {
        return Ok((Cow::Borrowed(args), None));
    }
    let folder = tempfile::Builder::new().prefix("ketcd-").tempdir()?;
    let mut args = args.clone();
    let mut left = args.max_unpacked_size;
    for name in args.files.iter_mut().filter(|name| is_url(name)) {
        let (url, within) = name.split_once(ENTRY_SEPARATOR).unwrap_or((name, ""));
        let copy = folder.path().join(url.replacen("://", "/", 1));
        let mut wanted = Wanted { within, most: left };
        let said = runtime::block_on(async { Bucket::open(url)?.fetch(&copy, &mut wanted).await })?;
        left = wanted.most;
        said.iter().for_each(|sentence| output::note(sentence));
        *name = if within.is_empty() { copy.display().to_string() } else { format!("{}{ENTRY_SEPARATOR}{within}", copy.display()) };
    }
    Ok((Cow::Owned(args), Some(folder)))
}
