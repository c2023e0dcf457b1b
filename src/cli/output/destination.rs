//! Where a page is written: into a temporary file beside its place, renamed once it is whole. A run that fails leaves what was there,
//! and nothing that the command reads is ever replaced.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::Output;
use crate::cli::outcome::{Error, Result};
use crate::cli::system::files;
use ketcd_render::style::Content;

/// A place to write one file to, checked before anything is written.
pub(in crate::cli) struct Destination {
    name: String,
    place: Target,
    mode: u32,
}

enum Target {
    StandardOutput,
    /// A pipe or a character device: written to as it is, as nothing in it can be lost.
    Stream,
    /// A file, new or to be replaced. A symbolic link is replaced itself, not what it leads to.
    File {
        folder: PathBuf,
    },
}

pub(in crate::cli) struct Replacing<'a> {
    /// Whether the beginning of a file shows that it is an older version of what is to be written.
    pub is_older: &'a dyn Fn(&[u8]) -> bool,
    /// What such a file is called.
    pub what: &'a str,
    /// Any other file as well (`--force`); `None` where a command has no such flag.
    pub any: Option<bool>,
}

/// So much of a file's beginning is looked at.
const PROBED_BYTES: u64 = 1 << 16;

/// Checks a file that something else writes, by a rename: it is new or may be replaced, and is nothing that the command reads.
///
/// # Errors
/// As [`Destination::open`]; the name is of a symbolic link, or of what is no ordinary file.
pub(in crate::cli) fn check_file(flag: &'static str, path: &Path, inputs: &[Input], replacing: &Replacing<'_>) -> Result<()> {
    let name = path.display().to_string();
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        return Err(Error::new(format!("{flag} {name} is a symbolic link")).hint("name the file that it leads to, or another one"));
    }
    match place(flag, path, inputs, replacing)? {
        Target::File { .. } => Ok(()),
        Target::StandardOutput | Target::Stream => {
            Err(Error::new(format!("{flag} {name} is not an ordinary file")).hint("choose another file"))
        }
    }
}

impl Destination {
    /// Checks `--out NAME`; `-` is standard output. What has secrets in it is readable by its owner alone.
    ///
    /// # Errors
    /// The name is of a file that the command reads, of a directory, of a file that is not to be replaced, or cannot be written to.
    pub(in crate::cli) fn open(name: &str, inputs: &[Input], has_secrets: bool, replacing: &Replacing<'_>) -> Result<Self> {
        let mode = if has_secrets { 0o600 } else { 0o666 };
        let place =
            if name == "-" || name == "/dev/stdout" { Target::StandardOutput } else { place("--out", Path::new(name), inputs, replacing)? };
        Ok(Self { name: name.to_owned(), place, mode })
    }

    pub(in crate::cli) fn name(&self) -> &str {
        if matches!(self.place, Target::StandardOutput) { "standard output" } else { &self.name }
    }

    pub(in crate::cli) fn is_standard_output(&self) -> bool {
        matches!(self.place, Target::StandardOutput)
    }

    /// Writes what `render` writes.
    ///
    /// # Errors
    /// The stream's or the file system's; the file that was there is then as it was.
    pub(in crate::cli) fn write(&self, out: &mut Output, render: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let mut writing = self.begin(out)?;
        writing.write(out, render)?;
        writing.finish(out)
    }

    /// Begins to write: part by part, and [`Writing::finish`] behind the last.
    ///
    /// # Errors
    /// The file system's.
    pub(in crate::cli) fn begin(&self, out: &mut Output) -> Result<Writing> {
        let failed = |error: io::Error| cannot_write(&self.name, &error);
        let stream = match &self.place {
            Target::StandardOutput => {
                out.set_content(Content::Raw);
                Stream::StandardOutput
            }
            Target::Stream => Stream::Open(BufWriter::new(OpenOptions::new().write(true).open(&self.name).map_err(failed)?)),
            Target::File { folder } => {
                let mut builder = tempfile::Builder::new();
                files::with_mode(builder.prefix(".ketcd-").suffix(".tmp"), self.mode);
                Stream::New(BufWriter::new(builder.tempfile_in(folder).map_err(failed)?))
            }
        };
        Ok(Writing { name: self.name.clone(), stream })
    }
}

/// A file on its way. What is dropped unfinished leaves the file that was there as it was.
pub(in crate::cli) struct Writing {
    name: String,
    stream: Stream,
}

enum Stream {
    StandardOutput,
    Open(BufWriter<File>),
    New(BufWriter<NamedTempFile>),
}

impl Writing {
    /// Writes what `render` writes.
    ///
    /// # Errors
    /// The stream's or the file system's.
    pub(in crate::cli) fn write(&mut self, out: &mut Output, render: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let written = match &mut self.stream {
            Stream::StandardOutput => return render(out).map_err(Error::from),
            Stream::Open(stream) => render(stream),
            Stream::New(stream) => render(stream),
        };
        written.map_err(|error| cannot_write(&self.name, &error))
    }

    /// Puts the file into its place.
    ///
    /// # Errors
    /// The stream's or the file system's.
    pub(in crate::cli) fn finish(self, out: &mut Output) -> Result<()> {
        let failed = |error: io::Error| cannot_write(&self.name, &error);
        match self.stream {
            Stream::StandardOutput => out.flush().map_err(Error::from),
            Stream::Open(mut stream) => stream.flush().map_err(failed),
            Stream::New(stream) => {
                let file = stream.into_inner().map_err(|error| failed(error.into_error()))?;
                file.as_file().sync_all().map_err(failed)?;
                file.persist(&self.name).map_err(|error| failed(error.error))?;
                Ok(())
            }
        }
    }
}

