//! The directory that indexes are kept in, which counts only where nobody else can have written it: it may lie in the home of another user, as with a
//! `sudo` that keeps `HOME`.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Why something was not opened.
#[derive(Debug)]
pub(super) enum NotOpened {
    /// There is nothing, or it cannot be read.
    Absent,
    /// Others than this user can have written it: a fragment.
    #[cfg_attr(not(unix), expect(dead_code, reason = "nothing is kept where files have no owners"))]
    Foreign(String),
}

#[derive(Debug)]
pub(super) struct OwnDirectory {
    path: PathBuf,
    #[cfg(unix)]
    handle: File,
}

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};

    use rustix::fs::{Mode, OFlags, openat};
    use rustix::process::geteuid;

    use super::*;

    /// The bits of a mode that let others write.
    const OTHERS_WRITE: u32 = 0o022;

    impl OwnDirectory {
        pub(in super::super) fn open(path: &Path) -> Result<Self, NotOpened> {
            // If it cannot be opened without following a link, it is not our directory.
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let handle = match rustix::fs::open(path, flags, Mode::empty()) {
                Ok(handle) => File::from(handle),
                Err(_) if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) => {
                    return Err(NotOpened::Foreign(format!("{} is a symbolic link", path.display())));
                }
                Err(_) => return Err(NotOpened::Absent),
            };
            let metadata = handle.metadata().map_err(|_| NotOpened::Absent)?;
            check(&metadata, path)?;
            Ok(Self { path: path.to_owned(), handle })
        }

        /// Opens a directory, which is made for this user alone if need be: not within another user's home.
        pub(in super::super) fn make(path: &Path) -> io::Result<Option<Self>> {
            let there = path.ancestors().find_map(|above| fs::metadata(above).ok());
            if !there.is_some_and(|above| [0, geteuid().as_raw()].contains(&above.uid())) {
                return Ok(None);
            }
            fs::DirBuilder::new().mode(0o700).recursive(true).create(path)?;
            Ok(Self::open(path).ok())
        }

        /// Opens a file in it for reading; it never waits.
        pub(in super::super) fn file(&self, name: &str) -> Result<File, NotOpened> {
            // Nobody opens the other end of a pipe.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let path = self.path.join(name);
            let file = match openat(&self.handle, name, flags, Mode::empty()) {
                Ok(file) => File::from(file),
                Err(rustix::io::Errno::LOOP) => return Err(NotOpened::Foreign(format!("{} is a symbolic link", path.display()))),
                Err(_) => return Err(NotOpened::Absent),
            };
            let metadata = file.metadata().map_err(|_| NotOpened::Absent)?;
            if !metadata.is_file() || metadata.nlink() > 1 {
                return Err(NotOpened::Foreign(format!("{} is not a plain file", path.display())));
            }
            check(&metadata, &path)?;
            Ok(file)
        }
    }

    fn check(metadata: &fs::Metadata, path: &Path) -> Result<(), NotOpened> {
        if metadata.uid() != geteuid().as_raw() {
            return Err(NotOpened::Foreign(format!("{} belongs to another user", path.display())));
        }
        if metadata.mode() & OTHERS_WRITE != 0 {
            return Err(NotOpened::Foreign(format!("other users can write {}", path.display())));
        }
        Ok(())
    }
}

#[cfg(not(unix))]
impl OwnDirectory {
    pub(super) fn open(_: &Path) -> Result<Self, NotOpened> {
        Err(NotOpened::Absent)
    }

    pub(super) fn make(_: &Path) -> io::Result<Option<Self>> {
        Ok(None)
    }

    pub(super) fn file(&self, _: &str) -> Result<File, NotOpened> {
        Err(NotOpened::Absent)
    }
}

impl OwnDirectory {
    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
