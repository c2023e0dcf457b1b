//! Writes databases as etcd would have them of a history: up to a revision, with what a compaction left and, in free pages, what it removed.

use std::collections::HashMap;

use ketcd_store::{Event, EventKind};

const PAGE: usize = 4096;
const HEADER: usize = 16;
const BRANCH: u16 = 1;
const LEAF: u16 = 2;

type Pair = (Vec<u8>, Vec<u8>);

/// A database with the changes of a history up to `newest`, compacted at a revision. `keeps_freed`: what the compaction removed is left in
/// pages that the tree does not reach.
pub(crate) fn database(history: &[Event], newest: i64, compacted: Option<i64>, keeps_freed: bool) -> Vec<u8> {
    let compacted_at = compacted.unwrap_or(0);
    let mut survivors: HashMap<&[u8], &Event> = HashMap::new();
    for event in history.iter().filter(|event| event.revision.0 <= compacted_at) {
        survivors.insert(&event.key_value.key, event);
    }
    let is_kept = |event: &&Event| {
        let is_survivor = || event.kind == EventKind::Put && survivors[&event.key_value.key[..]].revision == event.revision;
        event.revision.0 > compacted_at || is_survivor()
    };
    let upto = || history.iter().filter(|event| event.revision.0 <= newest);
    let keys: Vec<Pair> = upto().filter(is_kept).map(pair).collect();
    let mut file = vec![0; 2 * PAGE];
    if keeps_freed {
        let freed: Vec<Pair> = upto().filter(|event| !is_kept(event)).map(pair).collect();
        leaves(&mut file, &freed, 0);
    }
    let keys_root = tree(&mut file, &keys, 0);
    let revision = |main: i64| [&main.to_be_bytes()[..], b"_", &[0; 8]].concat();
    let mut meta: Vec<Pair> = vec![(b"consistent_index".to_vec(), newest.to_be_bytes().to_vec())];
    if let Some(compacted) = compacted {
        meta.push((b"finishedCompactRev".to_vec(), revision(compacted)));
        meta.push((b"scheduledCompactRev".to_vec(), revision(compacted)));
    }
    let meta_root = tree(&mut file, &meta, 0);
    let header = |root: u64| [&root.to_le_bytes()[..], &[0; 8]].concat();
    let root = tree(&mut file, &[(b"key".to_vec(), header(keys_root)), (b"meta".to_vec(), header(meta_root))], 1);
    let high_water = (file.len() / PAGE) as u64;
    for page in 0..2 {
        let bytes = meta_page(page, root, high_water);
        file[page as usize * PAGE..][..bytes.len()].copy_from_slice(&bytes);
    }
    file
}

/// An entry of the bucket `key`.
fn pair(event: &Event) -> Pair {
    let kv = &event.key_value;
    let mut key = [&event.revision.0.to_be_bytes()[..], b"_", &event.sub_revision.to_be_bytes()].concat();
    let mut message = Vec::new();
    bytes_field(1, &kv.key, &mut message);
    if event.kind == EventKind::Delete {
        key.push(b't');
        return (key, message);
    }
    for (number, value) in [(2, kv.create_revision.0), (3, kv.mod_revision.0), (4, kv.version)] {
        message.push(number << 3);
        varint(value as u64, &mut message);
    }
    bytes_field(5, &kv.value, &mut message);
    if kv.lease != 0 {
        message.push(6 << 3);
        varint(kv.lease as u64, &mut message);
    }
    (key, message)
}

fn bytes_field(number: u8, bytes: &[u8], out: &mut Vec<u8>) {
    if !bytes.is_empty() {
        out.push(number << 3 | 2);
        varint(bytes.len() as u64, out);
        out.extend(bytes);
    }
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Writes a tree; returns its root.
fn tree(file: &mut Vec<u8>, pairs: &[Pair], flags: u32) -> u64 {
    let mut level = leaves(file, pairs, flags);
    while level.len() > 1 {
        let chunks = level.chunks(100).map(<[_]>::to_vec).collect::<Vec<_>>();
        level = chunks
            .into_iter()
            .map(|children| {
                let keys: usize = children.iter().map(|(key, _)| key.len()).sum();
                assert!(HEADER + 16 * children.len() + keys <= PAGE);
                let mut place = 16 * children.len();
                let (mut elements, mut data) = (Vec::new(), Vec::new());
                for (index, (key, child)) in children.iter().enumerate() {
                    elements.extend(((place - 16 * index) as u32).to_le_bytes());
                    elements.extend((key.len() as u32).to_le_bytes());
                    elements.extend(child.to_le_bytes());
                    place += key.len();
                    data.extend(key);
                }
                (children[0].0.clone(), page(file, BRANCH, children.len(), &[elements, data].concat()))
            })
            .collect();
    }
    level[0].1
}

/// Writes leaves; returns the first key and the page of each.
fn leaves(file: &mut Vec<u8>, pairs: &[Pair], flags: u32) -> Vec<(Vec<u8>, u64)> {
    let mut written = Vec::new();
    let mut rest = pairs;
    loop {
        let mut bytes = HEADER;
        let fits = |(key, value): &&Pair| {
            bytes += 16 + key.len() + value.len();
            bytes <= PAGE
        };
        let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
        let (these, others) = rest.split_at(count);
        let mut place = 16 * these.len();
        let (mut elements, mut data) = (Vec::new(), Vec::new());
        for (index, (key, value)) in these.iter().enumerate() {
            elements.extend(flags.to_le_bytes());
            elements.extend(((place - 16 * index) as u32).to_le_bytes());
            elements.extend((key.len() as u32).to_le_bytes());
            elements.extend((value.len() as u32).to_le_bytes());
            place += key.len() + value.len();
            data.extend(key);
            data.extend(value);
        }
        let first = these.first().map(|(key, _)| key.clone()).unwrap_or_default();
        written.push((first, page(file, LEAF, these.len(), &[elements, data].concat())));
        rest = others;
        if rest.is_empty() {
            return written;
        }
    }
}

/// Writes a page, with those that it reaches over; returns its number.
fn page(file: &mut Vec<u8>, flags: u16, count: usize, body: &[u8]) -> u64 {
    let id = (file.len() / PAGE) as u64;
    let pages = (HEADER + body.len()).div_ceil(PAGE);
    file.extend(id.to_le_bytes());
    file.extend(flags.to_le_bytes());
    file.extend((count as u16).to_le_bytes());
    file.extend((pages as u32 - 1).to_le_bytes());
    file.extend(body);
    file.resize((id as usize + pages) * PAGE, 0);
    id
}

fn meta_page(id: u64, root: u64, high_water: u64) -> Vec<u8> {
    let mut page = [&id.to_le_bytes()[..], &[4, 0, 0, 0, 0, 0, 0, 0]].concat();
    page.extend(0xED0C_DAED_u32.to_le_bytes());
    page.extend(2_u32.to_le_bytes());
    page.extend((PAGE as u32).to_le_bytes());
    page.extend([0; 4]);
    for number in [root, 0, u64::MAX, high_water, 40 + id] {
        page.extend(number.to_le_bytes());
    }
    let sum = page[HEADER..].iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    page.extend(sum.to_le_bytes());
    page
}
