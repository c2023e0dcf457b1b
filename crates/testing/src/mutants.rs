//! Damages databases and logs, as disks, copies and people do: always in the same way from the same seed.

use crate::random::Random;

/// The size of a page, in bytes.
pub const PAGE_BYTES: usize = 4096;
const HEADER_BYTES: usize = 16;
const BRANCH_FLAG: u16 = 1;
const LEAF_FLAG: u16 = 2;

/// What was done to a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Single bits or bytes anywhere, in stored keys and values above all: pages bear no checksum.
    Bytes,
    /// Cut short.
    Truncated,
    /// A stretch of zeros.
    Zeroed,
    /// Pages in other pages' places, their numbers as they are.
    Misplaced,
    /// The same with the numbers made to fit.
    Renumbered,
    /// A field of a page's header.
    Header,
    /// An element of a branch or leaf.
    Element,
    /// A byte of a meta page, or the two in each other's place.
    Meta,
    /// The root that a meta page names, with a checksum that fits.
    MetaRoot,
    /// The root of a bucket.
    BucketRoot,
    /// An older copy of a leaf in the place of the newer one.
    Stale,
}

/// Every kind of damage to a database.
pub const DAMAGE_KINDS: [Kind; 11] = [
    Kind::Bytes,
    Kind::Truncated,
    Kind::Zeroed,
    Kind::Misplaced,
    Kind::Renumbered,
    Kind::Header,
    Kind::Element,
    Kind::Meta,
    Kind::MetaRoot,
    Kind::BucketRoot,
    Kind::Stale,
];

/// Damages a database that may have a snapshot's checksum behind its last page.
pub fn damage_database(db: &mut Vec<u8>, kind: Kind, random: &mut Random) {
    let pages = db.len() / PAGE_BYTES;
    let any = random.below(pages);
    let (one, other) = (2 + random.below(pages - 2), 2 + random.below(pages - 2));
    match kind {
        Kind::Bytes => {
            for _ in 0..=random.below(3) {
                let at = random.below(db.len());
                db[at] ^= if random.below(2) == 0 { 1 << random.below(8) } else { random.next() as u8 };
            }
        }
        Kind::Truncated => {
            let at = if random.below(2) == 0 { any * PAGE_BYTES } else { random.below(db.len()) };
            db.truncate(at);
        }
        Kind::Zeroed => {
            let from = any * PAGE_BYTES + random.below(8) * 512;
            let to = db.len().min(from + [512, PAGE_BYTES, 4 * PAGE_BYTES][random.below(3)]);
            db[from.min(to)..to].fill(0);
        }
        Kind::Misplaced | Kind::Renumbered => {
            let (first, second) = (page(db, one).to_vec(), page(db, other).to_vec());
            db[other * PAGE_BYTES..][..PAGE_BYTES].copy_from_slice(&first);
            if random.below(2) == 0 {
                db[one * PAGE_BYTES..][..PAGE_BYTES].copy_from_slice(&second);
            }
            if kind == Kind::Renumbered {
                for id in [one, other] {
                    db[id * PAGE_BYTES..][..8].copy_from_slice(&(id as u64).to_le_bytes());
                }
            }
        }
        Kind::Header => damage_header(db, random),
        Kind::Element => damage_element(db, random),
        Kind::Meta => damage_meta(db, random),
        Kind::MetaRoot => {
            for id in [0, 1] {
                db[id * PAGE_BYTES + HEADER_BYTES + 16..][..8].copy_from_slice(&(one as u64).to_le_bytes());
                sign_meta(db, id);
            }
        }
        Kind::BucketRoot => move_root(db, random),
        Kind::Stale => place_stale(db, random),
    }
}

fn page(db: &[u8], id: usize) -> &[u8] {
    &db[id * PAGE_BYTES..(id + 1) * PAGE_BYTES]
}

fn u16_at(db: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(db[at..at + 2].try_into().unwrap())
}

fn u32_at(db: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(db[at..at + 4].try_into().unwrap())
}

fn u64_at(db: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(db[at..at + 8].try_into().unwrap())
}

/// The pages that begin with their own number, as leaves, branches or either.
fn pages_of(db: &[u8], flags: &[u16]) -> Vec<usize> {
    (2..db.len() / PAGE_BYTES)
        .filter(|&id| u64_at(db, id * PAGE_BYTES) == id as u64 && flags.contains(&u16_at(db, id * PAGE_BYTES + 8)))
        .collect()
}

fn damage_header(db: &mut [u8], random: &mut Random) {
    let pages = pages_of(db, &[LEAF_FLAG, BRANCH_FLAG]);
    let at = pages[random.below(pages.len())] * PAGE_BYTES;
    let count = u16_at(db, at + 10);
    match random.below(5) {
        0 => db[at + 10..at + 12].copy_from_slice(&(random.below(usize::from(count)) as u16).to_le_bytes()),
        1 => db[at + 10..at + 12].copy_from_slice(&(count + 1 + random.below(9) as u16).to_le_bytes()),
        2 => db[at + 8] = random.next() as u8,
        3 => db[at + 12] ^= 1 << random.below(4),
        _ => db[at] ^= 1 << random.below(8),
    }
}

