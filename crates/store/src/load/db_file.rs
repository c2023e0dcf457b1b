//! etcd's database: which buckets it has, what they say of the member, and every revision of the `key` bucket.

use std::collections::HashSet;
use std::sync::Arc;

use super::bolt::{AtRest, Bolt, Bucket, BucketPair, Live, TreeDamage, Visited, Walk, freelist};
use super::buckets::{MetaBucket, alarm, auth, lease, member};
use super::free_pages;
use super::key_bucket::{KeyBucketReader, PageCopies};
use super::mvcc::RevisionKey;
use super::wal::{KeptLog, ServerState};
use crate::versions::{Layer, StoredChange, VersionsBuilder};
use crate::{Alarm, Member, PartGap, Revision, RevisionSpan};

const TOO_MANY: &str = "too many files at once";

/// What a database says besides its revisions.
#[derive(Clone, Debug, Default)]
pub(super) struct DatabaseFacts {
    /// Bytes of the file, without a snapshot's checksum.
    pub file_bytes: u64,
    /// Bytes of the pages that some tree reaches.
    pub in_use_bytes: u64,
    /// The raft index of the last entry applied to it.
    pub consistent_index: u64,
    /// Whether leases, users and roles are those after that entry, and not after a later one.
    pub has_exact_index: bool,
    /// How many members vote, where the file holds it.
    pub voters: Option<usize>,
    /// The members recorded in it.
    pub members: Vec<Member>,
    /// The oldest revision at which the whole key space can be read, and the newest.
    pub span: Option<RevisionSpan>,
    /// The alarms that members raised.
    pub alarms: Vec<Alarm>,
    /// What besides keys decides which requests etcd refuses, after the last entry applied.
    pub around: ServerState,
    /// What could not be read, each a sentence.
    pub damage: Vec<String>,
    /// What is missing without damage, one message per item.
    pub left_out: Vec<String>,
    /// What else is to be known, one message per item: content that is not etcd data, which of several files are read.
    pub notes: Vec<String>,
    /// How many rows of a kine database fill revisions that no transaction took, and how many rows it has.
    pub gap_rows: Option<(usize, usize)>,
    /// Whether it is a database without a SHA-256 at its end.
    pub lacks_checksum: bool,
    /// Revisions that none of its files has.
    pub gaps: Vec<PartGap>,
    /// The database's layer in the index.
    pub layer: Option<usize>,
    /// The newest revision in pages that the tree does not reach, where it is newer than the tree's newest and no checksum vouches for it.
    pub newest_unreached: Option<i64>,
    /// The log next to it.
    pub log: Option<Arc<KeptLog>>,
    /// The file, where nobody wrote it when it was opened.
    pub at_rest: Option<AtRest>,
}

