//! A walk through a bucket's tree in key order, that trusts no page.

use std::ops::{Range, RangeInclusive};

use super::layout::{self, Layout};
use super::page::{self, FLAG_BRANCH, FLAG_LEAF, PageHeader, PageId};
use super::{Bolt, Bucket, BucketPair, step};

/// A deeper tree is damage: at two children per page this is far beyond the largest file.
const MAX_DEPTH: usize = 64;

/// How many leaves of a file that is being written are read between two checks that they still count.
const LEAVES_BETWEEN_CHECKS: usize = 32;

/// A piece of a tree that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeDamage {
    /// The page.
    pub page: PageId,
    /// What is wrong with it: a fragment.
    pub problem: String,
    /// The first key that may be missing; `None`: from the bucket's beginning.
    pub from: Option<Vec<u8>>,
    /// The first key after it; `None`: to the bucket's end.
    pub to: Option<Vec<u8>>,
}

/// The pages that some tree reaches, each at most once.
pub(crate) struct Visited {
    bits: Vec<u64>,
    count: u64,
}

impl Visited {
    /// No page yet, of `pages`.
    pub(crate) fn new(pages: u64) -> Self {
        Self { bits: vec![0; (pages as usize).div_ceil(64)], count: 0 }
    }

    /// How many pages were reached.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Whether `page` was reached.
    pub(crate) fn contains(&self, page: PageId) -> bool {
        self.bits.get((page / 64) as usize).is_some_and(|word| word >> (page % 64) & 1 == 1)
    }

    /// Adds a page; false if it was there or does not exist.
    pub(crate) fn insert(&mut self, page: PageId) -> bool {
        let Some(word) = self.bits.get_mut((page / 64) as usize) else { return false };
        let bit = 1 << (page % 64);
        let new = *word & bit == 0;
        *word |= bit;
        self.count += u64::from(new);
        new
    }

    /// These pages, without `others`.
    pub(crate) fn without(&self, others: &Self) -> Self {
        let other = |index: usize| others.bits.get(index).copied().unwrap_or_default();
        let bits: Vec<u64> = self.bits.iter().enumerate().map(|(index, word)| word & !other(index)).collect();
        let count = bits.iter().map(|word| u64::from(word.count_ones())).sum();
        Self { bits, count }
    }
}

/// Walks buckets of one file, remembering which pages it has seen.
pub(crate) struct Walk<'a> {
    bolt: &'a Bolt,
    /// Every page reached so far.
    pub visited: Visited,
    /// Those of them whose content was not read, or only in part, because of what led to them: a search for lost changes looks into these too.
    pub disputed: Visited,
    /// What could not be read so far.
    pub damage: Vec<TreeDamage>,
    /// Pairs up to this key are passed over: they were visited before.
    after: Option<Vec<u8>>,
    /// How far the walk can be believed, where the file is being written.
    sound: Sound,
}

/// How far a walk through a file that is being written came before a transaction ended.
#[derive(Default)]
struct Sound {
    /// The leaves since.
    leaves: usize,
    damage: usize,
    /// The key of the last pair, and that of the last pair visited.
    key: Option<Vec<u8>>,
    last: Option<Range<usize>>,
    /// Whether the pairs are those of the bucket that is read in several passes.
    is_of_keys: bool,
    /// Whether pages of the tree may have been used again.
    is_overtaken: bool,
}

/// The keys between which a page's own keys must lie, as places in the file.
#[derive(Clone, Default)]
struct KeyBounds {
    from: Option<Range<usize>>,
    to: Option<Range<usize>>,
}

impl<'a> Walk<'a> {
    /// A walk that has seen nothing but the meta pages.
    #[cfg(test)]
    pub(crate) fn new(bolt: &'a Bolt) -> Self {
        Self::going_on(bolt, Visited::new(bolt.pages_held()), Vec::new())
    }

