//! Leaf pages that no tree reaches any more, as far as nothing was written over them.

use std::ops::Range;

use super::page::{self, FLAG_BRANCH, FLAG_FREELIST, FLAG_LEAF, FLAG_META, Header};
use super::{Bolt, Pair, Visited};

/// An unreachable leaf page.
pub(crate) struct StalePage {
    header: Header,
    /// Where it lies, without the part that was written over.
    place: Range<usize>,
}

impl Bolt {
    /// Every leaf page that is not among `reached`, in the file's order.
    pub(crate) fn stale_leaf_pages<'a>(&'a self, reached: &'a Visited) -> impl Iterator<Item = StalePage> + 'a {
        let pages = (self.image.len() / self.meta.page_size) as u64;
        (2..pages).filter(|&id| !reached.contains(id)).filter_map(move |id| {
            let header = self.own_header(id).filter(|header| header.flags == FLAG_LEAF && header.count > 0)?;
            let last = (id + u64::from(header.overflow)).min(pages - 1);
            let end = (id + 1..=last).find(|&next| self.own_header(next).is_some()).unwrap_or(last + 1);
            let size = self.meta.page_size;
            Some(StalePage { header, place: id as usize * size..end as usize * size })
        })
    }

    /// The header of the page at this place, if one was ever written there and not into the middle of another's since.
    fn own_header(&self, id: u64) -> Option<Header> {
        let header = Header::read(self.image.get(id as usize * self.meta.page_size..)?)?;
        (header.id == id && matches!(header.flags, FLAG_BRANCH | FLAG_LEAF | FLAG_META | FLAG_FREELIST)).then_some(header)
    }
}

impl StalePage {
    /// The pairs that lie in what is left of the page.
    pub(crate) fn pairs<'a>(&'a self, bolt: &'a Bolt) -> impl Iterator<Item = Pair> + 'a {
        let bytes = &bolt.image[self.place.clone()];
        let absolute = |range: Range<usize>| self.place.start + range.start..self.place.start + range.end;
        (0..self.header.count).map_while(move |index| page::elements_fit(index + 1, bytes.len()).then_some(index)).filter_map(
            move |index| {
                let element = page::leaf_element(bytes, index)?;
                Some(Pair { key: absolute(element.key), value: absolute(element.value), is_bucket: element.is_bucket })
            },
        )
    }
}
