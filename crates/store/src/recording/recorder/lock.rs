//! Keeps a second recorder away from a directory for as long as the first one lives.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::place::{failed, refuse};
use crate::Result;
use crate::recording::disk;

/// The lock of a directory, given back when it is dropped or the process ends.
pub(super) struct Lock(File);

impl Lock {
    /// # Errors
    ///
    /// Another recorder holds it, or its file cannot be opened.
    pub(super) fn take(directory: &Path) -> Result<Self> {
        let path = directory.join("lock");
        let file = disk::open_lock(&path).map_err(failed(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(refuse(directory, "another ketcd record writes to it".to_owned())),
            Err(TryLockError::Error(cause)) => Err(failed(&path)(cause)),
        }
    }
}

impl Drop for Lock {
    /// Closing is not enough: a child process has a copy of the descriptor between its fork and its exec, and the lock with it.
    fn drop(&mut self) {
        // The process that ends gives it back anyway.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_given_back_though_its_descriptor_has_a_copy() {
        let directory = tempfile::tempdir().unwrap();
        let lock = Lock::take(directory.path()).unwrap();
        let copy = lock.0.try_clone().unwrap();
        assert!(Lock::take(directory.path()).is_err());
        drop(lock);
        assert!(Lock::take(directory.path()).is_ok());
        drop(copy);
    }
}
