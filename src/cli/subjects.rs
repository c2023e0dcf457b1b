//! The objects that a command is about, each read whole, all of one revision.

use futures_util::TryStreamExt;

use super::absence::{Question, note_nothing};
use super::listing::Wanted;
use super::session::Session;
use super::stored::{self, StoredObject};
use super::{Error, Result};
use ketcd_kube::{RegistryKey, Resource};
use ketcd_store::{At, KeyRange, Want};

/// The objects that addresses name.
pub(super) struct Subjects {
    /// In the order of the addresses.
    pub objects: Vec<StoredObject>,
    /// Whether the addresses could name several.
    pub many: bool,
    /// The revision they were read at, for whatever else is read.
    pub at: At,
}

/// Reads the objects that the words name, and says on standard error which are not there.
///
/// # Errors
/// A word that names no kind, or a source that cannot be read.
pub(super) async fn read(session: &Session, command: &'static str, words: &[String]) -> Result<Subjects> {
    let addresses = session.addresses(words).await?;
    if addresses.is_empty() {
        return Err(Error::new("no kind was named").hint("write kind/namespace/name, or a kind"));
    }
    let prefix = session.prefix().await?;
    let at = match session.at {
        At::Newest => At::Revision(session.source.span().await?.newest),
        at @ At::Revision(_) => at,
    };
    let (mut objects, mut many) = (Vec::new(), addresses.len() > 1);
    let mut any = false;
    for address in &addresses {
        let (key, is_whole) = address.key(prefix);
        many |= !is_whole;
        let range = if is_whole { KeyRange::key(key.as_str()) } else { KeyRange::prefix(key.as_str()) };
        let mut entries = session.source.range(range, at, Want::Values).await?.entries;
        let mut here = 0;
        while let Some(entry) = entries.try_next().await? {
            here += 1;
            let kind = match address.kind() {
                Some(kind) => Some(kind.clone()),
                None => match RegistryKey::parse(prefix, &entry.key, session.kinds().await?).object().map(|object| object.resource) {
                    Some(Resource::Known(kind)) => Some(kind.clone()),
                    _ => None,
                },
            };
            objects.extend(stored::decoded(session, kind.as_ref(), entry));
        }
        any |= here > 0;
        if here == 0 && is_whole {
            Question::at(session, command).await?.report(session, address).await?;
        }
    }
    if !any {
        note_nothing(session, &Wanted::Addresses(addresses));
    }
    Ok(Subjects { objects, many, at })
}
