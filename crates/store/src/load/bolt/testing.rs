//! Writes small bbolt files for tests: any page size, branch pages, overflow pages, inline buckets.

use super::page::{FLAG_BRANCH, FLAG_LEAF, HEADER_BYTES};

/// A bucket to be written: its name and its pairs, ascending by key.
pub(crate) struct BucketSpec {
    pub name: Vec<u8>,
    pub pairs: Vec<(Vec<u8>, Vec<u8>)>,
    pub inline: bool,
}

/// A file with these buckets, as a database that was just closed has it.
pub(crate) fn file(page_size: usize, buckets: &[BucketSpec]) -> Vec<u8> {
    let mut file = vec![0; 2 * page_size];
    let mut named = Vec::new();
    for bucket in buckets {
        let mut header = [0; 16];
        let value = if bucket.inline {
            [&header[..], &leaf_page(0, &bucket.pairs, 0, 0)].concat()
        } else {
            header[..8].copy_from_slice(&tree(&mut file, page_size, &bucket.pairs, 0).to_le_bytes());
            header.to_vec()
        };
        named.push((bucket.name.clone(), value));
    }
    let root = tree(&mut file, page_size, &named, 1);
    let high_water = (file.len() / page_size) as u64;
    for page in 0..2 {
        let meta = meta_page(page, page_size, root, high_water, 40 + page);
        file[page as usize * page_size..][..meta.len()].copy_from_slice(&meta);
    }
    file
}

/// A meta page with its checksum.
pub(crate) fn meta_page(id: u64, page_size: usize, root: u64, high_water: u64, transaction: u64) -> Vec<u8> {
    meta_page_with_freelist(id, page_size, root, u64::MAX, high_water, transaction)
}

/// The same, with the page of the list of free pages.
pub(crate) fn meta_page_with_freelist(id: u64, page_size: usize, root: u64, freelist: u64, high_water: u64, transaction: u64) -> Vec<u8> {
    let mut page = header(id, 0x04, 0, 0);
    page.extend(0xED0C_DAED_u32.to_le_bytes());
    page.extend(2_u32.to_le_bytes());
    page.extend((page_size as u32).to_le_bytes());
    page.extend([0; 4]);
    for number in [root, 0, freelist, high_water, transaction] {
        page.extend(number.to_le_bytes());
    }
    let sum =
        page[HEADER_BYTES..].iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    page.extend(sum.to_le_bytes());
    page
}

fn header(id: u64, flags: u16, count: usize, overflow: u32) -> Vec<u8> {
    [&id.to_le_bytes()[..], &flags.to_le_bytes(), &(count as u16).to_le_bytes(), &overflow.to_le_bytes()].concat()
}

/// A leaf page with these pairs, all with these flags.
pub(crate) fn leaf_page(id: u64, pairs: &[(Vec<u8>, Vec<u8>)], overflow: u32, element_flags: u32) -> Vec<u8> {
    let mut page = header(id, FLAG_LEAF, pairs.len(), overflow);
    let mut position = 16 * pairs.len();
    for (index, (key, value)) in pairs.iter().enumerate() {
        for number in [element_flags, (position - 16 * index) as u32, key.len() as u32, value.len() as u32] {
            page.extend(number.to_le_bytes());
        }
        position += key.len() + value.len();
    }
    pairs.iter().for_each(|(key, value)| page.extend([&key[..], value].concat()));
    page
}

/// A branch page with these children, each with its first key.
pub(crate) fn branch_page(id: u64, children: &[(Vec<u8>, u64)]) -> Vec<u8> {
    let mut page = header(id, FLAG_BRANCH, children.len(), 0);
    let mut position = 16 * children.len();
    for (index, (key, child)) in children.iter().enumerate() {
        page.extend(((position - 16 * index) as u32).to_le_bytes());
        page.extend((key.len() as u32).to_le_bytes());
        page.extend(child.to_le_bytes());
        position += key.len();
    }
    children.iter().for_each(|(key, _)| page.extend(key));
    page
}

/// Appends the pages of a tree, four pairs a leaf and three children a branch; returns its root.
fn tree(file: &mut Vec<u8>, page_size: usize, pairs: &[(Vec<u8>, Vec<u8>)], element_flags: u32) -> u64 {
    let mut level: Vec<(Vec<u8>, u64)> = Vec::new();
    let append = |file: &mut Vec<u8>, page: &[u8]| {
        file.extend(page);
        file.resize(file.len().next_multiple_of(page_size), 0);
    };
    let empty: &[(Vec<u8>, Vec<u8>)] = &[];
    for leaf in if pairs.is_empty() { vec![empty] } else { pairs.chunks(4).collect() } {
        let id = (file.len() / page_size) as u64;
        let overflow = leaf_page(id, leaf, 0, element_flags).len().div_ceil(page_size) - 1;
        append(file, &leaf_page(id, leaf, overflow as u32, element_flags));
        level.push((leaf.first().map(|pair| pair.0.clone()).unwrap_or_default(), id));
    }
    while level.len() > 1 {
        let above = level.chunks(3).map(|children| {
            let id = (file.len() / page_size) as u64;
            append(file, &branch_page(id, children));
            (children[0].0.clone(), id)
        });
        level = above.collect();
    }
    level[0].1
}
