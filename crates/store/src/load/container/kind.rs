//! What the entries of a folder or an archive are, by their first bytes; by their names where only these tell.

use bytes::Bytes;

use super::super::audit_text::begins_as_audit_log;
use super::super::objects::PathKind;
use super::super::{bolt, sql_dump, unsupported_formats, wal};
#[cfg(feature = "kine")]
use super::super::{dqlite, kine};
use super::entry::ContainerEntry;
use super::{tape, zip};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum EntryKind {
    /// A tar or zip archive.
    Archive,
    Database,
    /// A database of SQLite, or its log.
    Sqlite,
    /// A file that SQLite keeps next to a database.
    BesideSqlite,
    /// A file of a member's log.
    Log,
    /// A snapshot or a segment of a node of dqlite.
    #[cfg_attr(not(feature = "kine"), expect(dead_code, reason = "nothing is taken for one"))]
    Dqlite,
    /// kine's table as text.
    #[cfg(feature = "kine")]
    KineTable,
    /// Text that begins as API objects do.
    Objects,
    /// Text that begins as an audit log does.
    AuditLog,
    /// Nothing that can be opened, and what to do: a fragment.
    Foreign(&'static str),
    SqlDump,
    /// What was not written to its end.
    Unfinished,
    Other,
}

/// Suffixes of the files that SQLite keeps next to a database: its log, the log's index, and the journal that it uses instead of a log.
pub(super) const SQLITE_SUFFIXES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// How programs call what they have not written to its end: etcdctl, rclone, WinSCP, wget and browsers.
const UNFINISHED_SUFFIXES: [&str; 6] = [".part", ".partial", ".filepart", ".tmp", ".crdownload", ".download"];

impl EntryKind {
    /// Whether it is a database, or the table of one.
    pub(super) fn is_database(self) -> bool {
        #[cfg(feature = "kine")]
        if self == Self::KineTable {
            return true;
        }
        matches!(self, Self::Database | Self::Sqlite)
    }

    /// What an entry is that begins with `bytes`.
    pub(in super::super) fn of(entry: &ContainerEntry, bytes: &Bytes) -> Self {
        let name = entry.file_name();
        if UNFINISHED_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
            return Self::Unfinished;
        }
        if wal::is_name(name) {
            return Self::Log;
        }
        #[cfg(feature = "kine")]
        if dqlite::is_of_node(name, bytes) && !bolt::looks_like_bolt(bytes) {
            return Self::Dqlite;
        }
        if SQLITE_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) && !bolt::looks_like_bolt(bytes) {
            return Self::BesideSqlite;
        }
        match bytes {
            _ if tape::looks_like_tar(bytes) || zip::begins_so(bytes) => Self::Archive,
            _ if bolt::looks_like_bolt(bytes) => Self::Database,
            _ if looks_like_sqlite(bytes) => Self::Sqlite,
            _ if begins_as_audit_log(bytes) => Self::AuditLog,
            _ if sql_dump::recognised(name, bytes).is_some() => Self::SqlDump,
            #[cfg(feature = "kine")]
            _ if kine::begins_as_table(bytes) => Self::KineTable,
            _ if unsupported_formats::is_called_so(name, bytes) => Self::Other,
            _ => match unsupported_formats::recognised(bytes) {
                Some(said) => Self::Foreign(said),
                None if begins_as_objects(bytes) || begins_as_items(&entry.name, bytes) => Self::Objects,
                None => Self::Other,
            },
        }
    }
}

#[cfg(feature = "kine")]
use kine::looks_like_sqlite;

#[cfg(not(feature = "kine"))]
fn looks_like_sqlite(bytes: &[u8]) -> bool {
    tape::is_sqlite_database(bytes)
}

/// No configuration is longer, in bytes.
pub(super) const LONGEST_CONFIGURATION: usize = 1 << 20;

/// Whether a file that begins with these bytes may be configuration of the cluster's programs: it holds the kind of one anywhere.
pub(super) fn may_configure(beginning: &[u8]) -> bool {
    let names = |kind: &&[u8]| memchr::memmem::find(beginning, kind).is_some();
    let is_text = beginning.len() <= LONGEST_CONFIGURATION && !beginning.contains(&0);
    is_text && [&b"EncryptionConfig"[..], b"KubeSchedulerConfiguration"].iter().any(names)
}