    /// A walk that has seen what others saw before, and the meta pages.
    pub(crate) fn going_on(bolt: &'a Bolt, visited: Visited, damage: Vec<TreeDamage>) -> Self {
        let sound = Sound { damage: damage.len(), ..Sound::default() };
        let disputed = Visited::new(bolt.pages_held());
        let mut walk = Self { bolt, visited, disputed, damage, after: None, sound };
        walk.visited.insert(0);
        walk.visited.insert(1);
        walk
    }

    /// Marks every page that was visited as one whose content was not read.
    pub(crate) fn dispute_all(&mut self) {
        self.disputed = self.visited.without(&Visited::new(0));
    }

    /// Calls `visit` with each pair of the bucket, in key order.
    pub(crate) fn bucket(&mut self, bucket: &Bucket, visit: &mut dyn FnMut(BucketPair)) {
        match bucket {
            Bucket::Tree(root) => self.tree(*root, &KeyBounds::default(), 0, visit),
            Bucket::Inline(place) => {
                let header = self.bolt.image.get(place.clone()).and_then(PageHeader::read);
                match header {
                    Some(header) if header.flags & FLAG_LEAF != 0 => {
                        self.leaf(&PageHeader { id: 0, ..header }, place.clone(), &KeyBounds::default(), visit)
                    }
                    _ => self.broken(0, "an inline bucket is not a leaf page", &KeyBounds::default()),
                }
            }
        }
    }

    /// Whether all that was visited lies in the tree of the meta page, as far as `key` says otherwise. In a file that is being written this holds
    /// until the next transaction has ended.
    pub(crate) fn check(&mut self) -> bool {
        let Some(live) = &self.bolt.live else { return true };
        let before = self.sound.key.clone();
        // Read before the file is asked.
        let key = self.sound.last.clone().and_then(|last| self.bolt.image.get(last)).map(<[u8]>::to_vec);
        if self.sound.is_overtaken || !live.is_newest(&self.bolt.meta) {
            self.sound.is_overtaken = true;
            self.damage.truncate(self.sound.damage);
            return false;
        }
        let Sound { is_of_keys, last, .. } = std::mem::take(&mut self.sound);
        let key = key.or(before);
        self.sound = Sound { damage: self.damage.len(), key, is_of_keys, last, ..Sound::default() };
        true
    }

    /// Begins the bucket that is read in several passes, behind the key `after`.
    pub(crate) fn begin_keys(&mut self, after: Option<&[u8]>) {
        self.check();
        self.after = after.map(<[u8]>::to_vec);
        self.sound.is_of_keys = true;
    }

    /// Ends the bucket whose pairs are passed over up to `after`: checks it, and passes over none of the others.
    pub(crate) fn end_of_keys(&mut self) {
        self.check();
        (self.sound.last, self.sound.is_of_keys, self.after) = (None, false, None);
    }

    /// The key of the last pair of that bucket which was in the tree for certain.
    pub(crate) fn take_sound_key(&mut self) -> Option<Vec<u8>> {
        self.sound.key.take()
    }

    fn tree(&mut self, id: PageId, bounds: &KeyBounds, depth: usize, visit: &mut dyn FnMut(BucketPair)) {
        if self.sound.is_overtaken {
            return;
        }
        if depth > MAX_DEPTH {
            return self.broken(id, "the tree is deeper than any real one", bounds);
        }
        step();
        let (header, place) = match self.page(id) {
            Ok(found) => found,
            Err(problem) => return self.broken(id, problem, bounds),
        };
        let pages = id..=id + u64::from(header.overflow);
        // A file that is being written is walked through several times.
        let is_claimed = self.bolt.live.is_none() && pages.clone().any(|page| self.visited.contains(page));
        for page in pages.clone() {
            self.visited.insert(page);
        }
        self.bolt.progress.add(place.len());
        if is_claimed {
            self.dispute(pages);
            return self.broken(id, "two places of the trees lead to it", bounds);
        }
        match header.flags {
            // Only a bucket without pairs has a leaf without elements: its root.
            FLAG_LEAF if header.count == 0 && depth > 0 => self.broken(id, "it is an empty leaf under a branch", bounds),
            FLAG_LEAF => self.leaf(&header, place, bounds, visit),
            FLAG_BRANCH if header.count == 0 => self.broken(id, "it is a branch without children", bounds),
            FLAG_BRANCH => self.branch(&header, place, bounds, depth, visit),
            _ => self.broken(id, "it is neither branch nor leaf", bounds),
        }
    }

