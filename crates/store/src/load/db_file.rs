//! etcd's database: which buckets it has, what they say of the member, and every revision of the `key` bucket.

use bytes::Bytes;

use super::bolt::{Bolt, Damage, Pair, Walk, freelist};
use super::buckets::{MetaBucket, alarm, member};
use super::free_pages;
use super::mvcc::{KeyValuePlaces, RevisionKey};
use crate::versions::{Layer, Location, StoredChange, VersionsBuilder};
use crate::{Alarm, EventKind, Member, Origin, Revision, RevisionSpan};

/// What a database says besides its revisions.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Bytes of the file, without a snapshot's checksum.
    pub file_bytes: u64,
    /// Bytes of the pages that some tree reaches.
    pub in_use_bytes: u64,
    /// The raft index of the last entry applied to it.
    pub consistent_index: u64,
    /// How many members vote, where the file holds it.
    pub voters: Option<usize>,
    /// The members recorded in it.
    pub members: Vec<Member>,
    /// The oldest revision at which the whole key space can be read, and the newest.
    pub span: Option<RevisionSpan>,
    /// The alarms that members raised.
    pub alarms: Vec<Alarm>,
    /// What could not be read, each a sentence.
    pub damage: Vec<String>,
    /// Content that is not etcd data, one message per item.
    pub left_out: Vec<String>,
    /// The database's layer in the index.
    pub layer: Option<usize>,
    /// The newest revision in pages that the tree does not reach, where it is newer than the tree's newest and no checksum vouches for it.
    pub newest_unreached: Option<i64>,
}

/// Reads the database in `bolt` into `builder`, as one layer; returns the layer and what else the file says.
///
/// # Errors
///
/// A fragment, where the file is bbolt's but not etcd's, holds nothing that can be read, or does not fit the index.
pub(super) fn read(bolt: &Bolt, builder: &mut VersionsBuilder) -> Result<(usize, Facts), String> {
    let mut facts = Facts { file_bytes: bolt.image.len() as u64, damage: bolt.problems.clone(), ..Facts::default() };
    let mut walk = Walk::new(bolt);
    let image = builder.image(bolt.image.clone()).ok_or("too many files at once")?;
    let layer = builder.layer(Layer::default()).ok_or("too many files at once")?;
    builder.reserve_for(bolt.image.len());
    let mut reader = Reader { image: &bolt.image, id: image, layer, builder, last: None, newest: 0, bad: Vec::new() };
    let tree = Tree::read(bolt, &mut walk, &mut reader, &mut facts);
    let Reader { newest, bad, .. } = reader;
    if !tree.has_keys && facts.damage.is_empty() && walk.damage.is_empty() {
        return Err("a bbolt database without etcd's bucket `key`: it is not etcd's".to_owned());
    }
    if tree.meta.is_none() {
        facts.damage.push("the bucket `meta` is missing, so up to which revision the history was compacted is not known".to_owned());
        builder.set_compaction_unknown(layer);
    }
    let meta = tree.meta.unwrap_or_default();
    facts.damage.extend(meta.problems.iter().cloned());
    facts.damage.extend(damage_sentences(&bolt.image, &walk.damage));
    facts.damage.extend(freelist::problems(bolt, &walk.visited));
    facts.damage.extend(bad);
    let compacted = meta.compacted();
    let span = |newest: i64| {
        let newest = Revision(newest.max(compacted.map_or(1, |revision| revision.0)));
        RevisionSpan { oldest: compacted.unwrap_or(Revision(1)), newest, compacted }
    };
    builder.set_span(layer, span(newest));
    let has_gaps = builder.has_gaps(layer);
    if has_gaps || !tree.has_keys || !walk.damage.is_empty() {
        // Beyond the newest revision there may be pages of transactions that were never finished; they count only where the end is lost.
        let last = if tree.has_lost_its_end || (has_gaps && walk.damage.is_empty()) { i64::MAX } else { newest };
        let lost = compacted.map_or(0, |compacted| compacted.0 + 1)..=last;
        if let Some((count, from, to)) = free_pages::rescue(bolt, image, &walk.visited, lost, layer, builder) {
            builder.set_span(layer, span(newest.max(to)));
            facts.damage.push(format!(
                "its tree has lost {count} changes of revisions {from} to {to} that are still in pages which it does not reach; they are shown"
            ));
        }
    }
    if builder.changes_of(layer).next().is_none() && !facts.damage.is_empty() {
        return Err(format!("nothing of it can be read: {}", facts.damage.join("; ")));
    }
    if meta.is_compaction_finished() {
        builder.set_compaction_finished(layer);
    }
    (facts.span, facts.layer) = (builder.span(layer), Some(layer));
    if let Some(span) = facts.span {
        free_pages::read(bolt, image, &walk.visited, span, builder);
        let newest = bolt.checksum.is_none().then(|| free_pages::newest(bolt, image, &walk.visited)).flatten();
        facts.newest_unreached = newest.filter(|&newest| newest > span.newest.0);
    }
    facts.consistent_index = meta.consistent_index;
    facts.voters = meta.voters.or(Some(facts.members.len()).filter(|&members| members > 0));
    facts.in_use_bytes = walk.visited.count() * bolt.meta.page_size as u64;
    Ok((layer, facts))
}

/// What was met on the way through the trees.
struct Tree {
    meta: Option<MetaBucket>,
    has_keys: bool,
    /// Whether the newest revisions may be missing.
    has_lost_its_end: bool,
}