/// The members that an API object, or a list of them, begins with as text.
const OBJECT_MEMBERS: [&[u8]; 4] = [b"apiVersion:", b"kind:", b"metadata:", b"items:"];

/// Whether text begins as API objects do, and not as an audit log, which holds copies of them.
fn begins_as_objects(bytes: &[u8]) -> bool {
    const PROBED_BYTES: usize = 64 << 10;
    let head = &bytes[..bytes.len().min(PROBED_BYTES)];
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if head.contains(&0) {
        return head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]);
    }
    let has = |text: &[u8]| memchr::memmem::find(head, text).is_some();
    if head.trim_ascii_start().starts_with(b"{") || head.trim_ascii_start().starts_with(b"[") {
        return has(b"\"apiVersion\"") && has(b"\"kind\"") && !has(b"\"audit.k8s.io/");
    }
    let is_content =
        |line: &&[u8]| !line.trim_ascii().is_empty() && !line.starts_with(b"#") && !line.starts_with(b"%") && !line.starts_with(b"---");
    // The last line may be cut.
    let head = memchr::memrchr(b'\n', head).filter(|_| head.len() < bytes.len()).map_or(head, |end| &head[..end]);
    let lines = head.split(|&byte| byte == b'\n').skip_while(|line| !is_content(line));
    let first = lines.clone().next().unwrap_or_default();
    let item = first.strip_prefix(b"- ").unwrap_or(first);
    OBJECT_MEMBERS.iter().any(|member| item.starts_with(member)) || is_object(lines)
}

/// Whether text begins as objects do that do not say what they are, and the path says it.
fn begins_as_items(path: &str, bytes: &[u8]) -> bool {
    const PROBED_BYTES: usize = 64 << 10;
    let head = bytes[..bytes.len().min(PROBED_BYTES)].trim_ascii_start();
    head.first().is_some_and(|first| b"[{".contains(first))
        && memchr::memmem::find(head, b"\"metadata\"").is_some()
        && PathKind::of(path).is_some()
}

/// Whether the first document is an object whose members are sorted, so that others come first: `allowVolumeExpansion` of a `StorageClass`.
fn is_object<'l>(lines: impl Iterator<Item = &'l [u8]>) -> bool {
    let document: Vec<&[u8]> = lines.take_while(|line| !line.starts_with(b"---")).collect();
    let has = |member: &[u8]| document.iter().any(|line| line.starts_with(member));
    has(OBJECT_MEMBERS[0]) && has(OBJECT_MEMBERS[1]) && document.iter().all(|line| is_of_mapping(line))
}

/// Whether a line may stand in a mapping of YAML at its outermost level: it begins a member or continues with one, or says nothing.
fn is_of_mapping(line: &[u8]) -> bool {
    let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
    let is_name = name.len() < line.len() && name.first().is_some_and(u8::is_ascii_lowercase) && name.iter().all(u8::is_ascii_alphanumeric);
    is_name || line.trim_ascii().is_empty() || line.starts_with(b" ") || line.starts_with(b"#") || line.starts_with(b"- ")
}

#[cfg(test)]
mod tests {
    use super::begins_as_objects;

    #[test]
    fn only_what_begins_as_objects_is_taken_for_them() {
        for text in [
            "---\napiVersion: v1\nitems: []\n",
            "# a comment\n\nkind: Pod\n",
            "- apiVersion: v1\n",
            "---\nallowedTopologies:\n- a: b\n  c: d\napiVersion: v1\n\nkind: StorageClass\n",
            "{\"kind\": \"PodList\", \"apiVersion\": \"v1\"}",
            "\u{feff}items:\n",
        ] {
            assert!(begins_as_objects(text.as_bytes()), "{text:?}");
        }
        for text in [
            "",
            "2026-01-01 started\napiVersion: v1\nkind: Pod\n",
            "error: a problem\nE0101 apply\napiVersion: v1\nkind: Pod\n",
            "name: x\n---\napiVersion: v1\nkind: Pod\n",
            "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"level\":\"Metadata\"}\n",
            "{\"members\":[]}",
            "#!/bin/sh\necho apiVersion:\n",
        ] {
            assert!(!begins_as_objects(text.as_bytes()), "{text:?}");
        }
    }
}