    /// Marks pages whose content was not read because of what led to them.
    fn dispute(&mut self, pages: RangeInclusive<PageId>) {
        for page in pages {
            self.disputed.insert(page);
        }
    }

    /// The page's header and where the page lies, overflow included.
    fn page(&self, id: PageId) -> Result<(PageHeader, Range<usize>), &'static str> {
        let Bolt { image, meta, .. } = self.bolt;
        if id < 2 || id >= meta.high_water {
            return Err("there is no such page");
        }
        let start = usize::try_from(id).ok().and_then(|id| id.checked_mul(meta.page_size)).ok_or("there is no such page")?;
        let header = image.get(start..).and_then(PageHeader::read).ok_or("the file ends before it")?;
        if header.id != id {
            return Err("it bears another page's number");
        }
        if id + u64::from(header.overflow) >= meta.high_water {
            return Err("it reaches beyond the last page");
        }
        let length = meta.page_size * (header.overflow as usize + 1);
        if start + length > image.len() {
            return Err("the file ends within it");
        }
        if !page::elements_fit(header.count, length) {
            return Err("it claims more elements than fit");
        }
        Ok((header, start..start + length))
    }

    fn branch(&mut self, header: &PageHeader, place: Range<usize>, bounds: &KeyBounds, depth: usize, visit: &mut dyn FnMut(BucketPair)) {
        let page = &self.bolt.image[place.clone()];
        let layout = layout::examine(page, header.count, |index| page::branch_element(page, index).map(|element| element.key));
        let children = (0..layout.count).map(|index| {
            let element = page::branch_element(page, index).ok_or("reaches beyond the page")?;
            Ok((place.start + element.key.start..place.start + element.key.end, element.child))
        });
        let children = self.believed(header.id, &layout, children.collect(), bounds);
        for (index, (key, child)) in children.iter().enumerate() {
            let to = children.get(index + 1).map(|(key, _)| key.clone()).or_else(|| bounds.to.clone());
            if to.as_ref().is_some_and(|to| self.after.as_ref().is_some_and(|after| self.bolt.image[to.clone()] <= after[..])) {
                continue;
            }
            self.tree(*child, &KeyBounds { from: Some(key.clone()), to }, depth + 1, visit);
        }
    }

    fn leaf(&mut self, header: &PageHeader, place: Range<usize>, bounds: &KeyBounds, visit: &mut dyn FnMut(BucketPair)) {
        let page = &self.bolt.image[place.clone()];
        if !page::elements_fit(header.count, page.len()) {
            return self.broken(header.id, "it claims more elements than fit", bounds);
        }
        let layout = layout::examine(page, header.count, |index| {
            page::leaf_element(page, index).map(|element| element.key.start..element.value.end)
        });
        let pairs = (0..layout.count).map(|index| {
            let element = page::leaf_element(page, index).ok_or("reaches beyond the page")?;
            if element.has_unknown_flags {
                return Err("has flags that bbolt does not know");
            }
            let absolute = |range: Range<usize>| place.start + range.start..place.start + range.end;
            let pair = BucketPair { key: absolute(element.key), value: absolute(element.value), is_bucket: element.is_bucket };
            Ok((pair.key.clone(), pair))
        });
        let believed = self.believed(header.id, &layout, pairs.collect(), bounds);
        if believed.is_empty() {
            self.dispute(header.id..=header.id + u64::from(header.overflow));
        }
        for (key, pair) in believed {
            if self.after.as_ref().is_none_or(|after| self.bolt.image[key.clone()] > after[..]) {
                if self.sound.is_of_keys {
                    self.sound.last = Some(key);
                }
                step();
                visit(pair);
            }
        }
        self.sound.leaves += 1;
        if self.sound.leaves >= LEAVES_BETWEEN_CHECKS {
            self.check();
        }
    }

    /// The elements of a page that can be believed, each with the place of its key; what is wrong with the others is damage.
    fn believed<T>(
        &mut self,
        page: PageId,
        layout: &Layout,
        mut elements: Vec<Result<(Range<usize>, T), &'static str>>,
        bounds: &KeyBounds,
    ) -> Vec<(Range<usize>, T)> {
        if let Some(problem) = &layout.problem {
            self.broken(page, problem.clone(), bounds);
        }
        for &index in &layout.broken {
            elements[index] =
                elements[index].as_ref().map_or_else(|problem| Err(*problem), |_| Err("has a size or place that cannot be right"));
        }
        let mut sound: Vec<(Range<usize>, T)> = Vec::with_capacity(elements.len());
        let mut lost: Vec<(usize, &str)> = Vec::new();
        let mut elements = elements.into_iter().enumerate().peekable();
        while let Some((index, element)) = elements.next() {
            let last = sound.last().map(|(key, _)| key);
            let next = elements.peek().and_then(|(_, next)| next.as_ref().ok()).map(|(key, _)| key);
            let (key, value) = match element {
                Ok((key, value)) if self.in_order(&key, last, next, bounds) => (key, value),
                Ok(_) => {
                    lost.push((index, "is out of order"));
                    continue;
                }
                Err(problem) => {
                    lost.push((index, problem));
                    continue;
                }
            };
            let before = KeyBounds { from: last.or(bounds.from.as_ref()).cloned(), to: Some(key.clone()) };
            lost.drain(..).for_each(|(index, problem)| self.broken(page, format!("element {index} {problem}"), &before));
            // bbolt writes a page's first key into its parent with the page.
            if index == 0 && bounds.from.as_ref().is_some_and(|from| self.bolt.image[from.clone()] != self.bolt.image[key.clone()]) {
                self.broken(page, "its first key is not the one that leads to it", &before);
            }
            sound.push((key, value));
        }
        let behind = KeyBounds { from: sound.last().map(|(key, _)| key).or(bounds.from.as_ref()).cloned(), to: bounds.to.clone() };
        lost.into_iter().for_each(|(index, problem)| self.broken(page, format!("element {index} {problem}"), &behind));
        sound
    }

    /// Whether a key lies after the one before it and within the page's bounds. Where the next key does so and this one is greater,
    /// it is this one that is wrong.
    fn in_order(&self, key: &Range<usize>, last: Option<&Range<usize>>, next: Option<&Range<usize>>, bounds: &KeyBounds) -> bool {
        let bytes = |place: &Range<usize>| &self.bolt.image[place.clone()];
        let lies_right = |key: &Range<usize>| {
            let after = match last {
                Some(last) => bytes(key) > bytes(last),
                None => bounds.from.as_ref().is_none_or(|from| bytes(key) >= bytes(from)),
            };
            after && bounds.to.as_ref().is_none_or(|to| bytes(key) < bytes(to))
        };
        lies_right(key) && next.is_none_or(|next| bytes(key) < bytes(next) || !lies_right(next))
    }

    fn broken(&mut self, page: PageId, problem: impl Into<String>, bounds: &KeyBounds) {
        /// More are not kept: a file with this much damage needs no longer list.
        const MAX_DAMAGES_KEPT: usize = 10_000;
        if self.damage.len() < MAX_DAMAGES_KEPT {
            let key = |place: &Option<Range<usize>>| place.clone().and_then(|place| self.bolt.image.get(place)).map(<[u8]>::to_vec);
            let damage = TreeDamage { page, problem: problem.into(), from: key(&bounds.from), to: key(&bounds.to) };
            if !self.damage.contains(&damage) || self.bolt.live.is_none() {
                self.damage.push(damage);
            }
        }
    }
}
