//! etcd's database: which buckets it has, what they say of the member, and every revision of the `key` bucket.

use bytes::Bytes;

use super::bolt::{Bolt, Bucket, Damage, Pair, Walk};
use super::free_pages;
use super::mvcc::{KeyValuePlaces, RevisionKey};
use crate::store::versions::{Builder, Found, Layer, Place};
use crate::store::{EventKind, Member, Origin, Revision, RevisionSpan};

/// What a database says beside its revisions.
#[derive(Debug, Default)]
pub struct Facts {
    /// Bytes of the file, without a snapshot's checksum.
    pub file_bytes: u64,
    /// Bytes of the pages that some tree reaches.
    pub in_use_bytes: u64,
    /// The raft index of the last entry applied to it.
    pub consistent_index: u64,
    /// How many members vote, where the file says so.
    pub voters: Option<usize>,
    /// The members recorded in it.
    pub members: Vec<Member>,
    /// The oldest revision at which the whole key space can be read, and the newest.
    pub span: Option<RevisionSpan>,
    /// The alarms that members raised, each a sentence.
    pub alarms: Vec<String>,
    /// What could not be read, each a sentence.
    pub damage: Vec<String>,
    /// Objects that have no place in etcd, each a sentence.
    pub left_out: Vec<String>,
}

/// Reads the database in `bolt` into `builder`, as one layer; returns the layer and what else the file says.
///
/// # Errors
///
/// A fragment, where the file is bbolt's but not etcd's, or has no room in the index.
pub fn read(bolt: &Bolt, builder: &mut Builder) -> Result<(usize, Facts), String> {
    let mut facts = Facts { file_bytes: bolt.image.len() as u64, damage: bolt.problems.clone(), ..Facts::default() };
    let mut walk = Walk::new(bolt);
    let mut buckets = Vec::new();
    walk.bucket(&bolt.root(), &mut |pair| buckets.push(pair));
    let image = builder.image(bolt.image.clone()).ok_or("too many files at once")?;
    let layer = builder.layer(Layer::default()).ok_or("too many files at once")?;
    let mut reader = Reader { image: &bolt.image, id: image, layer, builder, newest: 0, bad: Vec::new() };
    let (mut meta, mut has_keys) = (MetaBucket::default(), false);
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
                has_keys = true;
                walk.bucket(&bucket, &mut |pair| reader.revision(&pair));
            }
            b"meta" => meta = MetaBucket::read(bolt, &mut walk, &bucket),
            b"members" => walk.bucket(&bucket, &mut |pair| facts.members.extend(member(&bolt.image[pair.value]))),
            b"alarm" => walk.bucket(&bucket, &mut |pair| facts.alarms.extend(alarm(&bolt.image[pair.key]))),
            _ => walk.bucket(&bucket, &mut |_| ()),
        }
    }
    if !has_keys && walk.damage.is_empty() {
        return Err("a bbolt database without etcd's bucket `key`: it is not etcd's".to_owned());
    }
    let Reader { newest, bad, .. } = reader;
    let compacted = meta.compacted();
    let newest = Revision(newest.max(compacted.map_or(1, |revision| revision.0)));
    let span = RevisionSpan { oldest: compacted.unwrap_or(Revision(1)), newest, compacted };
    builder.set_span(layer, span);
    facts.span = Some(span);
    free_pages::read(bolt, image, &walk.visited, span, builder);
    facts.consistent_index = meta.consistent_index;
    facts.voters = meta.voters.or(Some(facts.members.len()).filter(|&members| members > 0));
    facts.in_use_bytes = walk.visited.count() * bolt.meta.page_size as u64;
    facts.damage.extend(damage_sentences(&bolt.image, &walk.damage));
    facts.damage.extend(bad);
    Ok((layer, facts))
}

/// Takes the pairs of the `key` bucket in their order.
struct Reader<'a> {
    image: &'a Bytes,
    id: u16,
    layer: usize,
    builder: &'a mut Builder,
    newest: i64,
    bad: Vec<String>,
}

