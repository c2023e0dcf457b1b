//! A walk through a bucket's tree in key order, that trusts no page.

use std::ops::Range;

use super::page::{self, FLAG_BRANCH, FLAG_LEAF, Header, PageId};
use super::{Bolt, Bucket, Pair};

/// Deeper trees than this are no trees: at two children a page this is far beyond the largest file.
const MAX_DEPTH: usize = 64;

/// A piece of a tree that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The page.
    pub page: PageId,
    /// What is wrong with it: a fragment.
    pub problem: String,
    /// The first key that may be missing, as a place in the file; `None`: from the bucket's beginning.
    pub from: Option<Range<usize>>,
    /// The first key after it, as a place in the file; `None`: to the bucket's end.
    pub to: Option<Range<usize>>,
}

/// The pages that some tree reaches, each at most once.
pub struct Visited {
    bits: Vec<u64>,
    count: u64,
}

impl Visited {
    /// No page yet, of `pages`.
    pub fn new(pages: u64) -> Self {
        Self { bits: vec![0; (pages as usize).div_ceil(64)], count: 0 }
    }

    /// How many pages were reached.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether `page` was reached.
    pub fn contains(&self, page: PageId) -> bool {
        self.bits.get((page / 64) as usize).is_some_and(|word| word >> (page % 64) & 1 == 1)
    }

    /// Adds a page; false if it was there or does not exist.
    pub fn insert(&mut self, page: PageId) -> bool {
        let Some(word) = self.bits.get_mut((page / 64) as usize) else { return false };
        let bit = 1 << (page % 64);
        let new = *word & bit == 0;
        *word |= bit;
        self.count += u64::from(new);
        new
    }
}

/// Walks buckets of one file, remembering which pages it has seen.
pub struct Walk<'a> {
    bolt: &'a Bolt,
    /// Every page reached so far.
    pub visited: Visited,
    /// What could not be read so far.
    pub damage: Vec<Damage>,
}

/// The keys between which a page's own keys must lie, as places in the file.
#[derive(Clone, Default)]
struct Bounds {
    from: Option<Range<usize>>,
    to: Option<Range<usize>>,
}

impl<'a> Walk<'a> {
    /// A walk that has seen nothing but the meta pages and the freelist.
    pub fn new(bolt: &'a Bolt) -> Self {
        let mut walk = Self { bolt, visited: Visited::new(bolt.meta.high_water), damage: Vec::new() };
        walk.visited.insert(0);
        walk.visited.insert(1);
        if let Some(freelist) = bolt.meta.freelist
            && let Ok((header, _)) = walk.page(freelist)
        {
            (0..=u64::from(header.overflow)).for_each(|n| {
                walk.visited.insert(freelist + n);
            });
        }
        walk
    }

    /// Calls `visit` with each pair of the bucket, in key order.
    pub fn bucket(&mut self, bucket: &Bucket, visit: &mut dyn FnMut(Pair)) {
        match bucket {
            Bucket::Tree(root) => self.tree(*root, &Bounds::default(), 0, visit),
            Bucket::Inline(place) => {
                let header = self.bolt.image.get(place.clone()).and_then(Header::read);
                match header {
                    Some(header) if header.flags & FLAG_LEAF != 0 => self.leaf(&header, place.clone(), 0, &Bounds::default(), visit),
                    _ => self.broken(0, "an inline bucket is no leaf page", &Bounds::default()),
                }
            }
        }
    }

    fn tree(&mut self, id: PageId, bounds: &Bounds, depth: usize, visit: &mut dyn FnMut(Pair)) {
        if depth > MAX_DEPTH {
            return self.broken(id, "the tree is deeper than any real one", bounds);
        }
        let (header, place) = match self.page(id) {
            Ok(found) => found,
            Err(problem) => return self.broken(id, problem, bounds),
        };
        for page in id..=id + u64::from(header.overflow) {
            if !self.visited.insert(page) {
                return self.broken(id, "two places of the trees lead to it", bounds);
            }
        }
        match header.flags {
            FLAG_LEAF => self.leaf(&header, place, id, bounds, visit),
            FLAG_BRANCH => self.branch(&header, place, bounds, depth, visit),
            _ => self.broken(id, "it is neither branch nor leaf", bounds),
        }
    }

