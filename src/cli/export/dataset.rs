//! A dataset: files below a directory or a bucket, in folders as Hive partitions tables.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::coverage::{Covered, Span};
use super::row_file::FileFormat;
use super::rows::ExportedRows;
use crate::cli::connection::bucket::{self, Bucket};
use crate::cli::connection::inputs::inputs;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::outcome::{Error, Result};
use crate::cli::output::destination;
use crate::cli::system::files;
use ketcd_cluster::AskedKeys;
use ketcd_render::contract::export::Table;
use ketcd_store::KeyRange;

/// Where the rows of one cluster go.
pub(super) struct Dataset {
    name: String,
    place: Place,
    format: FileFormat,
    cluster: String,
    /// The mark of the rows that are written, where they are not all.
    part: Option<String>,
    /// The mode of new files; readable by their owner only if they hold secrets.
    mode: u32,
}

enum Place {
    Directory(PathBuf),
    Bucket(Bucket),
}

impl Dataset {
    /// Opens the dataset at `--out NAME`, a directory or a bucket's URL; nothing is written yet.
    ///
    /// # Errors
    /// The name is of a file, or lies within what the command reads; this build cannot write there, or not in the format.
    pub(super) fn open(name: &str, format: FileFormat, cluster: String, args: &GlobalArgs) -> Result<Self> {
        format.check()?;
        let place = match bucket::is_url(name) {
            true => Place::Bucket(Bucket::open(name)?),
            false => Place::Directory(destination::directory(name, &inputs(args))?),
        };
        let mode = if args.show_secrets { 0o600 } else { 0o666 };
        Ok(Self { name: name.to_owned(), place, format, cluster, part: None, mode })
    }

    /// Writes rows of some objects, or by some users, alone. Their files are marked by a digest of what was asked for.
    pub(super) fn of_part(self, rows: &ExportedRows<'_>) -> Self {
        let by = rows.by.words();
        let part = (rows.of.is_some() || by.is_some()).then(|| {
            let mut digest = Sha256::new();
            for text in rows.selectors {
                digest.update(text.unwrap_or_default());
                digest.update([0]);
            }
            by.iter().for_each(|by| digest.update(by));
            for KeyRange { start, end } in rows.of.iter().flat_map(AskedKeys::named) {
                digest.update(start);
                digest.update([u8::from(end.is_some())]);
                digest.update(end.as_deref().unwrap_or_default());
                digest.update([0]);
            }
            digest.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
        });
        Self { part, ..self }
    }

    pub(super) fn cluster(&self) -> &str {
        &self.cluster
    }

    pub(super) fn format(&self) -> FileFormat {
        self.format
    }

    /// The folder of a table's rows of this cluster.
    fn folder(&self, table: Table) -> String {
        format!("table={}/cluster={}", table.name(), self.cluster)
    }

    /// The revisions that files of a table cover, in the format that is written.
    ///
    /// # Errors
    /// The directory or the bucket cannot be listed, or holds rows of other objects: what is covered would not be known.
    pub(super) async fn covered(&self, table: Table) -> Result<Covered> {
        let folder = self.folder(table);
        let names = match &self.place {
            Place::Directory(root) => names_below(&root.join(&folder)).map_err(|error| self.failed(&error))?,
            Place::Bucket(bucket) => bucket.names_below(&folder).await?,
        };
        let files: Vec<_> = names.iter().filter_map(|name| Span::of_file(name, self.format.extension())).collect();
        if files.iter().any(|(_, part)| *part != self.part.as_deref()) {
            let problem = format!("{} has rows of other objects of cluster {} in {}", self.name, self.cluster, table.name());
            return Err(Error::new(problem).hint("write to another --out, or under another name with --cluster"));
        }
        Ok(files.into_iter().map(|(span, _)| span).collect())
    }

    /// A file to write a day's rows of a table to: beside its place in a directory, in TMPDIR for a bucket.
    pub(super) fn temporary(&self, table: Table, day: &str) -> Result<NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        // Readers of datasets pass over names that begin with a dot.
        builder.prefix(".ketcd-").suffix(".tmp");
        files::with_mode(&mut builder, self.mode);
        let made = match &self.place {
            Place::Bucket(_) => builder.tempfile(),
            Place::Directory(root) => {
                let folder = root.join(self.folder(table)).join(format!("day={day}"));
                fs::create_dir_all(&folder).and_then(|()| builder.tempfile_in(folder))
            }
        };
        made.map_err(|error| self.failed(&error))
    }

    /// Puts a finished file in its place, where a reader sees it whole or not at all; returns its path below the dataset and its size.
    pub(super) fn put(&self, table: Table, day: &str, span: Span, file: NamedTempFile) -> Result<(String, u64)> {
        let path = format!("{}/day={day}/{}", self.folder(table), span.file_name(self.part.as_deref(), self.format.extension()));
        let failed = |error: io::Error| self.failed(&error);
        let bytes = file.as_file().metadata().map_err(failed)?.len();
        match &self.place {
            Place::Directory(root) => {
                file.as_file().sync_all().map_err(failed)?;
                file.persist(root.join(&path)).map_err(|error| failed(error.error))?;
            }
            Place::Bucket(bucket) => bucket.put(&path, file.path())?,
        }
        Ok((path, bytes))
    }

    fn failed(&self, error: &io::Error) -> Error {
        Error::new(format!("cannot write {}: {error}", self.name))
            .hint("check the path and the disk, and run it again: it goes on where it stopped")
    }
}

/// The names of all files in the folders of a folder; none where it is not there.
fn names_below(folder: &Path) -> io::Result<Vec<String>> {
    let days = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        days => days?,
    };
    let mut names = Vec::new();
    for day in days {
        let day = day?.path();
        if day.is_dir() {
            for file in fs::read_dir(day)? {
                names.extend(file?.file_name().into_string());
            }
        }
    }
    Ok(names)
}
