//! Blocks that were unpacked last. Who asks for one key after the other, as a pass over the history does for the versions that were replaced, comes back
//! to the same blocks.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::index::Block;
use crate::Event;

/// Keys and values of kept blocks take no more bytes than this, but for the block that is needed now.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// The changes of a block and, where some are damaged, the revision after which they are missing.
pub(super) type BlockChanges = (Vec<Event>, Option<i64>);

/// The blocks, those that were needed last at the end.
#[derive(Default)]
pub(super) struct RecentBlocks(Mutex<VecDeque<Recent>>);

struct Recent {
    /// The name of its file.
    file: String,
    start: u64,
    bytes: usize,
    changes: Arc<BlockChanges>,
}

impl RecentBlocks {
    /// The changes of a block of a file, which `unpack` brings where they are not here.
    pub(super) fn get(&self, file: &str, block: &Block, unpack: impl FnOnce() -> BlockChanges) -> Arc<BlockChanges> {
        if let Some(changes) = self.known(file, block) {
            return changes;
        }
        // Nobody waits for what another unpacks; at worst both do.
        let changes = Arc::new(unpack());
        let bytes = changes.0.iter().map(|event| event.key_value.key.len() + event.key_value.value.len() + size_of::<Event>()).sum();
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.push_back(Recent { file: file.to_owned(), start: block.start, bytes, changes: Arc::clone(&changes) });
        let mut kept: usize = blocks.iter().map(|recent| recent.bytes).sum();
        while kept > MAX_KEPT_BYTES && blocks.len() > 1 {
            kept -= blocks.pop_front().map_or(0, |oldest| oldest.bytes);
        }
        changes
    }

    fn known(&self, file: &str, block: &Block) -> Option<Arc<BlockChanges>> {
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = blocks.iter().position(|recent| recent.start == block.start && recent.file == file)?;
        let recent = blocks.remove(place)?;
        let changes = Arc::clone(&recent.changes);
        blocks.push_back(recent);
        Some(changes)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{KeyValue, Origin, Revision};

    /// A block of a value of so many bytes.
    fn changes(bytes: usize) -> BlockChanges {
        let version = KeyValue {
            key: Bytes::from_static(b"/registry/pods/web/a"),
            value: vec![0; bytes].into(),
            create_revision: Revision(2),
            mod_revision: Revision(2),
            version: 1,
            replaced: Revision(0),
            lease: 0,
        };
        (vec![Event::put(version, Origin::Recording)], None)
    }

    #[test]
    fn a_block_is_unpacked_once_and_the_oldest_go() {
        let recent = RecentBlocks::default();
        let block = |start| Block { start, length: 1, after: 1, upto: 2 };
        let mut unpacked = Vec::new();
        for (file, start) in [("a", 1), ("a", 1), ("b", 1), ("a", 2), ("a", 1), ("b", 3), ("b", 1), ("a", 1)] {
            let found = recent.get(file, &block(start), || {
                unpacked.push((file, start));
                changes(MAX_KEPT_BYTES / 4)
            });
            assert_eq!(found.0[0].key_value.key, Bytes::from("/registry/pods/web/a"));
        }
        // Three have room: "b" 1 was the oldest when "b" 3 came, and "a" 2 when "b" 1 came back.
        assert_eq!(unpacked, [("a", 1), ("b", 1), ("a", 2), ("b", 3), ("b", 1)]);
        recent.get("c", &block(1), || changes(2 * MAX_KEPT_BYTES));
        recent.get("c", &block(1), || panic!("what is larger than the room is kept until another one comes"));
    }
}