/// Checks `--out NAME` of a directory that files are added to; it need not be there.
///
/// # Errors
/// The name is of a file, or lies within what the command reads.
pub(in crate::cli) fn directory(name: &str, inputs: &[Input]) -> Result<PathBuf> {
    let path = Path::new(name);
    if name.is_empty() || path.exists() && !path.is_dir() {
        return Err(Error::new(format!("--out {name:?} is not a directory")).hint("name a directory"));
    }
    let there = path.ancestors().map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path }).find(|path| path.exists());
    let folder = there.unwrap_or(Path::new("."));
    if let Some(input) = inputs.iter().find(|input| input.is_reached_by(folder, folder)) {
        let Input { flag, path } = input;
        return Err(Error::new(format!("--out {name} belongs to what {flag} {} reads, and ketcd writes nothing there", path.display()))
            .hint("choose another directory"));
    }
    Ok(path.to_owned())
}

fn place(flag: &str, path: &Path, inputs: &[Input], replacing: &Replacing<'_>) -> Result<Target> {
    let name = &*path.to_string_lossy();
    let failed = |error: io::Error| cannot_write(name, &error);
    let found = match fs::metadata(path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let folder = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => PathBuf::from("/"),
    };
    if name.is_empty() || name.ends_with('/') || found.as_ref().is_some_and(Metadata::is_dir) {
        return Err(Error::new(format!("{flag} {name:?} is a directory")).hint("name a file in it"));
    }
    if !folder.is_dir() {
        return Err(Error::new(format!("cannot write {name}: there is no directory {}", folder.display())).hint("create it first"));
    }
    if let Some(input) = inputs.iter().find(|input| input.is_reached_by(path, &folder)) {
        let Input { flag: source, path } = input;
        return Err(Error::new(format!("{flag} {name} belongs to what {source} {} reads, and ketcd writes nothing there", path.display()))
            .hint("choose another file"));
    }
    let Some(found) = found else { return writable(name, folder) };
    let kind = found.file_type();
    if files::is_stream(kind) {
        return Ok(Target::Stream);
    }
    if !kind.is_file() || is_kernels(&folder) {
        let hint = if flag == "--out" { "choose another file, or --out - for standard output" } else { "choose another file" };
        return Err(Error::new(format!("{flag} {name} is not an ordinary file")).hint(hint));
    }
    if replacing.any != Some(true) {
        // A file that its owner made read-only is not replaced, though the folder's mode would allow it.
        OpenOptions::new().write(true).open(path).map_err(failed)?;
        let mut head = Vec::new();
        File::open(path).and_then(|file| file.take(PROBED_BYTES).read_to_end(&mut head)).map_err(failed)?;
        if !head.is_empty() && !(replacing.is_older)(&head) {
            let hint = if replacing.any.is_some() { "choose another file, or replace it with --force" } else { "choose another file" };
            return Err(Error::new(format!("{name} exists and is not {}", replacing.what)).hint(hint));
        }
    }
    writable(name, folder)
}

/// Whether files can be made in the folder, found out by making one that has no name.
fn writable(name: &str, folder: PathBuf) -> Result<Target> {
    tempfile::tempfile_in(&folder).map_err(|error| cannot_write(name, &error))?;
    Ok(Target::File { folder })
}

/// Links in `/dev` and `/proc` stand for open files; a rename would take the link away from every other program.
fn is_kernels(folder: &Path) -> bool {
    fs::canonicalize(folder).is_ok_and(|folder| folder == Path::new("/dev") || folder.starts_with("/proc"))
}

fn cannot_write(name: &str, error: &io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "choose a file that you may write",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "free some space, or choose another file"
        }
        _ => "check the path, or choose another file",
    };
    Error::new(format!("cannot write {name}: {error}")).hint(hint)
}

/// A file or directory that the command reads, and the flag that names it.
pub(in crate::cli) struct Input {
    pub flag: &'static str,
    pub path: PathBuf,
}

impl Input {
    /// Whether a file named `path` in `folder`, or where a symbolic link leads, is this input or a part of it.
    fn is_reached_by(&self, path: &Path, folder: &Path) -> bool {
        if self.path == Path::new("-") {
            return files::is_standard_input(path);
        }
        let Ok(input) = fs::metadata(&self.path) else { return false };
        if !input.is_dir() {
            return files::is_same(&self.path, path);
        }
        let Ok(directory) = fs::canonicalize(&self.path) else { return false };
        let is_inside = |path: io::Result<PathBuf>| path.is_ok_and(|path| path.starts_with(&directory));
        is_inside(fs::canonicalize(folder)) || is_inside(fs::canonicalize(path)) || path.is_file() && holds(&directory, path, 0)
    }
}

/// Whether a file is also in the directory, by a link of either sort.
fn holds(directory: &Path, path: &Path, depth: usize) -> bool {
    /// A data dir has `member/snap` and `member/wal`.
    const MAX_FOLDER_DEPTH: usize = 4;
    let Ok(entries) = fs::read_dir(directory) else { return false };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => depth < MAX_FOLDER_DEPTH && holds(&entry.path(), path, depth + 1),
        Ok(_) => files::is_same(&entry.path(), path),
        Err(_) => false,
    })
}
