//! Stories of many objects in parts, so that a large cluster is never held at once: what all namespaces have in common comes first and is kept, then
//! some namespaces come at a time, and are forgotten.
//!
//! What belongs to an object is in its namespace or in none: owners and owned, claims, Events. Other namespaces show who preempted a pod.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::future::ready;
use std::pin::pin;
use std::sync::Arc;
use std::vec;

use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};
use memchr::memmem::Finder;

use ketcd_history::AttributedChange;
use ketcd_history::clock::Clock;
use ketcd_history::timeline::{Notes, Story};
use ketcd_kube::{Address, FieldSet};
use ketcd_store::{At, Event, EventKind, Revision, Until};

use super::joined_namespaces::{Joined, joined};
use super::observation::{RELATED_FIELDS, observe};
use super::owner_elsewhere;
use super::shelves::Shelves;
use super::story_keys::needed;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::notice::Notice;
use crate::read::{History, Keys, Read, alive_names, events, is_in};

/// The most changes that a story of many objects holds at once, unless one namespace has more.
pub const MAX_CHANGES_AT_ONCE: usize = 20_000;

/// Namespaces that come together, with the slashes after them.
type Namespaces = HashSet<Vec<u8>>;

/// How a story is cut into parts.
pub(crate) struct StoryPlan<'c> {
    cluster: &'c Cluster,
    asked: Keys,
    /// Those asked for and all that their stories need.
    keys: Keys,
    shelves: Shelves,
    newest: Revision,
    survey: StorySurvey,
    parts: Vec<Namespaces>,
}

/// A story that comes in parts.
pub struct StoryParts<'c> {
    plan: StoryPlan<'c>,
    /// Whether the story tells of what was asked for itself, and not only observes it.
    tells: bool,
    clock: Arc<Clock>,
    alive: HashSet<Bytes>,
    story: Story,
    left: vec::IntoIter<Namespaces>,
}

/// What is known of a history of which nothing was decoded.
#[derive(Default)]
struct StorySurvey {
    /// How many changes each namespace has.
    changes: BTreeMap<Vec<u8>, usize>,
    /// The namespaces of what was asked for.
    asked: BTreeSet<Vec<u8>>,
    /// The revision of the last change.
    last: Option<Revision>,
    /// The Events that may say that a pod was preempted.
    preemptions: Vec<Event>,
}

impl Cluster {
    /// Returns the story of all objects of one kind in parts of at most so many changes, or of one namespace; `None` where [`Cluster::timeline`] is to tell it
    /// at once. `keeps_changes`: it holds the changes of what was asked for themselves. A running etcd is read once.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn timeline_parts(&self, asked: &Keys, keeps_changes: bool, most_changes: usize) -> Result<Option<StoryParts<'_>>> {
        let resource = |address: &Address| match address {
            Address::Objects { kind, .. } if kind.namespaced => Some(kind.resource()),
            _ => None,
        };
        let resources: Option<BTreeSet<String>> = asked.addresses.iter().map(resource).collect();
        if asked.are_whole() || resources.is_none_or(|resources| resources.len() != 1) {
            return Ok(None);
        }
        let Some(mut plan) = self.story_plan(asked, most_changes).await? else { return Ok(None) };
        let StorySurvey { changes, asked, .. } = &mut plan.survey;
        changes.retain(|namespace, _| asked.contains(namespace));
        plan.pack(&Joined::new(), most_changes);
        let story = Story::keeping(FieldSet::of(RELATED_FIELDS));
        let story = if keeps_changes { story } else { story.without_changes() };
        plan.begin(story, true, |_| {}).await.map(Some)
    }

    /// Returns how the story of many objects is cut into parts; `None` where it is to be told at once.
    pub(crate) async fn story_plan(&self, asked: &Keys, most_changes: usize) -> Result<Option<StoryPlan<'_>>> {
        if self.source.is_shared() || self.source.is_one_moment() {
            return Ok(None);
        }
        let (newest, oldest) = (self.revision().await?, self.source.span().await?.oldest);
        let mut keys = Keys { to_newest: self.at == At::Newest, ..asked.clone() };
        let (kinds, prefix) = (self.kinds().await?, self.prefix().await?);
        keys.ranges.extend(needed(asked, kinds, prefix));
        let shelves = Shelves::of(&keys, kinds, prefix);
        // Revisions are changes, and what was there before the oldest of them is shown by as many more.
        let mut changes = usize::try_from(newest.0 - oldest.0).unwrap_or_default();
        if changes <= most_changes {
            for range in keys.apart() {
                changes += usize::try_from(self.source.count(range, self.at).await?).unwrap_or_default();
            }
        }
        if changes <= most_changes || !shelves.have_namespaces() {
            return Ok(None);
        }
        let survey = self.survey_of(&keys, &shelves, asked, newest).await?;
        let mut plan = StoryPlan { cluster: self, asked: asked.clone(), keys, shelves, newest, survey, parts: Vec::new() };
        plan.pack(&Joined::new(), most_changes);
        Ok(Some(plan).filter(|plan| plan.parts.len() > 1))
    }

    async fn survey_of(&self, keys: &Keys, shelves: &Shelves, asked: &Keys, newest: Revision) -> Result<StorySurvey> {
        let event_keys = format!("{}/events/", self.prefix().await?);
        let (asked, says_preempted) = (asked.apart(), Finder::new(PREEMPTED));
        let mut survey = StorySurvey::default();
        let mut read = pin!(events(self, keys.clone(), Until::Revision(newest)));
        while let Some(read) = read.try_next().await? {
            let Read::Item(event) = read else { continue };
            survey.last = survey.last.max(Some(event.revision));
            let (key, value) = (&event.key_value.key, &event.key_value.value);
            let Some(namespace) = shelves.namespace(key) else { continue };
            match survey.changes.get_mut(namespace) {
                Some(changes) => *changes += 1,
                None => _ = survey.changes.insert(namespace.to_vec(), 1),
            }
            if !survey.asked.contains(namespace) && is_in(&asked, key) {
                survey.asked.insert(namespace.to_vec());
            }
            let is_preemption = || value.starts_with(b"k8s:enc:") || says_preempted.find(value).is_some();
            if event.kind == EventKind::Put && key.starts_with(event_keys.as_bytes()) && is_preemption() {
                survey.preemptions.push(event);
            }
        }
        Ok(survey)
    }
}

