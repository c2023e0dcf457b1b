//! What lies in pages that no tree reaches: leaf pages, as far as nothing was written over them, and the ends of pages whose beginning was.
//!
//! Pages are written whole and begin with their own number, so whatever was written over the end of a page that reaches over several shows as
//! the header of another page within it.

use std::ops::Range;

use super::page::{self, FLAG_BRANCH, FLAG_FREELIST, FLAG_LEAF, FLAG_META, PageHeader};
use super::{Bolt, BucketPair, PageId, Visited};

/// A piece of the file that no tree reaches.
pub(crate) enum Stale {
    Leaf(StalePage),
    /// Where the end of some page may lie that has lost its header.
    Tail(Range<usize>),
}

/// An unreachable leaf page.
pub(crate) struct StalePage {
    header: PageHeader,
    /// Where it lies, without the part that was written over or is not in the file.
    place: Range<usize>,
}

impl Bolt {
    /// Calls `visit` with each piece of the file that is not among the pages `reached`, in the file's order.
    pub(crate) fn stale(&self, reached: &Visited, visit: &mut dyn FnMut(&Stale)) {
        let size = self.meta.page_size;
        let pages = self.image.len().div_ceil(size) as PageId;
        let place = |from: PageId, to: PageId| from as usize * size..(to as usize * size).min(self.image.len());
        let is_other = |id: PageId| id >= pages || reached.contains(id) || self.own_header(id).is_some();
        let mut id = 0;
        while id < pages {
            if reached.contains(id) {
                id += 1;
                continue;
            }
            let header = self.own_header(id);
            let last = header.map_or(pages, |header| pages.min(id + 1 + PageId::from(header.overflow)));
            let end = (id + 1..last).find(|&next| is_other(next)).unwrap_or(last);
            match header {
                Some(header) if header.flags == FLAG_LEAF && header.count > 0 => {
                    visit(&Stale::Leaf(StalePage { header, place: place(id, end) }));
                }
                None => visit(&Stale::Tail(place(id, end))),
                Some(_) => {}
            }
            self.progress.add((end - id) as usize * size);
            id = end;
        }
    }

    /// The header of the page at this place, if one was ever written there and not into the middle of another's since.
    fn own_header(&self, id: PageId) -> Option<PageHeader> {
        let header = PageHeader::read(self.image.get(id as usize * self.meta.page_size..)?)?;
        (header.id == id && matches!(header.flags, FLAG_BRANCH | FLAG_LEAF | FLAG_META | FLAG_FREELIST)).then_some(header)
    }
}

impl StalePage {
    /// The pairs that lie in what is left of the page.
    pub(crate) fn pairs<'a>(&'a self, bolt: &'a Bolt) -> impl Iterator<Item = BucketPair> + 'a {
        let bytes = &bolt.image[self.place.clone()];
        let absolute = |range: Range<usize>| self.place.start + range.start..self.place.start + range.end;
        (0..self.header.count).map_while(move |index| page::elements_fit(index + 1, bytes.len()).then_some(index)).filter_map(
            move |index| {
                let element = page::leaf_element(bytes, index)?;
                Some(BucketPair { key: absolute(element.key), value: absolute(element.value), is_bucket: element.is_bucket })
            },
        )
    }
}
