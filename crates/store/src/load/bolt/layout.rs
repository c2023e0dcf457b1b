//! Whether the elements of a page lie as bbolt writes them: one right after the other, the first right after the page's table of
//! elements, and nothing but zeros after the last. Source: bbolt v1.4.3, `internal/common/inode.go` (`WriteInodeToPage`) and `tx.go`
//! (`write`, which zeroes a buffer before a page uses it again); boltdb wrote the same.
//!
//! A page has no checksum, but its layout proves how many elements there are, and their sizes and places.

use std::ops::Range;

use super::page::{ELEMENT_BYTES, HEADER_BYTES, elements_fit};

/// What the layout of a page says about its elements.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// How many elements there are: as the header says, unless the layout proves another number.
    pub count: usize,
    /// The elements whose size or place cannot be right, ascending.
    pub broken: Vec<usize>,
    /// What is wrong with the page as a whole: a fragment.
    pub problem: Option<String>,
}

/// Examines a page whose header claims `claimed` elements; `place` returns the bytes of an element if they lie in the page.
pub(super) fn examine(page: &[u8], claimed: usize, place: impl Fn(usize) -> Option<Range<usize>>) -> Layout {
    let whole = Layout { count: claimed, ..Layout::default() };
    if links(page, claimed, &place).all(|holds| holds) {
        return whole;
    }
    if claimed == 0 {
        return Layout { problem: Some("it claims no elements, but holds data".to_owned()), ..whole };
    }
    // Where the first element begins says how long the table of elements is.
    let table = place(0).and_then(|first| first.start.checked_sub(HEADER_BYTES)).filter(|table| table % ELEMENT_BYTES == 0);
    let laid_out =
        table.map(|table| table / ELEMENT_BYTES).filter(|&count| count > 0 && count != claimed && elements_fit(count, page.len()));
    if let Some(count) = laid_out.filter(|&count| links(page, count, &place).all(|holds| holds)) {
        return Layout { count, problem: Some(format!("its header claims {claimed} elements, it holds {count}")), ..whole };
    }
    let links: Vec<bool> = links(page, claimed, &place).collect();
    let is_broken = |&index: &usize| match (links[index], links[index + 1]) {
        // A wrong place breaks both links of an element, and only the first of the last one; a wrong size breaks the link behind it.
        (false, false) => true,
        (true, false) => links.get(index + 2).is_none_or(|&next| next),
        (before, true) => !before && index > 0 && index + 1 == claimed,
    };
    let problem = (!links[0]).then(|| "its first element is not where it must be".to_owned());
    Layout { broken: (0..claimed).filter(is_broken).collect(), problem, ..whole }
}

/// Whether the first of `count` elements begins where the table of elements ends, each where the one before it ends, and nothing
/// follows the last: one more than there are elements.
fn links(page: &[u8], count: usize, place: &impl Fn(usize) -> Option<Range<usize>>) -> impl Iterator<Item = bool> {
    let mut end = Some(HEADER_BYTES + count * ELEMENT_BYTES);
    (0..=count).map(move |index| {
        if index == count {
            return end.and_then(|end| page.get(end..)).is_some_and(is_zero);
        }
        let place = place(index);
        let holds = place.is_some() && place.as_ref().map(|place| place.start) == end;
        end = place.map(|place| place.end);
        holds
    })
}

/// Whether there are only zeros. Most pages of a database end with many.
fn is_zero(bytes: &[u8]) -> bool {
    bytes.chunks(256).all(|chunk| chunk.iter().fold(0, |seen, byte| seen | byte) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE_BYTES: usize = 256;

    /// Examines a page of elements that have these starts and sizes, and `held` bytes that are not zero.
    fn check(claimed: usize, elements: &[(usize, usize)], held: Range<usize>) -> Layout {
        let mut page = vec![0; PAGE_BYTES];
        page[held].fill(7);
        examine(&page, claimed, |index| {
            elements.get(index).map(|(start, size)| *start..start + size).filter(|place| place.end <= PAGE_BYTES)
        })
    }

    #[test]
    fn elements_lie_one_after_the_other() {
        assert_eq!(check(2, &[(48, 5), (53, 4)], 16..57), Layout { count: 2, ..Layout::default() });
        assert_eq!(check(0, &[], 0..16), Layout::default());
        assert!(check(0, &[], 0..17).problem.is_some());
    }

    #[test]
    fn a_wrong_count_is_put_right_where_the_layout_proves_it() {
        for claimed in [1, 3] {
            let layout = check(claimed, &[(48, 5), (53, 4)], 16..57);
            assert_eq!((layout.count, layout.broken.len()), (2, 0));
            assert_eq!(layout.problem.unwrap(), format!("its header claims {claimed} elements, it holds 2"));
        }
    }

    #[test]
    fn the_element_of_a_wrong_size_or_place_is_found() {
        let broken = |elements: &[(usize, usize)]| check(4, elements, 16..100).broken;
        assert!(broken(&[(80, 5), (85, 5), (90, 5), (95, 5)]).is_empty());
        assert_eq!(broken(&[(80, 5), (81, 5), (90, 5), (95, 5)]), [1]);
        assert_eq!(broken(&[(80, 5), (85, 7), (90, 5), (95, 5)]), [1]);
        assert_eq!(broken(&[(80, 5), (85, 900), (90, 5), (95, 5)]), [1]);
        assert_eq!(broken(&[(80, 5), (85, 5), (90, 5), (95, 4)]), [3]);
        assert_eq!(broken(&[(96, 5), (85, 5), (90, 5), (95, 5)]), [0]);
        // Either of the two may be wrong.
        assert_eq!(broken(&[(80, 5), (85, 5), (90, 5), (99, 5)]), [2, 3]);
    }
}
