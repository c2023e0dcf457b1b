//! Creates the directory of a recording, and refuses one that belongs to something else.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::Path;

use crate::Error;
use crate::recording::directory::is_temporary;
use crate::recording::facts::RecordingScope;

/// Makes the directory, for its owner alone.
pub(super) fn make(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// A file that is not a recorder's.
pub(super) fn foreign_file(path: &Path) -> Option<String> {
    let names = fs::read_dir(path).ok()?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    // A file system's own directory does not count as a file.
    names.into_iter().find(|name| !["lock", "lost+found"].contains(&name.as_str()) && !is_temporary(name))
}

/// What the recording is of that is not what is to be recorded.
pub(super) fn difference(recorded: &RecordingScope, wanted: &RecordingScope) -> Option<String> {
    let all = |prefixes: &[String]| if prefixes.is_empty() { "all keys".to_owned() } else { format!("keys under {}", prefixes.join(", ")) };
    let without = |scope: &RecordingScope| match scope.left_out.is_empty() {
        true => all(&scope.prefixes),
        false => format!("{} without {}", all(&scope.prefixes), scope.left_out.join(", ")),
    };
    match (&recorded.cluster_id, &wanted.cluster_id) {
        (Some(recorded), Some(wanted)) if recorded != wanted => {
            return Some(format!("is a recording of cluster {recorded}, and this is cluster {wanted}; name another directory"));
        }
        _ => {}
    }
    match (&recorded.api_server, &wanted.api_server) {
        (Some(one), Some(other)) if !one.is_empty() && !other.is_empty() && one != other => {
            let clusters = format!("the cluster whose kube-system has the UID {one}, and this is {other}");
            return Some(format!("is a recording of {clusters}; name another directory"));
        }
        (Some(_), None) => {
            return Some("was recorded through an API server; record it that way again, or name another directory".to_owned());
        }
        (None, Some(_)) => return Some("was recorded from etcd; record it that way again, or name another directory".to_owned()),
        _ => {}
    }
    let (recorded, wanted) = (without(recorded), without(wanted));
    (recorded != wanted).then(|| format!("is a recording of {recorded}, not of {wanted}; record the same, or name another directory"))
}

/// The error of a file that cannot be written.
pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> Error {
    let path = path.display().to_string();
    move |cause| Error::Write { path: path.clone(), cause }
}

/// The error of a directory that is not taken.
pub(super) fn refuse(path: &Path, problem: String) -> Error {
    Error::Format { path: path.display().to_string(), problem }
}

/// Names the directory in an error that does not.
pub(in crate::recording) fn of_path(path: &Path, error: Error) -> Error {
    match error {
        Error::Format { problem, .. } => refuse(path, problem),
        other => other,
    }
}
