//! The mutator: some random edits of a seed. libFuzzer uses it beside its own, the stable tests use it alone.

/// A generator of random numbers (SplitMix64): small, and the same everywhere for the same beginning.
pub struct Random(u64);

impl Random {
    /// A generator that begins with `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.number() % end as u64) as usize }
    }
}

/// Numbers at which arithmetic turns: ends of types, signs, sizes of pages and sectors.
const TURNING_NUMBERS: [u64; 12] = [0, 1, 0x7f, 0x80, 0xff, 512, 4096, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 0x7fff_ffff_ffff_ffff];

/// Edits `data` one to six times. `words` are words of the format; the result has at most `most` bytes.
pub fn mutate(data: &mut Vec<u8>, words: &[&str], random: &mut Random, most: usize) {
    for _ in 0..=random.below(6) {
        edit(data, words, random);
        data.truncate(most);
    }
}

fn edit(data: &mut Vec<u8>, words: &[&str], random: &mut Random) {
    let length = data.len();
    let mut at = random.below(length + 1);
    // Pages and logs are mostly zeros behind what was written.
    for _ in 0..3 {
        if data.get(at) == Some(&0) {
            at = random.below(length + 1);
        }
    }
    let reach = [4, 16, 64, length.max(1)][random.below(4)];
    let span = at..(at + 1 + random.below(reach)).min(length).max(at);
    match random.below(11) {
        0 if at < length => data[at] = random.number() as u8,
        1 if at < length => data[at] ^= 1 << random.below(8),
        2 => data.insert(at, random.number() as u8),
        3 => drop(data.drain(span)),
        4 => {
            let copy = data[span].to_vec();
            let to = random.below(data.len() + 1);
            data.splice(to..to, copy);
        }
        5 => {
            // What was there is written over, so that all that follows keeps its place.
            let copy = data[span].to_vec();
            let to = random.below((length + 1).saturating_sub(copy.len()));
            data[to..to + copy.len()].copy_from_slice(&copy);
        }
        6 if random.below(8) == 0 => data.truncate(at),
        7 => {
            let number = TURNING_NUMBERS[random.below(TURNING_NUMBERS.len())].wrapping_add(random.below(3) as u64).wrapping_sub(1);
            let width = [1, 2, 4, 8][random.below(4)];
            let bytes =
                if random.below(2) == 0 { number.to_le_bytes()[..width].to_vec() } else { number.to_be_bytes()[8 - width..].to_vec() };
            let end = (at + width).min(length);
            data[at..end].copy_from_slice(&bytes[..end - at]);
        }
        8 if !words.is_empty() => drop(data.splice(at..at, words[random.below(words.len())].bytes())),
        9 if !words.is_empty() => {
            let word = words[random.below(words.len())];
            data.splice(span, word.bytes());
        }
        10 if !words.is_empty() && random.below(8) == 0 => {
            let word = words[random.below(words.len())];
            let many = word.repeat(1 << random.below(12));
            data.splice(at..at, many.into_bytes());
        }
        _ => {
            if let Some(byte) = data.get_mut(at) {
                *byte = byte.wrapping_add(1);
            }
        }
    }
}
