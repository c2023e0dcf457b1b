//! Recordings: what a running etcd went through, written down as it happens and read as a [`Source`](crate::Source).
//!
//! A recording is a directory. `NNNNNNNNNN.changes` holds changes, `NNNNNNNNNN.state` every key that was alive at one revision; a file that is
//! being written ends in `.open` (changes, which can be read) or `.tmp` (a state, which cannot). `manifest.json` lists the complete files with
//! their revisions, times and SHA-256.
//!
//! A file is made of chunks (`chunk`): a header of 48 bytes, and what it says. The first is JSON: what the recording is of. Changes are etcd's
//! `mvccpb.KeyValue` (`change`), compressed in blocks of about 1 MiB that are flushed chunk by chunk (`block`). Each chunk says which revisions it
//! has all changes of, so that whatever is lost shows as a gap. Behind the last one stands an index of keys (`index`).
//!
//! A bundle is a slice of a history (`bundle`): a recording of some objects, complete from the beginning, with the times at which its source dated the
//! revisions. It is one file: a tar archive of the directory (`packed`), which is read where it lies.
//!
//! The state at a revision is a state file and the changes after it, so nothing older than that is read for it.

mod block;
mod bundle;
#[cfg(test)]
mod bundle_model;
mod change;
mod chunk;
mod continuity;
mod coverage;
mod directory;
mod disk;
mod facts;
#[cfg(test)]
mod faults;
mod file;
mod file_reader;
mod files;
#[cfg(test)]
mod hostile;
mod index;
mod intake;
mod keep;
mod look;
#[cfg(test)]
mod model;
mod packed;
mod recent_blocks;
mod recorder;
mod segment;
mod source;
#[cfg(test)]
mod tests;

pub use bundle::{BundleWriter, Bundled, WrittenBetween};
pub use continuity::{Continuity, continuity};
pub use facts::{BundleScope, MissingRevisions, RecordingScope};
pub use keep::Keep;
pub use packed::begins_as_packed;
pub use recorder::{Recorded, Recorder, RecorderOptions};

pub(crate) use directory::is_recording;
pub(crate) use packed::is_packed;
pub(crate) use source::RecordingSource;
