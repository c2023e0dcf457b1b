//! What a build without buckets says of them.

use std::convert::Infallible;
use std::path::Path;

use crate::cli::outcome::{Error, Result};

#[expect(dead_code, reason = "nothing reads it without buckets")]
pub(in crate::cli) struct Wanted<'w> {
    pub within: &'w str,
    pub most: u64,
}

/// A bucket, which this build cannot open.
pub(in crate::cli) struct Bucket(Infallible);

impl Bucket {
    /// Says that there is none.
    ///
    /// # Errors
    /// Always.
    pub(in crate::cli) fn open(url: &str) -> Result<Self> {
        Err(Error::new(format!("{url}: this ketcd was built without object stores"))
            .hint("use a released ketcd, build it with them (cargo install --path . --locked --features object-store), or use a file"))
    }

    /// Nothing: there is no bucket.
    pub(in crate::cli) async fn fetch(&self, _: &Path, _: &mut Wanted<'_>) -> Result<Vec<String>> {
        match self.0 {}
    }

    /// Nothing: there is no bucket.
    pub(in crate::cli) async fn names_below(&self, _: &str) -> Result<Vec<String>> {
        match self.0 {}
    }

    /// Nothing: there is no bucket.
    pub(in crate::cli) fn put(&self, _: &str, _: &Path) -> Result<()> {
        match self.0 {}
    }
}
