//! Files of every page size are read; damaged ones are survived.

use bytes::Bytes;
use proptest::prelude::*;

use super::testing::{BucketSpec, file, meta_page, meta_page_with_freelist};
use super::*;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;
type Buckets = Vec<(Vec<u8>, Pairs)>;

/// Everything in the file, by bucket, and what could not be read.
fn read(bytes: Vec<u8>) -> Result<(Buckets, Vec<TreeDamage>), String> {
    let bolt = Bolt::open(bytes.into())?;
    let mut walk = Walk::new(&bolt);
    let mut named = Vec::new();
    // Damage of both meta pages may leave nothing that leads to the data.
    if let Some(root) = bolt.root() {
        walk.bucket(&root, &mut |pair| named.push(pair));
    }
    let mut buckets = Vec::new();
    for pair in named.iter().filter(|pair| pair.is_bucket) {
        let mut pairs = Vec::new();
        let Ok(bucket) = bolt.bucket_of(pair) else { continue };
        walk.bucket(&bucket, &mut |pair| pairs.push((bolt.image[pair.key].to_vec(), bolt.image[pair.value].to_vec())));
        buckets.push((bolt.image[pair.key.clone()].to_vec(), pairs));
    }
    Ok((buckets, walk.damage))
}

fn some_pairs(count: u32, length: usize) -> Pairs {
    (0..count).map(|n| (n.to_be_bytes().to_vec(), vec![n as u8; length])).collect()
}

fn spec(name: &str, pairs: &Pairs, inline: bool) -> BucketSpec {
    BucketSpec { name: name.into(), pairs: pairs.clone(), inline }
}

#[test]
fn every_page_size_is_read_with_overflow_pages_and_inline_buckets() {
    for page_size in [4096, 8192, 16384, 32768, 65536] {
        let (many, large, few) = (some_pairs(100, 30), some_pairs(9, 3 * page_size), some_pairs(3, 5));
        let bytes = file(page_size, &[spec("few", &few, true), spec("large", &large, false), spec("many", &many, false)]);
        let (buckets, damage) = read(bytes.clone()).unwrap();
        assert_eq!(damage, []);
        assert_eq!(buckets, [(b"few".to_vec(), few), (b"large".to_vec(), large), (b"many".to_vec(), many)], "{page_size}");
        // The page size is found without meta page 0 too.
        let mut first_broken = bytes;
        first_broken[16..80].fill(0);
        assert_eq!(read(first_broken).unwrap().0, buckets, "{page_size}");
    }
}

#[test]
fn the_newer_meta_page_counts() {
    let mut bytes = file(4096, &[spec("old", &some_pairs(1, 1), true)]);
    let old = Bolt::open(Bytes::from(bytes.clone())).unwrap().meta;
    assert_eq!(old.transaction, 41);
    let other = meta_page(0, 4096, old.root.unwrap(), old.high_water, 42);
    bytes[..other.len()].copy_from_slice(&other);
    assert_eq!(Bolt::open(Bytes::from(bytes)).unwrap().meta.transaction, 42);
}

#[test]
fn a_meta_page_in_the_others_place_is_damage() {
    let bytes = file(4096, &[spec("b", &some_pairs(1, 1), true)]);
    assert_eq!(Bolt::open(Bytes::from(bytes.clone())).unwrap().problems, [] as [String; 0]);
    let mut swapped = bytes.clone();
    swapped[..4096].copy_from_slice(&bytes[4096..2 * 4096]);
    swapped[4096..2 * 4096].copy_from_slice(&bytes[..4096]);
    let problems = Bolt::open(Bytes::from(swapped)).unwrap().problems;
    assert!(problems.len() == 1 && problems[0].starts_with("meta page 0 bears the number 1"), "{problems:?}");
}

#[test]
fn a_tree_that_leads_back_into_itself_ends() {
    let mut bytes = file(4096, &[spec("b", &some_pairs(40, 8), false)]);
    let pages = bytes.len() / 4096;
    for page in 2..pages {
        let at = page * 4096;
        if bytes[at + 8] == 1 {
            // Every branch's first child becomes the branch itself.
            bytes[at + 16 + 8..at + 16 + 16].copy_from_slice(&(page as u64).to_le_bytes());
        }
    }
    let (_, damage) = read(bytes).unwrap();
    assert!(damage.iter().any(|damage| damage.problem.contains("two places")), "{damage:?}");
}

