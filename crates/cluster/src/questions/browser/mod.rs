//! What a page in a browser shows of a cluster: which objects there were and when each changed, of which it decodes only those in sight.

mod changes;
mod choice;
mod family;
mod index;
mod references;

pub use changes::Needed;
pub use choice::{Asked, Chosen, Counts, Grouping, Placed, RowGroup, choose};
pub use family::{Families, KnownFamily};
pub use index::{Index, Life};
pub use references::Referred;
