//! Whether a database that nobody wrote when it was opened was written since: a mapping shows what the file holds now.

use bytes::Bytes;

use super::{Bolt, meta};

/// A database file as it was opened.
#[derive(Clone, Debug)]
pub(in crate::load) struct AtRest {
    image: Bytes,
    /// The newest transaction that it had.
    transaction: u64,
}

impl AtRest {
    /// Whether another transaction has ended in it since.
    pub(in crate::load) fn is_written(&self) -> bool {
        let newest = meta::weigh(&self.image).map(|(meta, _)| meta.transaction);
        newest != Ok(self.transaction)
    }
}

impl Bolt {
    /// The file, unless it was being written when it was opened, or no meta page holds.
    pub(in crate::load) fn at_rest(&self) -> Option<AtRest> {
        let is_one = self.live.is_none() && self.meta.root.is_some();
        is_one.then(|| AtRest { image: self.image.clone(), transaction: self.meta.transaction })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::super::testing::{BucketSpec, file, meta_page};
    use super::*;
    use crate::load::mapped::map;

    #[test]
    fn a_transaction_that_ended_since_shows() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        std::fs::write(&path, file(4096, &[BucketSpec { name: b"key".to_vec(), pairs: Vec::new(), inline: true }])).unwrap();
        let bolt = Bolt::open(map("db", &File::open(&path).unwrap()).unwrap()).unwrap();
        let at_rest = bolt.at_rest().unwrap();
        assert!(!at_rest.is_written());
        let next = meta_page(0, 4096, bolt.meta.root.unwrap(), bolt.meta.high_water, bolt.meta.transaction + 1);
        File::options().write(true).open(&path).unwrap().write_all(&next).unwrap();
        assert!(at_rest.is_written());
    }
}