#[test]
fn a_page_that_claims_too_much_is_damage() {
    let whole = file(4096, &[spec("b", &some_pairs(40, 8), false)]);
    let (buckets, _) = read(whole.clone()).unwrap();
    for (offset, bytes) in
        [(10, &[0xff, 0xff][..]), (12, &[0xff; 4]), (0, &[0x77]), (8, &[0x08]), (16 + 4, &[0xff; 4]), (16 + 12, &[0xff; 4])]
    {
        let mut broken = whole.clone();
        broken[2 * 4096 + offset..][..bytes.len()].copy_from_slice(bytes);
        let (left, damage) = read(broken).unwrap();
        assert_eq!(damage[0].page, 2, "{offset}");
        assert!(!left[0].1.is_empty() && left[0].1.len() < buckets[0].1.len(), "{offset}");
    }
}

#[test]
fn a_file_shorter_than_its_pages_is_read_as_far_as_it_goes() {
    let pairs = some_pairs(40, 8);
    let whole = file(4096, &[spec("b", &pairs, false)]);
    for length in [whole.len() - 1, whole.len() - 4096, 5000, 4096, 100] {
        let bolt = Bolt::open(Bytes::copy_from_slice(&whole[..length])).unwrap();
        assert!(bolt.problems.last().unwrap().starts_with("truncated: the database has "), "{length}: {:?}", bolt.problems);
        assert!(!read(whole[..length].to_vec()).unwrap().1.is_empty(), "{length}");
    }
    assert!(Bolt::open(Bytes::copy_from_slice(&whole[..17])).is_err());
    let mut with_checksum = whole.clone();
    with_checksum.extend([7; 32]);
    let bolt = Bolt::open(with_checksum.into()).unwrap();
    assert_eq!((bolt.checksum, bolt.image.len(), &bolt.problems), (Some([7; 32]), whole.len(), &vec![]));
}

#[test]
fn meta_pages_that_do_not_follow_each_other_are_reported() {
    let mut bytes = file(4096, &[spec("b", &some_pairs(3, 9), true)]);
    assert!(Bolt::open(Bytes::from(bytes.clone())).unwrap().problems.is_empty());
    bytes.copy_within(4096..8192, 0);
    let problems = Bolt::open(bytes.into()).unwrap().problems;
    assert!(problems[0].starts_with("the meta pages are of transactions 41 and 41, not of two in a row"), "{problems:?}");
}

/// What is wrong with page 2, the first leaf of its tree, after a change of some bytes of it.
fn problems_of_page_2(change: impl Fn(&mut [u8])) -> (usize, Vec<String>) {
    let mut bytes = file(4096, &[spec("b", &some_pairs(40, 8), false)]);
    change(&mut bytes[2 * 4096..3 * 4096]);
    let (buckets, damage) = read(bytes).unwrap();
    assert!(damage.iter().all(|damage| damage.page == 2), "{damage:?}");
    (buckets[0].1.len(), damage.into_iter().map(|damage| damage.problem).collect())
}

#[test]
fn a_count_that_does_not_fit_the_layout_is_corrected_and_reported() {
    for count in [1, 3, 5, 200] {
        let (read, problems) = problems_of_page_2(|page| page[10] = count);
        assert_eq!((read, &problems[..]), (40, &[format!("its header claims {count} elements, it holds 4")][..]));
    }
    assert_eq!(problems_of_page_2(|page| page[10] = 0), (36, vec!["it is an empty leaf under a branch".to_owned()]));
}

#[test]
fn an_element_that_does_not_fit_the_layout_is_left_out() {
    // Its flags, place, key size and value size.
    for (word, problem) in [(0, "has flags that bbolt does not know"), (1, "has a size or place that cannot be right")] {
        let expected = (39, vec![format!("element 1 {problem}")]);
        assert_eq!(problems_of_page_2(|page| page[16 + 16 + 4 * word] ^= 2), expected, "{word}");
    }
    for word in [2, 3] {
        let (read, problems) = problems_of_page_2(|page| page[16 + 16 + 4 * word] ^= 2);
        assert_eq!((read, &problems[..]), (39, &["element 1 has a size or place that cannot be right".to_owned()][..]), "{word}");
    }
}

#[test]
fn a_page_whose_first_key_is_not_its_parents_is_reported() {
    let pairs: Pairs = (0..40_u32).map(|n| ((2 * n).to_be_bytes().to_vec(), vec![7; 8])).collect();
    let mut bytes = file(4096, &[spec("b", &pairs, false)]);
    // The second leaf: its first key becomes 9.
    let key = 3 * 4096 + 16 + 4 * 16;
    assert_eq!(bytes[key..key + 4], 8_u32.to_be_bytes());
    bytes[key + 3] = 9;
    let (buckets, damage) = read(bytes).unwrap();
    assert_eq!((buckets[0].1.len(), damage.len()), (40, 1));
    assert_eq!((damage[0].page, &damage[0].problem[..]), (3, "its first key is not the one that leads to it"));
}