/// The reason of the Event of a pod that made room for another one.
const PREEMPTED: &str = "Preempted";

impl<'c> StoryPlan<'c> {
    /// Puts the namespaces of pods that preempted one another into the same part.
    pub(crate) async fn join_preemptions(&mut self, most_changes: usize) -> Result<()> {
        let mut notes = Notes::default();
        for Event { revision, key_value: entry, .. } in &self.survey.preemptions {
            let decoded = self.cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
            decoded.object().into_iter().for_each(|event| notes.observe(&entry.key, *revision, None, event));
        }
        let mut notes = notes.all();
        notes.retain(|note| note.reason == PREEMPTED);
        let joined = joined(self.cluster, &notes, self.newest).await?;
        self.pack(&joined, most_changes);
        Ok(())
    }

    /// Puts namespaces into parts, in their order but for those that are joined.
    fn pack(&mut self, joined: &Joined, most_changes: usize) {
        let changes = &self.survey.changes;
        let (mut parts, mut size, mut placed): (Vec<Namespaces>, usize, BTreeSet<&Vec<u8>>) = (Vec::new(), 0, BTreeSet::new());
        for namespace in changes.keys() {
            if placed.contains(namespace) {
                continue;
            }
            let with = joined.iter().find(|set| set.contains(namespace)).into_iter().flatten();
            let group: BTreeSet<&Vec<u8>> =
                with.filter_map(|other| changes.get_key_value(other)).map(|(name, _)| name).chain([namespace]).collect();
            let of_group: usize = group.iter().map(|name| changes[*name]).sum();
            if parts.is_empty() || size > 0 && size + of_group > most_changes {
                parts.push(Namespaces::new());
                size = 0;
            }
            size += of_group;
            parts.last_mut().into_iter().for_each(|part| part.extend(group.iter().map(|name| (*name).clone())));
            placed.extend(group);
        }
        self.parts = parts;
    }

    /// Tells what all namespaces have in common. `tells`: the story tells of what was asked for itself. `each` sees every change first, oldest first.
    pub(crate) async fn begin(mut self, mut story: Story, tells: bool, mut each: impl FnMut(&AttributedChange)) -> Result<StoryParts<'c>> {
        let cluster = self.cluster;
        let alive = alive_names(cluster, &self.keys, self.newest, |_| true).await?;
        let clock = cluster.clock_of_writers(&[], &[], &[]).await?;
        clock.problems().iter().for_each(|problem| cluster.note(Notice::ClockProblem(problem.clone())));
        for Event { revision, key_value: entry, .. } in std::mem::take(&mut self.survey.preemptions) {
            let decoded = cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
            if let Some(event) = decoded.object().filter(|event| event["reason"] == PREEMPTED) {
                story.observe_event(&entry.key, revision, clock.date(revision), event);
            }
        }
        let history = History::of_events(cluster, self.events(|namespace| namespace.is_none()), Arc::clone(&clock), |_| false);
        observe(cluster, &mut story, history, |key| tells && self.asked.contains(key), &mut each).await?;
        let last = self.survey.last.and_then(|last| clock.date(last)).map(|dated| dated.time);
        story.finish(cluster.moment().await?.max(last));
        story.mark_vanished(&alive);
        owner_elsewhere::add(cluster, &self.asked, &mut story).await?;
        story.settle();
        cluster.note_missed().await?;
        let left = std::mem::take(&mut self.parts).into_iter();
        Ok(StoryParts { plan: self, tells, clock, alive, story, left })
    }

    /// The events of some namespaces, and with `None` of what they have in common.
    fn events<'a>(&'a self, is_wanted: impl Fn(Option<&[u8]>) -> bool + Send + 'a) -> impl Stream<Item = Result<Read<Event>>> + Send + 'a {
        let is_wanted = move |read: &Read<Event>| match read {
            Read::Item(event) => is_wanted(self.shelves.namespace(&event.key_value.key)),
            Read::Gap { .. } => true,
        };
        events(self.cluster, self.keys.clone(), Until::Revision(self.newest)).try_filter(move |read| ready(is_wanted(read)))
    }
}

impl StoryParts<'_> {
    /// Forgets the last part, and tells the next; returns whether there is one. `each` sees every change of it first, oldest first.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn next(&mut self, mut each: impl FnMut(&AttributedChange)) -> Result<bool> {
        let Self { plan, tells, clock, alive, story, left } = self;
        story.forget_part();
        let Some(part) = left.next() else { return Ok(false) };
        let events = plan.events(|namespace| namespace.is_some_and(|namespace| part.contains(namespace)));
        let history = History::of_events(plan.cluster, events, Arc::clone(clock), |_| false);
        observe(plan.cluster, story, history, |key| *tells && plan.asked.contains(key), &mut each).await?;
        story.finish(None);
        story.mark_vanished(alive);
        owner_elsewhere::add(plan.cluster, &plan.asked, story).await?;
        Ok(true)
    }

    /// The last part of the story, and what all parts have in common.
    pub fn story(&self) -> &Story {
        &self.story
    }

    /// How many parts there are left.
    pub fn left(&self) -> usize {
        self.left.len()
    }
}