impl Tree {
    /// Walks through all buckets.
    fn read(bolt: &Bolt, walk: &mut Walk<'_>, reader: &mut Reader<'_>, facts: &mut Facts) -> Self {
        let mut tree = Self { meta: None, has_keys: false, has_lost_its_end: true };
        let mut buckets = Vec::new();
        walk.bucket(&bolt.root(), &mut |pair| buckets.push(pair));
        for pair in buckets.iter().filter(|pair| pair.is_bucket) {
            let name = &bolt.image[pair.key.clone()];
            let bucket = match bolt.bucket_of(pair) {
                Ok(bucket) => bucket,
                Err(problem) => {
                    facts.damage.push(format!("bucket {}: {problem}", name.escape_ascii()));
                    continue;
                }
            };
            match name {
                b"key" => {
                    let damage_before = walk.damage.len();
                    walk.bucket(&bucket, &mut |pair| reader.revision(&pair));
                    tree.has_keys = true;
                    tree.has_lost_its_end = walk.damage[damage_before..].iter().any(|damage| damage.to.is_none());
                }
                b"meta" => tree.meta = Some(MetaBucket::read(bolt, walk, &bucket)),
                b"members" => walk.bucket(&bucket, &mut |pair| facts.members.extend(member(&bolt.image[pair.value]))),
                b"alarm" => walk.bucket(&bucket, &mut |pair| facts.alarms.extend(alarm(&bolt.image[pair.key]))),
                _ => walk.bucket(&bucket, &mut |_| ()),
            }
        }
        tree
    }
}

/// Takes the pairs of the `key` bucket in their order.
struct Reader<'a> {
    image: &'a Bytes,
    id: u16,
    layer: usize,
    builder: &'a mut VersionsBuilder,
    /// The change read last.
    last: Option<(i64, i64)>,
    newest: i64,
    bad: Vec<String>,
}

impl Reader<'_> {
    fn revision(&mut self, pair: &Pair) {
        let Some(key) = RevisionKey::read(&self.image[pair.key.clone()]).filter(|_| !pair.is_bucket) else {
            return self.bad(pair, "its key is no revision");
        };
        if self.last.replace((key.main, key.sub)) == Some((key.main, key.sub)) {
            return self.bad(pair, &format!("revision {}: it is a second change {}", key.main, key.sub));
        }
        // A restore with --bump-revision leaves a marker without a value.
        if pair.value.is_empty() && !key.tombstone {
            self.newest = self.newest.max(key.main);
            return self.builder.skip(key.main);
        }
        match found(self.image, self.id, key, pair.value.start, pair.value.len(), Origin::Db) {
            Ok(found) => {
                self.newest = self.newest.max(key.main);
                self.builder.push(self.layer, found);
            }
            Err(problem) => self.bad(pair, &format!("revision {}: {problem}", key.main)),
        }
    }

    fn bad(&mut self, pair: &Pair, problem: &str) {
        /// More are not listed one by one.
        const MOST: usize = 20;
        match self.bad.len() {
            0..MOST => self.bad.push(format!("an entry at byte {} cannot be read: {problem}", pair.key.start)),
            MOST => self.bad.push("more entries like these cannot be read".to_owned()),
            _ => {}
        }
    }
}

/// Makes a change of an entry: its revision key, and its `KeyValue` at `start`.
pub(super) fn found(
    bytes: &[u8],
    image: u16,
    key: RevisionKey,
    start: usize,
    length: usize,
    origin: Origin,
) -> Result<StoredChange, &'static str> {
    let read = KeyValuePlaces::read(&bytes[start..start + length]).ok_or("it is no KeyValue")?;
    if read.key.is_empty() {
        return Err("it has no key");
    }
    if !key.tombstone && read.mod_revision != key.main {
        return Err("it says to be of another revision");
    }
    if !is_plausible(key, &read) {
        return Err("its numbers do not fit each other");
    }
    let place = |range: std::ops::Range<usize>| Location { image, start: (start + range.start) as u64, length: range.len() as u32 };
    Ok(StoredChange {
        main: key.main,
        sub: key.sub,
        kind: if key.tombstone { EventKind::Delete } else { EventKind::Put },
        origin,
        key: place(read.key),
        value: place(if key.tombstone { 0..0 } else { read.value }),
        create_revision: read.create_revision,
        version: read.version,
        lease: read.lease,
    })
}

/// A put's numbers must fit each other; a tombstone has none.
fn is_plausible(key: RevisionKey, read: &KeyValuePlaces) -> bool {
    let KeyValuePlaces { create_revision, mod_revision, version, lease, .. } = *read;
    if key.tombstone {
        return create_revision == 0 && mod_revision == 0 && version == 0 && lease == 0 && read.value.is_empty();
    }
    // Each version takes a revision of its own.
    create_revision >= 1
        && (1..=mod_revision - create_revision + 1).contains(&version)
        && (version == 1) == (create_revision == mod_revision)
}

/// Says which revisions each piece of damage may have cost.
fn damage_sentences(image: &[u8], damage: &[Damage]) -> Vec<String> {
    const MOST: usize = 20;
    let revision = |place: &Option<std::ops::Range<usize>>| place.clone().and_then(|place| RevisionKey::read(&image[place]));
    let mut sentences: Vec<String> = damage
        .iter()
        .take(MOST)
        .map(|damage| {
            let lost = match (revision(&damage.from), revision(&damage.to)) {
                (Some(from), Some(to)) => format!("; revisions from {} to before {} may be missing", from.main, to.main),
                (Some(from), None) => format!("; revisions from {} on may be missing", from.main),
                (None, Some(to)) => format!("; revisions before {} may be missing", to.main),
                (None, None) => String::new(),
            };
            format!("page {} is damaged: {}{lost}", damage.page, damage.problem)
        })
        .collect();
    if damage.len() > MOST {
        sentences.push(format!("{} more places are damaged", damage.len() - MOST));
    }
    sentences
}
