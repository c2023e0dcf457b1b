//! Gathers stories: which keys were asked for, what else their stories need, and which objects belong to a story.

use std::collections::BTreeSet;
use std::pin::pin;

use aho_corasick::AhoCorasick;
use futures_util::TryStreamExt;

use ketcd_history::AttributedChange;
use ketcd_history::timeline::{Story, Timeline};
use ketcd_kube::{Address, FieldSet};
use ketcd_store::{Event, KeyRange, Until};

use super::observation::{RELATED_FIELDS, observe};
use super::owner_elsewhere;
use super::story_keys::{beside, needed};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::notice::Notice;
use crate::read::{Keys, Read, alive_names, events};

/// How many characters make a generated name unique.
const RANDOM_SUFFIX_CHARS: usize = 5;

impl Cluster {
    /// The objects asked for and selected: those addressed, else all of the namespace, else all if `everything` is set.
    pub async fn asked(&self, addresses: &[String], everything: bool) -> Result<Keys> {
        if !addresses.is_empty() {
            return Keys::of(self, addresses).await;
        }
        let (kinds, prefix) = (self.kinds().await?, self.prefix().await?);
        self.note_undefined();
        let quiet = |plural: &str| matches!(plural, "events" | "leases");
        let ranges = match &self.options.namespace {
            Some(namespace) => {
                let namespaced = kinds.iter().filter(|kind| kind.namespaced && kind.is_stored() && !quiet(&kind.plural));
                let own = kinds.find("namespaces").ok().map(|kind| KeyRange::key(kind.key(prefix, None, namespace)));
                namespaced.map(|kind| KeyRange::prefix(kind.key_prefix(prefix, Some(namespace)))).chain(own).collect()
            }
            None if everything => kinds
                .iter()
                .filter(|kind| kind.is_stored() && !quiet(&kind.plural))
                .map(|kind| KeyRange::prefix(kind.key_prefix(prefix, None)))
                .collect(),
            None => {
                return Err(Error::NoKind);
            }
        };
        self.selected(Keys::many(ranges)).await
    }
}

impl Cluster {
    /// Reads the changes of what was asked for and of all that its story needs.
    pub async fn timeline(&self, asked: &Keys) -> Result<Story> {
        self.story(Story::keeping(FieldSet::of(RELATED_FIELDS)), asked, true, |_| {}).await
    }

    /// The same, into a story that has not begun. `keeps_changes`: the story holds the changes of what was asked for themselves. `each` sees every
    /// change first, oldest first.
    pub(crate) async fn story(
        &self,
        mut story: Story,
        asked: &Keys,
        keeps_changes: bool,
        mut each: impl FnMut(&AttributedChange),
    ) -> Result<Story> {
        self.read_once().await?;
        let newest = self.revision().await?;
        let mut keys = asked.clone();
        match beside(self, asked, newest).await? {
            Some(beside) => {
                keys.ranges.extend(beside.keys().map(|key| KeyRange::key(&key[..])));
                keys.beside = beside;
            }
            None => {
                let needed = readable(self, needed(asked, self.kinds().await?, self.prefix().await?)).await?;
                keys.ranges.extend(match nodes(asked) {
                    Some(nodes) => naming(self, needed, &nodes, Until::Revision(newest)).await?,
                    None => needed,
                });
            }
        }
        let alive = alive_names(self, &keys, newest, |_| true).await?;
        let history = self.history(keys, newest).await?;
        history.clock().problems().iter().for_each(|problem| self.note(Notice::ClockProblem(problem.clone())));
        observe(self, &mut story, history, |key| keeps_changes && asked.contains(key), &mut each).await?;
        story.finish(self.moment().await?);
        story.mark_vanished(&alive);
        owner_elsewhere::add(self, asked, &mut story).await?;
        self.note_missed().await?;
        Ok(story)
    }
}