impl Reader<'_> {
    fn revision(&mut self, pair: &Pair) {
        let Some(key) = RevisionKey::read(&self.image[pair.key.clone()]).filter(|_| !pair.is_bucket) else {
            return self.bad(pair, "its key is no revision");
        };
        self.newest = self.newest.max(key.main);
        if pair.value.is_empty() {
            // A restore with --bump-revision leaves such a marker.
            return self.builder.skip(key.main);
        }
        match found(self.image, self.id, key, pair.value.start, pair.value.len(), Origin::Db) {
            Ok(found) => self.builder.push(self.layer, found),
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
pub fn found(bytes: &[u8], image: u16, key: RevisionKey, start: usize, length: usize, origin: Origin) -> Result<Found, &'static str> {
    let read = KeyValuePlaces::read(&bytes[start..start + length]).ok_or("it is no KeyValue")?;
    if read.key.is_empty() {
        return Err("it has no key");
    }
    if !key.tombstone && read.mod_revision != key.main {
        return Err("it says to be of another revision");
    }
    let place = |range: std::ops::Range<usize>| Place { image, start: (start + range.start) as u64, length: range.len() as u32 };
    Ok(Found {
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

/// What the bucket `meta` says.
#[derive(Default)]
struct MetaBucket {
    consistent_index: u64,
    scheduled_compaction: Option<i64>,
    finished_compaction: Option<i64>,
    voters: Option<usize>,
}

impl MetaBucket {
    fn read(bolt: &Bolt, walk: &mut Walk<'_>, bucket: &Bucket) -> Self {
        let mut meta = Self::default();
        walk.bucket(bucket, &mut |pair| {
            let value = &bolt.image[pair.value];
            match &bolt.image[pair.key] {
                b"consistent_index" => meta.consistent_index = value.try_into().map_or(0, u64::from_be_bytes),
                b"scheduledCompactRev" => meta.scheduled_compaction = RevisionKey::read(value).map(|key| key.main),
                b"confState" => meta.voters = voters(value),
                b"finishedCompactRev" => meta.finished_compaction = RevisionKey::read(value).map(|key| key.main),
                _ => {}
            }
        });
        meta
    }

    /// The revision of the last compaction. One that was under way may have removed entries already, so it counts as done.
    fn compacted(&self) -> Option<Revision> {
        self.scheduled_compaction.max(self.finished_compaction).filter(|&main| main > 0).map(Revision)
    }
}

/// Counts the voters of raft's configuration: JSON. While it changes there are two sets, and nothing is said.
fn voters(json: &[u8]) -> Option<usize> {
    let value: serde_json::Value = serde_json::from_slice(json).ok()?;
    let outgoing = value.get("voters_outgoing").and_then(|voters| voters.as_array()).map_or(0, Vec::len);
    value.get("voters")?.as_array().map(Vec::len).filter(|_| outgoing == 0)
}

/// Reads a member of the bucket `members`: JSON.
fn member(json: &[u8]) -> Option<Member> {
    let value: serde_json::Value = serde_json::from_slice(json).ok()?;
    let id = value.get("id")?.as_u64()?;
    let urls = value.get("clientURLs").and_then(|urls| urls.as_array()).into_iter().flatten();
    let endpoint = urls.filter_map(|url| url.as_str()).collect::<Vec<_>>().join(",");
    Some(Member { endpoint, id: format!("{id:x}"), ..Member::default() })
}

/// Reads an alarm: `AlarmMember {1 memberID, 2 alarm}`.
fn alarm(bytes: &[u8]) -> Option<String> {
    use super::mvcc::{Field, Fields};
    let (mut member, mut kind, mut fields) = (0, 0, Fields::new(bytes));
    while let Some(field) = fields.next()? {
        match field {
            (1, Field::Varint(id)) => member = id,
            (2, Field::Varint(n)) => kind = n,
            _ => {}
        }
    }
    let what = match kind {
        0 => return None,
        1 => "NOSPACE: the database is full and refuses writes",
        2 => "CORRUPT: members disagree about the data",
        _ => "unknown to ketcd",
    };
    Some(format!("member {member:x} raised the alarm {what}"))
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
