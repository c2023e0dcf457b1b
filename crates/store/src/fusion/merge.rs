//! Streams of several sources made into one, revision by revision: what several hold becomes one change with all of them as its sources.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use super::lineage::{disagreement, is_same};
use super::part::Part;
use crate::{Event, Origin, Result, Sources, WatchItem};

/// The streams of some parts, each with the number of its part.
pub(super) struct Merge<'a> {
    streams: Vec<(usize, BoxStream<'a, Result<WatchItem>>)>,
    /// The first event of each stream that was not yet taken.
    heads: Vec<Option<Event>>,
    /// Their revisions, and the places of the streams.
    order: BinaryHeap<Reverse<(i64, usize)>>,
    names: Names<'a>,
}

/// Two sources that hold different changes of a revision: a sentence.
pub(super) type Conflict = String;

impl<'a> Merge<'a> {
    /// Begins with the first event of each stream.
    ///
    /// # Errors
    ///
    /// One of the streams'.
    pub(super) async fn new(parts: &'a [Part], streams: Vec<(usize, BoxStream<'a, Result<WatchItem>>)>) -> Result<Self> {
        let heads = streams.iter().map(|_| None).collect();
        let mut merge = Self { streams, heads, order: BinaryHeap::new(), names: Names { parts, known: HashMap::new() } };
        for place in 0..merge.streams.len() {
            merge.advance(place).await?;
            merge.order.extend(merge.heads[place].as_ref().map(|event| Reverse((event.revision.0, place))));
        }
        Ok(merge)
    }

    /// The changes of the next revision that has some.
    ///
    /// # Errors
    ///
    /// One of the streams', or what two of them disagree about.
    pub(super) async fn next(&mut self) -> Result<Option<Result<Vec<Event>, Conflict>>> {
        let Some(&Reverse((revision, _))) = self.order.peek() else { return Ok(None) };
        let mut held = Vec::new();
        while let Some(&Reverse((next, place))) = self.order.peek()
            && next == revision
        {
            self.order.pop();
            while let Some(event) = self.heads[place].take_if(|event| event.revision.0 == revision) {
                held.push((self.streams[place].0, event));
                self.advance(place).await?;
            }
            self.order.extend(self.heads[place].as_ref().map(|event| Reverse((event.revision.0, place))));
        }
        Ok(Some(self.join(held)))
    }

    /// Takes the next event of a stream.
    async fn advance(&mut self, place: usize) -> Result<()> {
        while let Some(item) = self.streams[place].1.next().await.transpose()? {
            if let WatchItem::Event(event) = item {
                self.heads[place] = Some(event);
                break;
            }
        }
        Ok(())
    }

    /// Makes one change of each that several parts hold; the best copy stands.
    fn join(&mut self, mut held: Vec<(usize, Event)>) -> Result<Vec<Event>, Conflict> {
        let first = held[0].0;
        if held.iter().all(|(part, _)| *part == first) {
            let sources = self.names.of(&[first]);
            return Ok(held.into_iter().map(|(_, event)| Event { sources: sources.clone(), ..event }).collect());
        }
        held.sort_by_key(|(part, event)| (event.origin, *part));
        let mut joined: Vec<Joined> = Vec::new();
        for (part, event) in held {
            let same_key = joined.iter_mut().find(|known| known.event.key_value.key == event.key_value.key);
            match same_key {
                Some(known) if is_same(&known.event, &event) => known.add(part, &event),
                // A page that was written over in a way that does not show: the better copy stands.
                Some(_) if event.origin == Origin::FreePage => {}
                Some(known) => return Err(self.conflict(known, (part, &event))),
                None => match joined.iter().find(|known| known.has_place_of(&event)) {
                    Some(_) if event.origin == Origin::FreePage => {}
                    Some(known) => return Err(self.conflict(known, (part, &event))),
                    None => joined.push(Joined { has_sub: numbers_changes(event.origin), parts: vec![part], event }),
                },
            }
        }
        joined.sort_by(|one, other| {
            (one.event.sub_revision, &one.event.key_value.key).cmp(&(other.event.sub_revision, &other.event.key_value.key))
        });
        let names = &mut self.names;
        Ok(joined.into_iter().map(|mut known| known.finish(names)).collect())
    }

    fn conflict(&self, known: &Joined, (part, event): (usize, &Event)) -> Conflict {
        let name = |part: usize| &*self.names.parts[part].name;
        disagreement(event.revision.0, (name(known.parts[0]), Some(&known.event)), (name(part), Some(event)))
    }
}