    /// The page's header and where the page lies, overflow included.
    fn page(&self, id: PageId) -> Result<(Header, Range<usize>), &'static str> {
        let Bolt { image, meta, .. } = self.bolt;
        if id < 2 || id >= meta.high_water {
            return Err("there is no such page");
        }
        let start = usize::try_from(id).ok().and_then(|id| id.checked_mul(meta.page_size)).ok_or("there is no such page")?;
        let header = image.get(start..).and_then(Header::read).ok_or("the file ends before it")?;
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

    fn branch(&mut self, header: &Header, place: Range<usize>, bounds: &Bounds, depth: usize, visit: &mut dyn FnMut(Pair)) {
        let page = &self.bolt.image[place.clone()];
        let mut children: Vec<(Range<usize>, PageId)> = Vec::with_capacity(header.count);
        for index in 0..header.count {
            let last = children.last().map(|(key, _)| key).or(bounds.from.as_ref()).cloned();
            let problem = match page::branch_element(page, index) {
                Some(element) => {
                    let key = place.start + element.key.start..place.start + element.key.end;
                    if self.in_order(&key, last.as_ref(), children.is_empty(), bounds) {
                        children.push((key, element.child));
                        continue;
                    }
                    "is out of order"
                }
                None => "reaches beyond the page",
            };
            self.broken(header.id, format!("element {index} {problem}"), &Bounds { from: last, to: bounds.to.clone() });
        }
        for (index, (key, child)) in children.iter().enumerate() {
            let to = children.get(index + 1).map(|(key, _)| key.clone()).or_else(|| bounds.to.clone());
            self.tree(*child, &Bounds { from: Some(key.clone()), to }, depth + 1, visit);
        }
    }

    /// Whether the key at `key` comes after the one before it (or is it, at a page's beginning) and before the page's end.
    fn in_order(&self, key: &Range<usize>, last: Option<&Range<usize>>, first: bool, bounds: &Bounds) -> bool {
        let bytes = |place: &Range<usize>| &self.bolt.image[place.clone()];
        let key = bytes(key);
        let after = last.map(bytes).is_none_or(|last| if first { key >= last } else { key > last });
        after && bounds.to.as_ref().is_none_or(|to| key < bytes(to))
    }

    fn leaf(&mut self, header: &Header, place: Range<usize>, id: PageId, bounds: &Bounds, visit: &mut dyn FnMut(Pair)) {
        let page = &self.bolt.image[place.clone()];
        if !page::elements_fit(header.count, page.len()) {
            return self.broken(id, "it claims more elements than fit", bounds);
        }
        let mut last: Option<Range<usize>> = None;
        for index in 0..header.count {
            let before = last.as_ref().or(bounds.from.as_ref());
            let problem = match page::leaf_element(page, index) {
                Some(element) => {
                    let absolute = |range: Range<usize>| place.start + range.start..place.start + range.end;
                    let pair = Pair { key: absolute(element.key), value: absolute(element.value), is_bucket: element.is_bucket };
                    if self.in_order(&pair.key, before, last.is_none(), bounds) {
                        last = Some(pair.key.clone());
                        visit(pair);
                        continue;
                    }
                    "is out of order"
                }
                None => "reaches beyond the page",
            };
            let lost = Bounds { from: before.cloned(), to: bounds.to.clone() };
            self.broken(id, format!("element {index} {problem}"), &lost);
        }
    }

    fn broken(&mut self, page: PageId, problem: impl Into<String>, bounds: &Bounds) {
        /// More are not kept: a file with this much damage needs no longer list.
        const MOST: usize = 10_000;
        if self.damage.len() < MOST {
            self.damage.push(Damage { page, problem: problem.into(), from: bounds.from.clone(), to: bounds.to.clone() });
        }
    }
}
