//! The keys of a search in parts: the first has all of them, and where what is found in it is too much to be held at once, the others are read after it.

use bytes::Bytes;

use ketcd_store::Event;

/// In the first part a key is noted each time so many stored bytes have gone by: the keys show how much lies between two of them.
const BYTES_OF_A_SAMPLE: usize = 1 << 20;

/// Bytes that an event counts for besides its key and value, as what is found in it takes room however small it is.
const BYTES_OF_AN_EVENT: usize = 256;

/// A part takes at most this many times as many samples as the one before it.
const MAX_GROWTH: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyPart {
    /// Its first key; empty for the first of all.
    pub from: Bytes,
    /// The first key behind it; `None` for all that are left.
    pub to: Option<Bytes>,
    /// Whether it is the first one.
    pub is_first: bool,
}

#[derive(Debug)]
pub(super) struct Parts {
    /// The next one begins here; `None` where nothing is left.
    next: Option<Bytes>,
    /// Keys, each met where another [`BYTES_OF_A_SAMPLE`] had been read; ascending once the first part is read.
    samples: Vec<Bytes>,
    /// Bytes that were read since the last sample.
    unsampled: usize,
    /// How many samples the next part takes; `None` for all.
    width: Option<usize>,
}

impl Default for Parts {
    fn default() -> Self {
        Self { next: Some(Bytes::new()), samples: Vec::new(), unsampled: 0, width: None }
    }
}

impl Parts {
    /// Counts what is read in the first part.
    pub(super) fn observe(&mut self, event: &Event) {
        self.unsampled += event.key_value.key.len() + event.key_value.value.len() + BYTES_OF_AN_EVENT;
        if self.unsampled >= BYTES_OF_A_SAMPLE {
            // More than one sample of a key says no more: parts do not end within it.
            self.unsampled %= BYTES_OF_A_SAMPLE;
            self.samples.push(event.key_value.key.clone());
        }
    }

    /// The next part; `None` where all are read.
    pub(super) fn next(&mut self) -> Option<KeyPart> {
        let from = self.next.take()?;
        let to = self.width.and_then(|width| {
            let first = self.samples.partition_point(|sample| *sample <= from);
            self.samples.get(first + width.max(1) - 1).cloned()
        });
        Some(KeyPart { is_first: from.is_empty(), from, to })
    }

    /// Says that a part was read up to `end`, the first key that was left out of it, and that what was found took so many bytes of `most`.
    pub(super) fn read(&mut self, part: &KeyPart, end: Option<Bytes>, (bytes, most): (usize, usize)) {
        let Some(end) = end else { return };
        if part.is_first {
            self.samples.sort_unstable();
        }
        let place = |key: &Bytes| self.samples.partition_point(|sample| sample < key);
        let width = (place(&end) - place(&part.from)).max(1);
        // A quarter is left free, as parts differ.
        let fitting = width.saturating_mul(most / 4 * 3) / bytes.max(1);
        self.width = Some(fitting.clamp(1, width * MAX_GROWTH));
        self.next = Some(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Bytes {
        format!("/{number:04}").into()
    }

    fn parts_of(samples: usize) -> Parts {
        Parts { samples: (0..samples).rev().map(key).collect(), ..Parts::default() }
    }

    #[test]
    fn what_fits_is_one_part() {
        let mut parts = parts_of(9);
        let part = parts.next().unwrap();
        assert_eq!(part, KeyPart { from: Bytes::new(), to: None, is_first: true });
        parts.read(&part, None, (10, 100));
        assert_eq!(parts.next(), None);
    }

    #[test]
    fn parts_follow_each_other_to_the_last_key() {
        let mut parts = parts_of(1000);
        let first = parts.next().unwrap();
        parts.read(&first, Some(key(40)), (60, 100));
        let mut from = key(40);
        let mut count = 0;
        while let Some(part) = parts.next() {
            assert!(part.from == from && !part.is_first && part.to.as_ref().is_none_or(|to| *to > from), "{part:?}");
            let Some(to) = part.to.clone() else { break };
            // Every third holds more than was expected, and ends earlier.
            count += 1;
            let number = |key: &Bytes| std::str::from_utf8(&key[1..]).unwrap().parse::<usize>().unwrap();
            let middle = key(number(&from) + 1);
            let end = if count % 3 == 0 && middle < to { middle } else { to };
            let bytes = 2 * (number(&end) - number(&from));
            parts.read(&part, Some(end.clone()), (bytes, 100));
            from = end;
        }
        assert!((10..200).contains(&count), "{count}");
        assert_eq!(parts.next(), None);
    }
}