/// Reads the database in `bolt` into `builder`, as one layer; returns the layer and what else the file says.
///
/// # Errors
///
/// A fragment, where the file is bbolt's but not etcd's, holds nothing that can be read, or does not fit the index.
pub(super) fn read(bolt: &mut Bolt, builder: &mut VersionsBuilder) -> Result<(usize, DatabaseFacts), String> {
    let image = match &bolt.live {
        Some(live) => builder.volatile_image(live.map().clone(), Arc::<Live>::clone(live)),
        None => builder.image(bolt.image.clone()),
    };
    let image = image.ok_or(TOO_MANY)?;
    let layer = builder.layer(Layer::default()).ok_or(TOO_MANY)?;
    builder.reserve_for(bolt.image.len());
    bolt.progress.begin(bolt.image.len());
    let copies = bolt.live.is_some().then(|| PageCopies::new(builder).ok_or(TOO_MANY)).transpose()?;
    let mapping = builder.image_bytes(image).clone();
    let mut reader = KeyBucketReader::new(mapping, image, layer, builder, copies);
    let Passes { tree, mut facts, mut visited, disputed, damage, is_compacted_meanwhile } = Passes::read(bolt, &mut reader)?;
    freelist::claim(bolt, &mut visited);
    facts.file_bytes = bolt.image.len() as u64;
    facts.lacks_checksum = bolt.checksum.is_none();
    facts.damage.splice(0..0, bolt.problems.iter().cloned());
    let (newest, bad, copies) = reader.finish();
    let looks_foreign = !tree.has_keys && facts.damage.is_empty() && damage.is_empty();
    if let Some(problem) = tree.compaction_unknown() {
        facts.damage.push(problem.to_owned());
        builder.set_compaction_unknown(layer);
    }
    let meta = tree.meta.unwrap_or_default();
    facts.damage.extend(meta.problems.iter().cloned());
    facts.damage.extend(damage_sentences(&damage));
    if bolt.live.is_none() {
        facts.damage.extend(freelist::problems(bolt, &visited));
    }
    let compacted = meta.compacted();
    let span = |newest: i64| {
        let newest = Revision(newest.max(compacted.map_or(1, |revision| revision.0)));
        RevisionSpan { oldest: compacted.unwrap_or(Revision(1)), newest, compacted }
    };
    builder.set_span(layer, span(newest));
    let has_gaps = builder.has_gaps(layer);
    let is_damaged = has_gaps || !bad.is_empty() || !tree.has_keys || !damage.is_empty();
    // Beyond the newest revision there may be pages of transactions that were never finished; they count only where the end is lost.
    let leads_nowhere = is_damaged && newest == 0;
    let has_lost_its_end = (tree.has_lost_its_end || leads_nowhere || (has_gaps && damage.is_empty())) && bolt.live.is_none();
    let last = if has_lost_its_end { i64::MAX } else { newest };
    let rescue = Rescue { layer, after: compacted.map_or(0, |compacted| compacted.0), last: is_damaged.then_some(last) };
    let unreached = rescue.read(bolt, image, &visited.without(&disputed), builder, copies, &mut facts);
    if let Some(newest_rescued) = unreached.newest_rescued {
        builder.set_span(layer, span(newest.max(newest_rescued)));
    }
    if looks_foreign && builder.changes_of(layer).next().is_none() && !unreached.has_past {
        return Err("a bbolt database without etcd's bucket `key`: it is not etcd's".to_owned());
    }
    facts.damage.extend(bad);
    // While a file is being written, pages that are prepared are zeros.
    if !facts.damage.is_empty() && bolt.live.is_none() {
        facts.damage.extend(zeroed_sentence(bolt, builder.changes_of(layer)));
    }
    if builder.changes_of(layer).next().is_none() && !unreached.has_past && !facts.damage.is_empty() {
        return Err(format!("nothing of it can be read: {}", facts.damage.join("; ")));
    }
    if meta.is_compaction_finished() && !is_compacted_meanwhile {
        builder.set_compaction_finished(layer);
    }
    (facts.span, facts.layer) = (builder.span(layer), Some(layer));
    if let Some(span) = facts.span {
        facts.newest_unreached =
            unreached.newest.filter(|&newest| bolt.checksum.is_none() && bolt.live.is_none() && newest > span.newest.0);
    }
    facts.alarms = facts.around.alarms.iter().filter_map(|&(member, alarm)| Alarm::new(member, alarm)).collect();
    facts.around.compacted = compacted.map_or(-1, |revision| revision.0);
    (facts.consistent_index, facts.has_exact_index) = (meta.consistent_index, meta.has_exact_index);
    facts.voters = meta.voters.or(Some(facts.members.len()).filter(|&members| members > 0));
    facts.at_rest = bolt.at_rest();
    facts.in_use_bytes = visited.count() * bolt.meta.page_size as u64;
    Ok((layer, facts))
}

/// What is taken from pages that no tree reaches.
struct Rescue {
    layer: usize,
    /// The revision up to which history was compacted: what lies there is no part of the state, but of the past.
    after: i64,
    /// The last revision that the tree may have lost; `None` where it is whole, so that nothing above `after` can be missing from it.
    last: Option<i64>,
}