#[test]
fn with_a_list_of_free_pages_no_page_may_be_lost() {
    let mut bytes = file(4096, &[spec("b", &some_pairs(40, 8), false)]);
    let pages = (bytes.len() / 4096) as u64;
    // A page that is not in use, and whether the free list has it.
    for (listed, problems) in [
        (pages, vec![]),
        (2, vec!["page 2 is in use and listed as free", &format!("page {pages} is neither in use nor listed as free")[..]]),
    ] {
        let mut list = [&(pages + 1).to_le_bytes()[..], &[0x10, 0, 1, 0, 0, 0, 0, 0], &listed.to_le_bytes()].concat();
        list.resize(4096, 0);
        bytes.truncate(pages as usize * 4096);
        bytes.resize((pages as usize + 1) * 4096, 0);
        bytes.extend(list);
        let old = Bolt::open(Bytes::from(bytes.clone())).unwrap().meta;
        let meta = meta_page_with_freelist(1, 4096, old.root.unwrap(), pages + 1, pages + 2, 41);
        bytes[4096..4096 + meta.len()].copy_from_slice(&meta);
        let bolt = Bolt::open(Bytes::from(bytes.clone())).unwrap();
        let mut walk = Walk::new(&bolt);
        let mut named = Vec::new();
        walk.bucket(&bolt.root().unwrap(), &mut |pair| named.push(pair));
        walk.bucket(&bolt.bucket_of(&named[0]).unwrap(), &mut |_| ());
        freelist::claim(&bolt, &mut walk.visited);
        let found = freelist::problems(&bolt, &walk.visited);
        assert_eq!(found.len(), problems.len(), "{found:?}");
        assert!(found.iter().zip(&problems).all(|(found, wanted)| found.starts_with(wanted)), "{found:?}");
    }
}

#[test]
fn a_stale_page_is_believed_up_to_where_it_was_written_over() {
    let pairs_left = |bytes: &[u8]| {
        let bolt = Bolt::open(Bytes::copy_from_slice(bytes)).unwrap();
        let mut values = None;
        bolt.stale(&Visited::new(bolt.meta.high_water), &mut |stale| {
            if let Stale::Leaf(page) = stale {
                values.get_or_insert_with(|| page.pairs(&bolt).map(|pair| bolt.image[pair.value].to_vec()).collect::<Vec<_>>());
            }
        });
        values.unwrap()
    };
    // One leaf of four pairs on pages 2 to 4.
    let pairs = some_pairs(4, 3000);
    let mut bytes = file(4096, &[spec("b", &pairs, false)]);
    let values: Vec<_> = pairs.into_iter().map(|pair| pair.1).collect();
    assert_eq!(pairs_left(&bytes), values);
    // Page 4 was given to another leaf since.
    bytes[4 * 4096..][..16].copy_from_slice(&[4, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0]);
    assert_eq!(pairs_left(&bytes), values[..2]);
}

/// A value of up to 3,000 bytes that all follow from the first: to draw each of them took longer than to read what was written.
fn value() -> impl Strategy<Value = Vec<u8>> {
    (any::<u8>(), 0..3000_usize).prop_map(|(first, length)| (0..length).map(|at| first.wrapping_add((at % 251) as u8)).collect())
}

proptest! {
    #[test]
    fn what_was_written_is_read(pairs in proptest::collection::btree_map(
        proptest::collection::vec(any::<u8>(), 1..20), value(), 0..60), size in 0..5_usize) {
        let pairs: Pairs = pairs.into_iter().collect();
        let (buckets, damage) = read(file(4096 << size, &[spec("key", &pairs, false)])).unwrap();
        prop_assert_eq!(damage, vec![]);
        prop_assert_eq!(buckets, vec![(b"key".to_vec(), pairs)]);
    }

    #[test]
    fn any_damage_is_survived(changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..40)) {
        let mut bytes = file(4096, &[spec("in", &some_pairs(3, 9), true), spec("key", &some_pairs(50, 600), false)]);
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        let _ = read(bytes);
    }

    /// Damage where it hurts: the headers and elements of pages, with numbers that look like real ones.
    #[test]
    fn damaged_headers_are_survived(changes in proptest::collection::vec((2..20_usize, 0..12_usize, 0..60_u32), 1..20)) {
        let mut bytes = file(4096, &[spec("key", &some_pairs(50, 600), false)]);
        for (page, word, value) in changes {
            let at = page * 4096 + word * 4;
            if at + 4 <= bytes.len() {
                bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            }
        }
        let (buckets, _) = read(bytes).unwrap();
        prop_assert!(buckets.iter().all(|(_, pairs)| pairs.len() <= 50 && pairs.is_sorted()));
    }
}
