//! The objects that a command is about, each read whole, all of one revision.

use futures_util::TryStreamExt;

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::not_found::{Looked, NotFound};
use crate::related::owners::{self, StoredObject};
use ketcd_kube::{Address, KeyResource, RegistryKey};
use ketcd_store::{At, KeyRange, Want};

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
        let (mut objects, mut absent, mut many) = (Vec::new(), Vec::new(), addresses.len() > 1 || !self.options.selection.takes_all());
        let mut any = false;
        for address in &addresses {
            let (key, is_whole) = address.key(prefix);
            many |= !is_whole;
            let range = if is_whole { KeyRange::key(key.as_str()) } else { KeyRange::prefix(key.as_str()) };
            let mut entries = self.source.range(range, at, Want::Values).await?.entries;
            let mut here = 0;
            while let Some(entry) = entries.try_next().await? {
                here += 1;
                let kind = match address.kind() {
                    Some(kind) => Some(kind.clone()),
                    None => match RegistryKey::parse(prefix, &entry.key, self.kinds().await?).object().map(|object| object.resource) {
                        Some(KeyResource::Known(kind)) => Some(kind.clone()),
                        _ => None,
                    },
                };
                objects.extend(owners::decoded(self, kind.as_ref(), entry));
            }
            any |= here > 0;
            if here == 0 && is_whole {
                absent.push(NotFound::of(self, address, Looked::At(self.revision().await?)).await?);
            }
        }
        Ok(Subjects { objects, many, at, absent, nothing_of: (!any).then_some(addresses) })
    }
}