/// What was taken from pages that no tree reaches.
struct Rescued {
    /// The newest revision that the tree has lost.
    newest_rescued: Option<i64>,
    /// The newest revision of all that is in such pages.
    newest: Option<i64>,
    /// Whether there is anything of the time before the last compaction.
    has_past: bool,
}

impl Rescue {
    /// Adds to the database's layer what its damaged tree has lost, and as a layer that answers for no revision what a compaction removed.
    fn read(
        &self,
        bolt: &Bolt,
        image: u16,
        reached: &Visited,
        builder: &mut VersionsBuilder,
        copies: Option<PageCopies>,
        facts: &mut DatabaseFacts,
    ) -> Rescued {
        let known: HashSet<(i64, i64)> = match self.last {
            Some(_) => builder.changes_of(self.layer).map(|found| (found.main, found.sub)).collect(),
            None => HashSet::new(),
        };
        let is_lost = |found: &StoredChange| self.last.is_some_and(|last| found.main <= last) && !known.contains(&(found.main, found.sub));
        let wanted = |found: &StoredChange| found.main <= self.after || is_lost(found);
        let mut unreached = free_pages::read(bolt, image, reached, wanted);
        if let Some(mut copies) = copies {
            unreached.changes.iter_mut().for_each(|found| copies.own(&bolt.image, found));
            // What is still the same was not being written over: nobody writes it again, as the tree has it no more.
            let again = free_pages::read(bolt, image, reached, wanted).changes;
            let place = |found: &StoredChange| (found.main, found.sub);
            let find = |found: &StoredChange| again.binary_search_by_key(&place(found), place).ok().map(|at| &again[at]);
            unreached.changes.retain(|found| find(found).is_some_and(|again| copies.is_again(&bolt.image, found, again)));
            copies.finish(builder);
        }
        let past = unreached.changes.partition_point(|found| found.main <= self.after);
        let (past, lost) = unreached.changes.split_at(past);
        if let [first, .., last] | [first @ last] = lost {
            facts.damage.push(format!(
                "its tree has lost {} changes of revisions {} to {} that are still in pages which it does not reach; they are shown",
                lost.len(),
                first.main,
                last.main
            ));
        }
        lost.iter().for_each(|found| builder.push(self.layer, found.clone()));
        match builder.layer(Layer::default()).filter(|_| !past.is_empty()) {
            Some(layer) => past.iter().for_each(|found| builder.push(layer, found.clone())),
            None if past.is_empty() => {}
            None => facts.left_out.push(format!("{} changes that are left in its free pages: too many files at once", past.len())),
        }
        Rescued { newest_rescued: lost.last().map(|found| found.main), newest: unreached.newest, has_past: !past.is_empty() }
    }
}

/// What was read of the trees, in as many passes as it took.
struct Passes {
    tree: Tree,
    facts: DatabaseFacts,
    visited: Visited,
    /// The pages of `visited` whose content was not read.
    disputed: Visited,
    damage: Vec<TreeDamage>,
    /// Whether changes may have been removed between the first pass and the last.
    is_compacted_meanwhile: bool,
}

impl Passes {
    /// Reads all buckets. Where a running etcd writes the file, each transaction that ends makes another pass begin with its tree: the bucket
    /// `key` goes on behind what was read for certain, as changes are only added at its end or removed.
    fn read(bolt: &mut Bolt, reader: &mut KeyBucketReader<'_>) -> Result<Self, String> {
        /// A compaction may go on for long, and the next hardly begins within one reading.
        const MAX_PASSES: usize = 4;
        let mut before = compaction(bolt)?;
        let mut passes = Self::read_once(bolt, reader)?;
        for _ in 0..MAX_PASSES {
            let after = passes.tree.compaction();
            if bolt.live.is_none() || (before == after && after.1) {
                break;
            }
            // A deletion may have been removed before it was read, after what it deleted was read: what is in the tree now was there before,
            // and so was its deletion, if there was one.
            let compacted = after.0.map_or(0, |revision| revision.0);
            let deletions = reader.deletions_upto(compacted);
            reader.forget_all();
            before = compaction(bolt)?;
            passes = Self::read_once(bolt, reader)?;
            reader.add_missing(deletions);
            passes.is_compacted_meanwhile = true;
        }
        Ok(passes)
    }

