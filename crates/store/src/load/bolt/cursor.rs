//! The pairs of a bucket next to a key, read without walking the tree: only the pages on the way to them are touched.

use std::ops::{ControlFlow, Range};

use super::page::{self, FLAG_BRANCH, FLAG_LEAF, PageHeader};
use super::{Bolt, Bucket, BucketPair, PageId};

/// More levels has no tree.
const MAX_TREE_DEPTH: usize = 64;

/// In which order pairs are met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Ascending,
    /// From the key back.
    Descending,
}

impl Bolt {
    /// Gives the pairs of a bucket to `take`, from the one at `key` on or back, until it breaks off. `None`: a page on the way is damaged.
    pub(in crate::load) fn pairs_beside(
        &self,
        bucket: &Bucket,
        key: &[u8],
        order: Order,
        take: &mut dyn FnMut(BucketPair) -> ControlFlow<()>,
    ) -> Option<()> {
        let place = match bucket {
            Bucket::Inline(place) => place.clone(),
            Bucket::Tree(root) => self.page_place(*root)?,
        };
        let mut search = CursorSearch { bolt: self, key, order, take };
        search.page(place, MAX_TREE_DEPTH).map(drop)
    }

    /// Where a page lies, with those it reaches over.
    fn page_place(&self, id: PageId) -> Option<Range<usize>> {
        let start = usize::try_from(id).ok()?.checked_mul(self.meta.page_size)?;
        let header = PageHeader::read(self.image.get(start..)?).filter(|header| header.id == id)?;
        let end = start.checked_add(self.meta.page_size.checked_mul(header.overflow as usize + 1)?)?;
        (end <= self.image.len()).then_some(start..end)
    }
}

struct CursorSearch<'a> {
    bolt: &'a Bolt,
    key: &'a [u8],
    order: Order,
    take: &'a mut dyn FnMut(BucketPair) -> ControlFlow<()>,
}

impl CursorSearch<'_> {
    fn page(&mut self, place: Range<usize>, levels: usize) -> Option<ControlFlow<()>> {
        let bytes = self.bolt.image.get(place.clone())?;
        let header = PageHeader::read(bytes).filter(|header| levels > 0 && page::elements_fit(header.count, bytes.len()))?;
        match header.flags {
            FLAG_BRANCH => {
                let first_key = |index| page::branch_element(bytes, index).and_then(|element| bytes.get(element.key));
                // Keys from `index` on are below the child `index`, whose first key this is.
                let at = upto(header.count, |index| Some(first_key(index)? <= self.key))?.saturating_sub(1);
                self.each(at, at, header.count, |search, index| {
                    let child = page::branch_element(bytes, index)?.child;
                    search.page(search.bolt.page_place(child)?, levels - 1)
                })
            }
            FLAG_LEAF => {
                let key_of = |index| page::leaf_element(bytes, index).and_then(|element| bytes.get(element.key));
                let before = upto(header.count, |index| Some(key_of(index)? < self.key))?;
                let last = upto(header.count, |index| Some(key_of(index)? <= self.key))?;
                let Some(last) = last.checked_sub(1).or((self.order == Order::Ascending).then_some(0)) else {
                    return Some(ControlFlow::Continue(()));
                };
                self.each(before, last, header.count, |search, index| {
                    let element = page::leaf_element(bytes, index)?;
                    let absolute = |range: Range<usize>| place.start + range.start..place.start + range.end;
                    let pair = BucketPair { key: absolute(element.key), value: absolute(element.value), is_bucket: element.is_bucket };
                    Some((search.take)(pair))
                })
            }
            _ => None,
        }
    }

    /// Calls `visit` for the indexes from `first` on, or from `last` back.
    fn each(
        &mut self,
        first: usize,
        last: usize,
        count: usize,
        mut visit: impl FnMut(&mut Self, usize) -> Option<ControlFlow<()>>,
    ) -> Option<ControlFlow<()>> {
        let indexes: Box<dyn Iterator<Item = usize>> = match self.order {
            Order::Ascending => Box::new(first..count),
            Order::Descending => Box::new((0..count.min(last + 1)).rev()),
        };
        for index in indexes {
            if visit(self, index)?.is_break() {
                return Some(ControlFlow::Break(()));
            }
        }
        Some(ControlFlow::Continue(()))
    }
}

/// How many of `count` elements, ascending, `is_before` holds for; `None` where one of those looked at cannot be read.
fn upto(count: usize, is_before: impl Fn(usize) -> Option<bool>) -> Option<usize> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle)? { low = middle + 1 } else { high = middle }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::bolt::testing::{BucketSpec, file};

    #[test]
    fn pairs_are_met_in_both_orders() {
        let pairs: Vec<(Vec<u8>, Vec<u8>)> = (0..2000_u16).map(|number| ((2 * number).to_be_bytes().to_vec(), vec![7; 40])).collect();
        for inline in [false, true] {
            let pairs = if inline { pairs[..20].to_vec() } else { pairs.clone() };
            let last = 2 * (pairs.len() as u16 - 1);
            let bolt = Bolt::open(file(4096, &[BucketSpec { name: b"key".to_vec(), pairs, inline }]).into()).unwrap();
            let bucket = bolt.bucket_named(b"key").unwrap();
            let met = |key: u16, order: Order, most: usize| {
                let mut met: Vec<u16> = Vec::new();
                let mut take = |pair: BucketPair| {
                    met.push(u16::from_be_bytes(bolt.image[pair.key].try_into().unwrap()));
                    if met.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                bolt.pairs_beside(&bucket, &key.to_be_bytes(), order, &mut take).unwrap();
                met
            };
            assert_eq!(met(0, Order::Ascending, 3), [0, 2, 4]);
            assert_eq!(met(5, Order::Ascending, 2), [6, 8]);
            assert_eq!(met(last + 1, Order::Ascending, 2), Vec::<u16>::new());
            assert_eq!(met(5, Order::Descending, 9), [4, 2, 0]);
            assert_eq!(met(u16::MAX, Order::Descending, 2), [last, last - 2]);
            for key in (0..=last).step_by(7) {
                let wanted: Vec<u16> = (0..=key).rev().filter(|number| number % 2 == 0).collect();
                assert_eq!(met(key, Order::Descending, usize::MAX), wanted);
                let wanted: Vec<u16> = (key..=last).filter(|number| number % 2 == 0).collect();
                assert_eq!(met(key, Order::Ascending, usize::MAX), wanted);
            }
        }
    }
}
