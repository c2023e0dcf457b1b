//! Which object a question is about.

use std::collections::HashMap;

use ketcd_cluster::browser::Life;
use ketcd_cluster::read::Keys;
use ketcd_render::contract::browser::PageName;
use ketcd_store::Revision;

use super::question::{Asked, failed};
use crate::wire::{Result, Status};

/// The object of a question.
pub(super) struct Subject<'a> {
    /// Its place in the index.
    pub place: usize,
    /// It.
    pub life: &'a Life,
    /// How it is named.
    pub name: PageName,
    /// Its key.
    pub keys: Keys,
}

impl Asked<'_> {
    /// Finds the object that the parameters `object` and `uid` name, at a revision where several had the name.
    pub(super) async fn subject(&self, at: Revision) -> Result<Subject<'_>> {
        let (index, word) = (self.stand.index().await?, self.query.needed("object")?);
        let keys = Keys::of(&self.stand.cluster, &[word.to_owned()]).await.map_err(failed)?;
        let [range] = &keys.ranges[..] else { return Err(Status::bad_request(format!("object: {word:?} names several objects"))) };
        if !keys.are_whole() {
            return Err(Status::bad_request(format!("object: {word:?} names several objects")));
        }
        let missing = || Status::nothing(format!("{word} is not in the readable history"));
        let mut place = index.life_at(&range.start, at).ok_or_else(missing)?;
        let mut same = index.lives_of(&range.start);
        // One object alone is the one that is meant: to read the uids of a large cluster takes long.
        if let (Some(uid), 2..) = (self.query.get("uid"), same.len()) {
            let families = self.stand.families().await?;
            place = same.find(|&other| &*families.of(other).uid == uid).unwrap_or(place);
        }
        Ok(Subject { place, life: &index.lives[place], name: self.name(place).await?, keys })
    }

    /// How an object of the index is named.
    pub(super) async fn name(&self, place: usize) -> Result<PageName> {
        let life = &self.stand.index().await?.lives[place];
        let uid = if self.stand.is_small().await? { self.stand.families().await?.of(place).uid.to_string() } else { String::new() };
        Ok(PageName {
            address: self.stand.cluster.name_of(&life.key).await?,
            kind: life.kind.to_string(),
            namespace: life.namespace.to_string(),
            name: life.name.to_string(),
            uid,
        })
    }

    /// How the objects of some keys are named to ketcd.
    pub(super) async fn addresses(&self, keys: &[&[u8]]) -> Result<HashMap<Vec<u8>, String>> {
        let mut addresses = HashMap::new();
        for &key in keys {
            if !addresses.contains_key(key) {
                addresses.insert(key.to_vec(), self.stand.cluster.name_of(key).await?);
            }
        }
        Ok(addresses)
    }
}