    fn read_once(bolt: &mut Bolt, reader: &mut KeyBucketReader<'_>) -> Result<Self, String> {
        /// Another pass takes some milliseconds, transactions end every 100.
        const MAX_PASS_ATTEMPTS: usize = 2000;
        let (mut visited, mut damage) = (Visited::new(bolt.room()), Vec::new());
        for _ in 0..MAX_PASS_ATTEMPTS {
            let mut walk = Walk::going_on(bolt, visited, damage);
            let mut facts = DatabaseFacts::default();
            let tree = Tree::read(bolt, &mut walk, reader, &mut facts);
            let newest = walk.check().then(|| reader.copy_newest());
            let newest = newest.filter(|_| walk.check());
            let sound_key = walk.take_sound_key();
            let disputed = walk.disputed;
            (visited, damage) = (walk.visited, walk.damage);
            if let Some(newest) = newest {
                reader.use_copies(newest);
                return Ok(Self { tree, facts, visited, disputed, damage, is_compacted_meanwhile: false });
            }
            reader.forget_after_pass(sound_key);
            bolt.catch_up()?;
        }
        Err("the running etcd that writes it ends its transactions faster than they can be read; try again, or take a snapshot".to_owned())
    }
}

/// Up to where the history of a database that is being written is compacted, and whether the compaction is finished.
fn compaction(bolt: &mut Bolt) -> Result<(Option<Revision>, bool), String> {
    const MAX_PASS_ATTEMPTS: usize = 2000;
    for _ in 0..MAX_PASS_ATTEMPTS {
        if bolt.live.is_none() {
            break;
        }
        let mut walk = Walk::going_on(bolt, Visited::new(bolt.room()), Vec::new());
        let found = bolt.bucket_named(b"meta").map(|bucket| MetaBucket::read(bolt, &mut walk, &bucket));
        if walk.check() {
            let meta = found.unwrap_or_default();
            return Ok((meta.compacted(), meta.is_compaction_finished()));
        }
        bolt.catch_up()?;
    }
    Ok((None, false))
}

/// What was met on the way through the trees.
struct Tree {
    meta: Option<MetaBucket>,
    /// Whether damage may have taken what `meta` says of the last compaction.
    is_compaction_lost: bool,
    has_keys: bool,
    /// Whether the newest revisions may be missing.
    has_lost_its_end: bool,
}

