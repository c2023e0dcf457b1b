//! The objects that a command is about, each listed whole, all of one revision.

use std::pin::pin;
use std::sync::Arc;

use futures_util::TryStreamExt;

use super::body::ReadBody;
use super::objects::{Extent, Fetch};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::not_found::{Looked, NotFound};
use crate::related::owners::StoredObject;
use crate::selection::Selection;
use ketcd_kube::Address;
use ketcd_store::At;

/// The objects that addresses name.
pub struct Subjects {
    /// In the order of the addresses.
    pub objects: Vec<StoredObject>,
    /// Whether the addresses could name several.
    pub many: bool,
    /// The revision they were read at, for whatever else is read.
    pub at: At,
    /// The single objects that were named and are not there.
    pub absent: Vec<NotFound>,
    /// What was addressed, where nothing at all was found.
    pub nothing_of: Option<Vec<Address>>,
}

impl Cluster {
    /// Reads the objects that the words name and the selectors select.
    ///
    /// # Errors
    /// A word that names no kind, or a source that cannot be read.
    pub async fn subjects(&self, words: &[String]) -> Result<Subjects> {
        let addresses = self.selected_addresses(words).await?;
        if addresses.is_empty() {
            return Err(Error::NoKind);
        }
        let prefix = self.prefix().await?;
        let at = match self.at {
            At::Newest => At::Revision(self.source.span().await?.newest),
            at @ At::Revision(_) => at,
        };
        let fetch = Fetch::of(self, Selection::default(), Extent::Object).at(at);
        let (mut objects, mut absent, mut many) = (Vec::new(), Vec::new(), addresses.len() > 1 || !self.options.selection.takes_all());
        let mut any = false;
        for address in &addresses {
            let is_whole = address.key(prefix).1;
            let mut items = pin!(fetch.items(Some(address), usize::MAX));
            let mut here = 0;
            while let Some(item) = items.try_next().await? {
                here += 1;
                if let ReadBody::Object(object) = item.body {
                    objects.push(StoredObject { kind: item.kind, entry: item.entry, object: Arc::unwrap_or_clone(object) });
                }
            }
            many |= !is_whole || here > 1;
            any |= here > 0;
            if here == 0 && is_whole {
                absent.push(NotFound::of(self, address, Looked::At(self.revision().await?)).await?);
            }
        }
        Ok(Subjects { objects, many, at, absent, nothing_of: (!any).then_some(addresses) })
    }
}