/// Adds what a live etcd has of a revision to what files have of it.
///
/// # Errors
///
/// They disagree about a key.
pub(super) fn with_live(files: Vec<Event>, live: Vec<Event>) -> Result<Vec<Event>, Conflict> {
    let mut joined = files;
    for copy in live {
        let Some(known) = joined.iter_mut().find(|known| known.key_value.key == copy.key_value.key) else {
            joined.push(copy);
            continue;
        };
        if !is_same(known, &copy) {
            // A page that was written over in a way that does not show: the better copy stands.
            if known.origin == Origin::FreePage {
                *known = copy;
                continue;
            }
            let name = |event: &Event| event.sources.names().first().cloned().unwrap_or_default();
            return Err(disagreement(copy.revision.0, (&name(known), Some(known)), (&name(&copy), Some(&copy))));
        }
        known.origin = known.origin.min(copy.origin);
        known.sources = Sources::new(known.sources.names().iter().chain(copy.sources.names()).cloned().collect());
        if known.key_value.version == 0 {
            (known.key_value.version, known.key_value.create_revision) = (copy.key_value.version, copy.key_value.create_revision);
        }
    }
    Ok(joined)
}

/// Whether the number of a change among those of its revision is etcd's own: a watch of some keys counts only those.
fn numbers_changes(origin: Origin) -> bool {
    matches!(origin, Origin::Db | Origin::Wal | Origin::OldValue | Origin::FreePage)
}

/// A change and the parts that hold it.
struct Joined {
    event: Event,
    parts: Vec<usize>,
    has_sub: bool,
}

impl Joined {
    fn add(&mut self, part: usize, copy: &Event) {
        if !self.parts.contains(&part) {
            self.parts.push(part);
        }
        if !self.has_sub && numbers_changes(copy.origin) {
            (self.event.sub_revision, self.has_sub) = (copy.sub_revision, true);
        }
        let known = &mut self.event.key_value;
        if known.version == 0 && copy.key_value.version > 0 {
            (known.version, known.create_revision) = (copy.key_value.version, copy.key_value.create_revision);
        }
        if known.replaced.0 == 0 {
            known.replaced = copy.key_value.replaced;
        }
    }

    /// Whether another key's change has the same number in the revision, where both numbers are etcd's.
    fn has_place_of(&self, event: &Event) -> bool {
        self.has_sub && numbers_changes(event.origin) && self.event.sub_revision == event.sub_revision
    }

    fn finish(&mut self, names: &mut Names<'_>) -> Event {
        self.parts.sort_unstable();
        let sources = names.of(&self.parts);
        Event { sources, ..self.event.clone() }
    }
}

/// The names of parts, shared by the changes that the same parts hold.
struct Names<'a> {
    parts: &'a [Part],
    known: HashMap<Vec<usize>, Sources>,
}

impl Names<'_> {
    fn of(&mut self, parts: &[usize]) -> Sources {
        if let Some(known) = self.known.get(parts) {
            return known.clone();
        }
        let names: Vec<Arc<str>> = parts.iter().map(|&part| Arc::clone(&self.parts[part].name)).collect();
        let sources = Sources::new(names.into());
        self.known.insert(parts.to_vec(), sources.clone());
        sources
    }
}