impl Tree {
    /// Why it is not known up to where the history is compacted, where it is not.
    fn compaction_unknown(&self) -> Option<&'static str> {
        match &self.meta {
            None => Some("the bucket `meta` is missing, so up to which revision the history was compacted is not known"),
            Some(_) if self.is_compaction_lost => {
                Some("the bucket `meta` is damaged, so up to which revision the history was compacted is not known")
            }
            Some(_) => None,
        }
    }

    /// Up to where the history is compacted, and whether the compaction is finished.
    fn compaction(&self) -> (Option<Revision>, bool) {
        self.meta.as_ref().map_or((None, true), |meta| (meta.compacted(), meta.is_compaction_finished()))
    }

    fn read(bolt: &Bolt, walk: &mut Walk<'_>, reader: &mut KeyBucketReader<'_>, facts: &mut DatabaseFacts) -> Self {
        let mut tree = Self { meta: None, is_compaction_lost: false, has_keys: false, has_lost_its_end: true };
        let mut buckets = Vec::new();
        if let Some(root) = bolt.root() {
            walk.bucket(&root, &mut |pair| buckets.push(pair));
        }
        let is_of_keys = |pair: &&BucketPair| bolt.image[pair.key.clone()] == *b"key";
        if !buckets.iter().filter(|pair| pair.is_bucket).any(|pair| is_of_keys(&pair)) {
            // The root leads elsewhere, perhaps into the very pages that hold the keys.
            walk.dispute_all();
        }
        // The keys first: where two buckets lead to one page, it is most likely theirs.
        buckets.sort_by_key(|pair| !is_of_keys(&pair));
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
                    walk.begin_keys(reader.after());
                    walk.bucket(&bucket, &mut |pair| reader.pair(&pair));
                    tree.has_keys = true;
                    tree.has_lost_its_end = walk.damage.iter().skip(damage_before).any(|damage| damage.to.is_none());
                    walk.end_of_keys();
                }
                b"meta" => {
                    let damage_before = walk.damage.len();
                    let meta = MetaBucket::read(bolt, walk, &bucket);
                    tree.is_compaction_lost = walk.damage.len() > damage_before && meta.compacted().is_none();
                    tree.meta = Some(meta);
                }
                b"members" => walk.bucket(&bucket, &mut |pair| facts.members.extend(member(&bolt.image[pair.value]))),
                b"alarm" => walk.bucket(&bucket, &mut |pair| facts.around.alarms.extend(alarm(&bolt.image[pair.key]))),
                b"lease" | b"auth" | b"authUsers" | b"authRoles" => read_around(bolt, walk, name, &bucket, &mut facts.around),
                _ => walk.bucket(&bucket, &mut |_| ()),
            }
        }
        // etcd makes these buckets when it starts; where one is not there, damage took it.
        if !walk.damage.is_empty() || !facts.damage.is_empty() {
            let is_lost = |name: &[u8]| !buckets.iter().any(|pair| bolt.image[pair.key.clone()] == *name);
            facts.around.has_other_leases |= is_lost(b"lease");
            facts.around.auth.take_if(|_| [&b"auth"[..], b"authUsers", b"authRoles"].into_iter().any(is_lost));
        }
        tree
    }
}

/// Reads a bucket of leases, users or roles. What cannot be read of them is not known.
fn read_around(bolt: &Bolt, walk: &mut Walk<'_>, name: &[u8], bucket: &Bucket, around: &mut ServerState) {
    let damage_before = walk.damage.len();
    let mut is_read = true;
    walk.bucket(bucket, &mut |pair| match name {
        b"lease" => match lease(&bolt.image[pair.value]) {
            Some(id) => drop(around.leases.insert(id)),
            None => is_read = false,
        },
        _ => is_read &= around.auth.as_mut().and_then(|of| auth(bolt, name, pair, of)).is_some(),
    });
    is_read &= walk.damage.len() == damage_before;
    match name {
        b"lease" => around.has_other_leases |= !is_read,
        _ if !is_read => around.auth = None,
        _ => {}
    }
}

/// A whole database has values with pages of zeros too: the bitmaps of addresses and ports. In a damaged one they are suspicious.
fn zeroed_sentence<'a>(bolt: &Bolt, changes: impl Iterator<Item = &'a StoredChange>) -> Option<String> {
    const MAX_PAGES_NAMED: usize = 20;
    let zeroed = changes.filter_map(|found| {
        let place = found.value.start as usize..found.value.start as usize + found.value.length as usize;
        Some((found.main, bolt.zeroed_page(&place)?))
    });
    let named: Vec<String> = zeroed.map(|(revision, page)| format!("{revision} (page {page})")).collect();
    let more = if named.len() > MAX_PAGES_NAMED { format!(" and {} more", named.len() - MAX_PAGES_NAMED) } else { String::new() };
    let first = named.iter().take(MAX_PAGES_NAMED).cloned().collect::<Vec<_>>().join(", ");
    (!named.is_empty())
        .then(|| format!("values continue in pages of nothing but zeros, which may be lost pages: those of revisions {first}{more}"))
}

/// Says which revisions each piece of damage may have cost.
fn damage_sentences(damage: &[TreeDamage]) -> Vec<String> {
    const MAX_SENTENCES: usize = 20;
    let revision = |key: &Option<Vec<u8>>| key.as_deref().and_then(RevisionKey::read);
    let mut sentences: Vec<String> = damage
        .iter()
        .take(MAX_SENTENCES)
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
    if damage.len() > MAX_SENTENCES {
        sentences.push(format!("{} more places are damaged", damage.len() - MAX_SENTENCES));
    }
    sentences
}