fn damage_element(db: &mut [u8], random: &mut Random) {
    let pages = pages_of(db, &[LEAF_FLAG, BRANCH_FLAG]);
    let at = pages[random.below(pages.len())] * PAGE_BYTES;
    let count = usize::from(u16_at(db, at + 10));
    let word = at + HEADER_BYTES + 16 * random.below(count) + 4 * random.below(4);
    let value = match random.below(3) {
        0 => u32_at(db, word) ^ 1 << random.below(16),
        1 => u32_at(db, word).wrapping_add(random.below(40) as u32).wrapping_sub(20),
        _ => random.next() as u32,
    };
    db[word..word + 4].copy_from_slice(&value.to_le_bytes());
}

fn damage_meta(db: &mut [u8], random: &mut Random) {
    let (first, second) = (page(db, 0).to_vec(), page(db, 1).to_vec());
    match random.below(4) {
        0 => {
            db[..PAGE_BYTES].copy_from_slice(&second);
            db[PAGE_BYTES..2 * PAGE_BYTES].copy_from_slice(&first);
        }
        1 => db[..PAGE_BYTES].copy_from_slice(&second),
        2 => db[PAGE_BYTES..2 * PAGE_BYTES].copy_from_slice(&first),
        _ => {
            let at = random.below(2) * PAGE_BYTES + HEADER_BYTES + random.below(64);
            db[at] ^= 1 << random.below(8);
        }
    }
}

/// Writes a meta page's checksum anew.
fn sign_meta(db: &mut [u8], id: usize) {
    let at = id * PAGE_BYTES + HEADER_BYTES;
    let sum = db[at..at + 56].iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    db[at + 56..at + 64].copy_from_slice(&sum.to_le_bytes());
}

/// Lets the bucket `key` begin at another page.
fn move_root(db: &mut [u8], random: &mut Random) {
    let newest = usize::from(u64_at(db, PAGE_BYTES + HEADER_BYTES + 48) > u64_at(db, HEADER_BYTES + 48));
    let root = u64_at(db, newest * PAGE_BYTES + HEADER_BYTES + 16) as usize * PAGE_BYTES;
    for index in 0..usize::from(u16_at(db, root + 10)) {
        let element = root + HEADER_BYTES + 16 * index;
        let (place, key) = (element + u32_at(db, element + 4) as usize, u32_at(db, element + 8) as usize);
        if &db[place..place + key] == b"key" {
            let pages = pages_of(db, &[LEAF_FLAG, BRANCH_FLAG]);
            let to = pages[random.below(pages.len())] as u64;
            db[place + key..][..8].copy_from_slice(&to.to_le_bytes());
        }
    }
}

/// Puts one leaf where another one of the same first key is: older or newer, who knows. Every other time, and where there is no such
/// pair, any two.
fn place_stale(db: &mut [u8], random: &mut Random) {
    let leaves = pages_of(db, &[LEAF_FLAG]);
    let first_key = |id: &usize| {
        let element = id * PAGE_BYTES + HEADER_BYTES;
        let place = element + u32_at(db, element + 4) as usize;
        db.get(place..place + 8).map(<[u8]>::to_vec)
    };
    let start = random.below(leaves.len());
    let pairs = (0..leaves.len()).map(|n| leaves[(start + n) % leaves.len()]).filter_map(|one| {
        let other = leaves.iter().copied().find(|other| *other != one && first_key(other) == first_key(&one))?;
        Some((one, other))
    });
    let any = (leaves[start], leaves[random.below(leaves.len())]);
    let (from, to) = pairs.clone().next().filter(|_| random.below(2) == 0).unwrap_or(any);
    let copy = page(db, from).to_vec();
    db[to * PAGE_BYTES..][..PAGE_BYTES].copy_from_slice(&copy);
    db[to * PAGE_BYTES..][..8].copy_from_slice(&(to as u64).to_le_bytes());
}

/// What was done to a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogKind {
    /// Single bits.
    Bytes,
    /// Cut short.
    Truncated,
    /// A stretch of zeros.
    Zeroed,
    /// Two sectors in each other's place.
    Swapped,
    /// The length of a record.
    Length,
}

/// Every kind of damage to a log.
pub const LOG_KINDS: [LogKind; 5] = [LogKind::Bytes, LogKind::Truncated, LogKind::Zeroed, LogKind::Swapped, LogKind::Length];

/// Damages a log file in what was written of it: its first `written` bytes.
pub fn damage_log(log: &mut Vec<u8>, written: usize, kind: LogKind, random: &mut Random) {
    let at = random.below(written);
    match kind {
        LogKind::Bytes => log[at] ^= 1 << random.below(8),
        LogKind::Truncated => log.truncate(at),
        LogKind::Zeroed => {
            let end = written.min(at + 1 + random.below(PAGE_BYTES));
            log[at..end].fill(0);
        }
        LogKind::Swapped => {
            let (one, other) = (random.below(written / 512) * 512, random.below(written / 512) * 512);
            for n in 0..512 {
                log.swap(one + n, other + n);
            }
        }
        LogKind::Length => {
            // Follow the frames to some record, and change what it says to be long.
            let (mut frame, mut next) = (0, 0);
            while next < at {
                frame = next;
                let length = (u64_at(log, frame) & ((1 << 56) - 1)) as usize;
                next = frame + 8 + length.next_multiple_of(8);
            }
            log[frame] ^= 8 << random.below(5);
        }
    }
}
