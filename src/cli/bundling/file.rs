//! The file of a bundle and its report: written next to their places, named when they are complete.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use ketcd_cluster::bundle::{Bundle, BundlePart, BundleSummary, leaks};
use ketcd_redact::Redactor;
use ketcd_render::bundle::{is_report, leak_words, write_report};
use ketcd_render::contract::bundle::{Bundle as WrittenBundle, Redaction};
use ketcd_store::recording::{BundleWriter, MissingRevisions, RecordingScope, begins_as_packed};

use super::redaction::Redacting;
use crate::cli::outcome::{Error, Result};
use crate::cli::output::destination::{Input, Replacing, check_file};
use crate::cli::system::files;

/// A bundle holds what etcd holds: its owner alone reads it.
const FILE_MODE: u32 = 0o600;
/// What the files are called before they have their names.
const TEMPORARY_PREFIX: &str = ".ketcd-";

/// Where a bundle is to be.
pub(super) struct BundleFile {
    path: PathBuf,
    folder: PathBuf,
}

/// A bundle that is complete and has no name yet.
pub(super) struct WrittenFile {
    file: NamedTempFile,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

impl BundleFile {
    /// Checks the place; nothing is written yet.
    ///
    /// # Errors
    /// There is a file that is not to be replaced, or that the command reads.
    pub(super) fn at(path: &Path, inputs: &[Input], force: bool) -> Result<Self> {
        if path == Path::new("-") {
            return Err(
                Error::new("a bundle is searched before it leaves, so it is written to a file").hint("name a file with --out FILE.ketcd")
            );
        }
        let replacing = Replacing { is_older: &begins_as_packed, what: "a bundle that ketcd wrote", any: Some(force) };
        check_file("--out", path, inputs, &replacing)?;
        Ok(Self { path: path.to_owned(), folder: folder_of(path) })
    }

    /// Writes a slice.
    ///
    /// # Errors
    /// The source cannot be read, or the file not be written; nothing is left of it then.
    pub(super) async fn write(
        &self,
        slice: &Bundle<'_>,
        scope: RecordingScope,
        redactor: Option<&mut Redactor>,
    ) -> Result<(WrittenFile, BundleSummary)> {
        let failed = |error| cannot_write(&self.path, &error);
        // What it is called on its way says nothing to anybody.
        let refused = |error: ketcd_store::Error| match error {
            ketcd_store::Error::Write { cause, .. } => cannot_write(&self.path, &cause),
            other => other.into(),
        };
        let work = tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempdir_in(&self.folder).map_err(failed)?;
        let mut writer = BundleWriter::new(work.path(), scope);
        let summary = slice.write(redactor, &mut |part| take(&mut writer, part).map_err(&refused)).await?;
        let file = temporary(&self.folder).map_err(failed)?;
        let mut archive = BufWriter::new(file);
        let bundled = writer.finish(slice.to, &mut archive).map_err(refused)?;
        let file = archive.into_inner().map_err(|error| failed(error.into_error()))?;
        file.as_file().sync_all().map_err(failed)?;
        let sha256 = bundled.sha256.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((WrittenFile { file, bytes: bundled.bytes, sha256 }, summary))
    }
}

/// Takes a part of a bundle.
fn take(writer: &mut BundleWriter, part: BundlePart) -> ketcd_store::Result<()> {
    match part {
        BundlePart::State(at) => writer.begin_state(at)?,
        BundlePart::Entry(entry) => writer.state_entry(entry)?,
        BundlePart::StateEnd => writer.end_state()?,
        BundlePart::Change(event, written) => writer.change(*event, written)?,
        BundlePart::Dated(revision, written) => writer.dated(revision, written),
        BundlePart::Missing(missing) => {
            let reason = "the source of the bundle does not have them".to_owned();
            writer.missing(&MissingRevisions { from: missing.from.0, to: missing.to.0, reason })?;
        }
    }
    Ok(())
}

impl WrittenFile {
    /// Searches all of it for what was to go.
    ///
    /// # Errors
    /// It holds some of that: where, not what. It is removed.
    pub(super) async fn search(&self, redacting: &Redacting) -> Result<()> {
        let path = self.file.path().to_string_lossy().into_owned();
        let source = ketcd_store::load::open(&[path], &|_| None)?;
        let found = leaks(source.as_ref(), &redacting.redactor).await?;
        if found.is_empty() {
            return Ok(());
        }
        let places = leak_words(&found);
        Err(Error::new(format!("no file was written, because it would still hold what was to go: {places}")).hint(redacting.hint_of_leak()))
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// The file system's.
    pub(super) fn name(self, path: &Path) -> Result<()> {
        self.file.persist(path).map(drop).map_err(|error| cannot_write(path, &error.error))
    }
}

/// Where the report of what was redacted is to be.
pub(super) struct ReportFile {
    path: PathBuf,
}

impl ReportFile {
    /// Checks the place; nothing is written yet.
    ///
    /// # Errors
    /// As [`BundleFile::at`].
    pub(super) fn at(path: &Path, inputs: &[Input], force: bool) -> Result<Self> {
        let replacing = Replacing { is_older: &is_report, what: "a report that ketcd bundle wrote", any: Some(force) };
        check_file("--report", path, inputs, &replacing)?;
        Ok(Self { path: path.to_owned() })
    }

    /// How it is named.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Writes it.
    ///
    /// # Errors
    /// The file system's.
    pub(super) fn write(&self, bundle: &WrittenBundle<'_>, redaction: &Redaction<'_>) -> Result<()> {
        let failed = |error| cannot_write(&self.path, &error);
        let mut text = Vec::new();
        write_report(bundle, &redaction.replaced, &mut text).map_err(failed)?;
        let mut file = temporary(&folder_of(&self.path)).map_err(failed)?;
        file.write_all(&text).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        file.persist(&self.path).map(drop).map_err(|error| failed(error.error))
    }
}

fn temporary(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    files::with_mode(builder.prefix(TEMPORARY_PREFIX).suffix(".tmp"), FILE_MODE);
    builder.tempfile_in(folder)
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => PathBuf::from("/"),
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Error {
    Error::new(format!("cannot write {}: {error}", path.display())).hint("check the path and the free space, or choose another file")
}
