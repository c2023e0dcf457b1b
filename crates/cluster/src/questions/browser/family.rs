//! Which object owns which, and on which node a pod runs: a few fields of each object, once.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt};
use serde_json::Value;

use ketcd_kube::{Decoder, FieldSet};
use ketcd_scheduler::cluster::prefetch;
use ketcd_store::{At, Event, EventKind, Revision, Until, Want};

use super::index::Index;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::{Keys, Read, events};

/// How many changes are read at once, if that many are at hand.
const CHUNK_CHANGES: usize = 4_096;
/// How many owners above one another are followed: more would be a circle.
const MAX_OWNER_DEPTH: usize = 8;

/// What is known of an object's family.
#[derive(Clone, Debug, Default)]
pub struct KnownFamily {
    /// Its uid; empty where no version of it could be decoded.
    pub uid: Box<str>,
    /// Its controller or, without one, its first owner: its place in the index.
    pub owner: Option<usize>,
    /// The node that a pod is bound to.
    pub node: Option<Arc<str>>,
}

/// The families of an index, by the places of its objects: of all of them, or of those of one namespace.
#[derive(Debug)]
pub struct Families {
    of: Vec<KnownFamily>,
    /// Whether it owns something.
    owns: Vec<bool>,
}

/// What one version says.
struct Said {
    life: usize,
    uid: Box<str>,
    owner: Option<Box<str>>,
    node: Option<Box<str>>,
}

impl Families {
    /// Reads them: of all objects, or of a namespace's alone, which is enough to know what an object of it owns.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn read(cluster: &Cluster, index: &Index, namespace: Option<&str>) -> Result<Self> {
        let keys = namespace.map_or_else(Keys::all, |namespace| Keys::many(index.ranges_in(namespace)));
        let mut gathering = FamilyGathering { index, said: vec![None; index.lives.len()], nodes: HashMap::new() };
        let fields = FieldSet::of(["metadata.uid", "metadata.ownerReferences", "spec.nodeName"]);
        let decoder = cluster.decoder.clone();
        if cluster.source.is_shared() && cluster.is_long().await? {
            for range in keys.ranges {
                let mut entries = cluster.source.range(range, At::Revision(index.last), Want::Values).await?.entries;
                while let Some(entry) = entries.try_next().await? {
                    let event = Event::put(entry, ketcd_store::Origin::Live);
                    said(index, &decoder, &fields, &event).into_iter().for_each(|said| gathering.take(said));
                }
            }
            return Ok(gathering.finish());
        }
        let mut chunks = pin!(events(cluster, keys, Until::Revision(index.last)).ready_chunks(CHUNK_CHANGES));
        while let Some(chunk) = chunks.next().await {
            let mut unknown = Vec::new();
            for read in chunk {
                match read? {
                    Read::Item(event) if gathering.wants(&event) => unknown.push(event),
                    Read::Item(_) | Read::Gap { .. } => {}
                }
            }
            let taken: Result<(), Infallible> = prefetch(
                &unknown,
                |event| said(index, &decoder, &fields, event),
                |said| {
                    gathering.take(said);
                    Ok(())
                },
            );
            let Ok(()) = taken;
        }
        Ok(gathering.finish())
    }

    /// What is known of an object.
    pub fn of(&self, life: usize) -> &KnownFamily {
        &self.of[life]
    }

    /// Whether an object owns another one.
    pub fn owns(&self, life: usize) -> bool {
        self.owns[life]
    }

    /// The owners above an object, the nearest first.
    pub fn owners(&self, life: usize) -> Vec<usize> {
        std::iter::successors(self.of[life].owner, |&owner| self.of[owner].owner).take(MAX_OWNER_DEPTH).collect()
    }

    /// The objects that an object owns.
    pub fn owned(&self, life: usize) -> impl Iterator<Item = usize> {
        self.of.iter().enumerate().filter(move |(_, family)| family.owner == Some(life)).map(|(place, _)| place)
    }
}

struct FamilyGathering<'i> {
    index: &'i Index,
    said: Vec<Option<(Box<str>, Option<Box<str>>, Option<Arc<str>>)>>,
    nodes: HashMap<Box<str>, Arc<str>>,
}

impl FamilyGathering<'_> {
    /// Whether a version may say more than is known.
    fn wants(&self, event: &Event) -> bool {
        if event.kind == EventKind::Delete {
            return false;
        }
        let Some(life) = self.index.life_at(&event.key_value.key, event.revision) else { return false };
        let kind = &*self.index.lives[life].kind;
        !matches!(kind, "Event" | "Lease") && self.said[life].as_ref().is_none_or(|(_, _, node)| kind == "Pod" && node.is_none())
    }

    fn take(&mut self, Said { life, uid, owner, node }: Said) {
        let node = node.map(|node| Arc::clone(self.nodes.entry(node.clone()).or_insert_with(|| node.into())));
        match &mut self.said[life] {
            Some((.., known)) => *known = known.take().or(node),
            unknown => *unknown = Some((uid, owner, node)),
        }
    }

    fn finish(self) -> Families {
        let by_uid: HashMap<Box<str>, usize> = self
            .said
            .iter()
            .enumerate()
            .filter_map(|(life, said)| Some((said.as_ref()?.0.clone(), life)))
            .filter(|(uid, _)| !uid.is_empty())
            .collect();
        let mut owns = vec![false; self.said.len()];
        let family = |(life, said): (usize, Option<(Box<str>, Option<Box<str>>, Option<Arc<str>>)>)| {
            let (uid, owner, node) = said.unwrap_or_default();
            let owner =
                owner.and_then(|owner| by_uid.get(&owner)).copied().filter(|&owner| owner != life && self.index.may_own(owner, life));
            KnownFamily { uid, owner, node }
        };
        let of: Vec<KnownFamily> = self.said.into_iter().enumerate().map(family).collect();
        of.iter().filter_map(|family| family.owner).for_each(|owner| owns[owner] = true);
        Families { of, owns }
    }
}

/// What a version says of the family.
fn said(index: &Index, decoder: &Decoder, fields: &FieldSet, event: &Event) -> Option<Said> {
    let entry = &event.key_value;
    let life = index.life_at(&entry.key, Revision(entry.mod_revision.0))?;
    let decoded = decoder.only(fields).decode(&entry.key, &entry.value, entry.mod_revision.0);
    let object = decoded.object()?;
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(Box::<str>::from);
    let owners = object["metadata"]["ownerReferences"].as_array();
    let owner = owners.and_then(|owners| owners.iter().find(|owner| owner["controller"] == true).or(owners.first()));
    // The kind is not among the fields that were decoded.
    let node = (&*index.lives[life].kind == "Pod").then(|| text(&object["spec"]["nodeName"])).flatten();
    Some(Said { life, uid: text(&object["metadata"]["uid"]).unwrap_or_default(), owner: owner.and_then(|owner| text(&owner["uid"])), node })
}
