//! The names of snapshots: `Incr-00000332-00000380-1795547363.gz`.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct SnapshotName {
    /// The last revision.
    pub last: i64,
    /// When it was made, in seconds since 1970.
    pub created: i64,
    /// The first revision; 0 of a full one.
    pub first: i64,
    pub is_full: bool,
    /// Whether it is compressed as Go's `compress/lzw` does, which no magic number tells.
    pub is_lzw: bool,
}

impl SnapshotName {
    /// Reads a file's name; `None` for other files.
    pub(in super::super) fn of(name: &str) -> Option<Self> {
        let name = name.strip_suffix(".final").unwrap_or(name);
        let (name, suffix) = name.split_once('.').unwrap_or((name, ""));
        let parts: Vec<&str> = name.split('-').collect();
        let &[kind, first, last, created] = &parts[..] else { return None };
        let number = |text: &str| text.parse::<i64>().ok().filter(|number| *number >= 0 && text.bytes().all(|byte| byte.is_ascii_digit()));
        let (first, last, created) = (number(first)?, number(last)?, number(created)?);
        let is_full = kind == "Full";
        let is_one = matches!(kind, "Full" | "Incr") && matches!(suffix, "" | "gz" | "zlib" | "Z") && first <= last;
        is_one.then_some(Self { last, created, first, is_full, is_lzw: suffix == "Z" })
    }
}

/// The folder of one etcd's snapshots, from the folder that one of them lies in: above the version of the layout.
pub(in super::super) fn cluster_of(folder: &str) -> &str {
    let (above, last) = folder.rsplit_once('/').unwrap_or(("", folder));
    let path = if last.starts_with("Backup-") { above } else { folder };
    let (above, last) = path.rsplit_once('/').unwrap_or(("", path));
    if matches!(last, "v1" | "v2") { above } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_snapshots() {
        let full = SnapshotName::of("Full-00000000-11680572-1727038676.gz").unwrap();
        assert_eq!((full.is_full, full.last, full.is_lzw), (true, 11_680_572, false));
        let last = SnapshotName::of("Incr-11680573-11691572-1727038777.Z.final").unwrap();
        assert_eq!((last.is_full, last.first, last.last, last.is_lzw), (false, 11_680_573, 11_691_572, true));
        for name in ["Chunk-1-2-3.gz", "Full-0-1", "Incr-2-1-3.gz", "Incr-1-2-3.gz.part", "Incr-+1-2-3", ""] {
            assert_eq!(SnapshotName::of(name), None, "{name}");
        }
    }

    #[test]
    fn a_cluster_is_the_folder_above_the_layouts_version() {
        for (folder, wanted) in
            [("a/etcd-main/v2", "a/etcd-main"), ("etcd-main/v1/Backup-17", "etcd-main"), ("v2", ""), ("x", "x"), ("", "")]
        {
            assert_eq!(cluster_of(folder), wanted, "{folder}");
        }
    }
}