/// Those of the ranges that the user may read; what is in the others is missing.
async fn readable(cluster: &Cluster, ranges: Vec<KeyRange>) -> Result<Vec<KeyRange>> {
    let mut readable = Vec::new();
    for range in ranges {
        match cluster.may_read(&range).await? {
            true => readable.push(range),
            false => cluster.refused.miss(&range),
        }
    }
    Ok(readable)
}

/// The names of the nodes asked for, where nothing else was.
fn nodes(asked: &Keys) -> Option<Vec<&str>> {
    let name = |address| match address {
        &Address::Objects { ref kind, name: Some(ref name), .. } if kind.kind == "Node" => Some(name.as_str()),
        _ => None,
    };
    asked.addresses.iter().map(name).collect::<Option<Vec<_>>>().filter(|names| !names.is_empty())
}

/// Returns the keys with a version that names one of the nodes, their Events, and their siblings, one of which may replace them
/// elsewhere: a cluster's pods are many, a node's are few.
/// Values are searched as they are stored; sealed ones may name anything.
async fn naming(cluster: &Cluster, ranges: Vec<KeyRange>, nodes: &[&str], until: Until) -> Result<Vec<KeyRange>> {
    let names = AhoCorasick::new(nodes).map_err(|error| Error::invalid(error.to_string()))?;
    let keys = Keys::many(ranges);
    let (mut naming, mut others) = (BTreeSet::new(), BTreeSet::new());
    let mut events = pin!(events(cluster, keys, until));
    while let Some(read) = events.try_next().await? {
        let Read::Item(Event { key_value: entry, .. }) = read else { continue };
        if entry.value.starts_with(b"k8s:enc:") || names.is_match(&entry.value) || names.is_match(&entry.key) {
            others.remove(&entry.key);
            naming.insert(entry.key);
        } else if !naming.contains(&entry.key) {
            others.insert(entry.key);
        }
    }
    // An Event is called `<object>.<digits>`.
    let objects: BTreeSet<&[u8]> = naming.iter().filter_map(|key| path(key)).collect();
    let is_about = |event: &[u8]| event.iter().rposition(|&byte| byte == b'.').is_some_and(|dot| objects.contains(&event[..dot]));
    let about = others.iter().filter(|key| path(key).is_some_and(is_about));
    let families: BTreeSet<&[u8]> = naming.iter().filter_map(|key| family(key)).collect();
    let siblings = others.iter().filter(|key| family(key).is_some_and(|family| families.contains(family)));
    Ok(naming.iter().chain(about).chain(siblings).map(|key| KeyRange::key(key.to_vec())).collect())
}

/// What the keys of all pods of one controller have in common: a generated name ends in five random characters (`names.SimpleNameGenerator`,
/// apiserver pkg/storage/names/generate.go), and what a StatefulSet makes anew has the old name.
fn family(key: &[u8]) -> Option<&[u8]> {
    let (family, random) = key.split_at_checked(key.len().checked_sub(RANDOM_SUFFIX_CHARS)?)?;
    (!random.contains(&b'/')).then_some(family)
}

/// Namespace and name at the end of a key.
fn path(key: &[u8]) -> Option<&[u8]> {
    let slash = key.iter().rposition(|&byte| byte == b'/')?;
    let before = key[..slash].iter().rposition(|&byte| byte == b'/')?;
    Some(&key[before + 1..])
}

/// The objects that belong to a subject's own story.
pub fn related<'a>(story: &'a Story, subject: &Timeline) -> Vec<&'a Timeline> {
    match subject.subject.kind.as_str() {
        "Node" => story.of_node(&subject.subject.name),
        "Service" => story.of_service(subject),
        "HorizontalPodAutoscaler" => story.scaled_by(subject).into_iter().collect(),
        "Pod" | "PersistentVolumeClaim" | "PersistentVolume" | "StatefulSet" => {
            let mut found = story.controlled(subject);
            found.extend(story.storage_of(subject));
            found
        }
        _ => story.controlled(subject),
    }
}
