//! Bytes that are shown in base64, searched for a text without being written out: for the bits that its digits stand for, at each of the four places of a
//! group.

use aho_corasick::AhoCorasick;

use crate::proto::kubernetes::MESSAGES;
use crate::proto::table::{Message, Render, Type};

/// Digits of base64 that stand for three bytes.
const GROUP_DIGITS: usize = 4;

const DIGIT_BITS: usize = 6;

/// Texts that may be a part of base64.
#[derive(Debug)]
pub(super) struct Digits {
    /// By the number of [`Self::places`].
    finder: AhoCorasick,
    places: Vec<Bits>,
    /// Which messages have bytes somewhere, in the order of [`MESSAGES`].
    has_bytes: Vec<bool>,
}

/// The bits that digits stand for at one place of a group.
#[derive(Debug, PartialEq, Eq)]
struct Bits {
    /// The last bits of the byte before the whole ones, and which of its bits they are.
    before: Option<MaskedByte>,
    /// The bytes of which all bits are known; never empty.
    whole: Vec<u8>,
    /// The first bits of the byte behind the whole ones.
    after: Option<MaskedByte>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MaskedByte {
    mask: u8,
    bits: u8,
}

impl MaskedByte {
    fn fits(self, byte: Option<&u8>) -> bool {
        byte.is_some_and(|byte| byte & self.mask == self.bits)
    }
}

impl Digits {
    /// What to look for: nothing where no text can be a part of base64 (`Some(None)`). `None` where one may be found anywhere.
    pub(super) fn of(texts: &[String]) -> Option<Option<Self>> {
        let mut places = Vec::new();
        for digits in texts.iter().filter_map(|text| values(text)) {
            for before in 0..GROUP_DIGITS {
                places.push(Bits::of(&digits, before)?);
            }
        }
        if places.is_empty() {
            return Some(None);
        }
        let finder = AhoCorasick::new(places.iter().map(|bits| &bits.whole)).ok()?;
        Some(Some(Self { finder, places, has_bytes: messages_with_bytes() }))
    }

    /// Whether bytes, or bytes within these, may show a text in base64.
    pub(super) fn may_be_in(&self, bytes: &[u8]) -> bool {
        self.finder.find_overlapping_iter(bytes).any(|found| self.places[found.pattern().as_usize()].fit(bytes, found.start()))
    }

    /// Whether a message has bytes, or has them in a message within it.
    pub(super) fn have_place_in(&self, message: &'static Message) -> bool {
        let first = MESSAGES.as_ptr() as usize;
        let place = (std::ptr::from_ref(message) as usize - first) / size_of::<Message>();
        self.has_bytes.get(place).copied().unwrap_or(true)
    }
}

impl Bits {
    /// The bits of digits before which others of their group stand; `None` where they fill no byte.
    fn of(digits: &[u8], before: usize) -> Option<Self> {
        let (first_bit, end_bit) = (before * DIGIT_BITS, (before + digits.len()) * DIGIT_BITS);
        let mut bytes = vec![MaskedByte { mask: 0, bits: 0 }; end_bit.div_ceil(8)];
        for bit in first_bit..end_bit {
            let digit = digits[(bit - first_bit) / DIGIT_BITS];
            let is_set = digit >> (DIGIT_BITS - 1 - (bit - first_bit) % DIGIT_BITS) & 1;
            let (byte, place) = (&mut bytes[bit / 8], 7 - bit % 8);
            byte.mask |= 1 << place;
            byte.bits |= is_set << place;
        }
        let (first, end) = (first_bit.div_ceil(8), end_bit / 8);
        let whole: Vec<u8> = bytes.get(first..end)?.iter().map(|byte| byte.bits).collect();
        let partly = |place: usize| bytes.get(place).copied().filter(|byte| byte.mask != 0 && byte.mask != u8::MAX);
        let before = first.checked_sub(1).and_then(partly);
        // Bits that are not set may be those that fill up the last digit: no byte has them.
        let after = partly(end).filter(|byte| byte.bits != 0);
        (!whole.is_empty()).then_some(Self { before, whole, after })
    }

    /// Whether they are there where the whole bytes were found.
    fn fit(&self, bytes: &[u8], at: usize) -> bool {
        self.before.is_none_or(|before| before.fits(at.checked_sub(1).and_then(|at| bytes.get(at))))
            && self.after.is_none_or(|after| after.fits(bytes.get(at + self.whole.len())))
    }
}

/// What each digit of a text stands for; `None` where the text cannot be a part of base64. Padding stands for nothing.
fn values(text: &str) -> Option<Vec<u8>> {
    let value = |digit: u8| match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    text.trim_end_matches('=').bytes().map(value).collect()
}

/// Which messages have bytes, or have them in a message within them.
fn messages_with_bytes() -> Vec<bool> {
    let mut found = vec![false; MESSAGES.len()];
    loop {
        let is_new = |place: usize, found: &[bool]| {
            let has = |ty: Type| match ty {
                Type::Bytes => true,
                Type::Message(id) => found[usize::from(id.0)],
                _ => false,
            };
            // JSON lies in a field of bytes, and is shown as it is.
            !found[place] && MESSAGES[place].render != Render::RawJson && MESSAGES[place].rows.iter().any(|row| has(row.ty))
        };
        let new: Vec<usize> = (0..MESSAGES.len()).filter(|&place| is_new(place, &found)).collect();
        if new.is_empty() {
            return found;
        }
        new.into_iter().for_each(|place| found[place] = true);
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;
    use crate::decoder::stored::find_message;

    fn digits(text: &str) -> Option<Digits> {
        Digits::of(&[text.to_owned()]).expect("the text fills a byte")
    }

    #[test]
    fn kinds_with_bytes_are_known() {
        let digits = digits("web").unwrap();
        let have_place = |api_version, kind| digits.have_place_in(find_message(api_version, kind).unwrap());
        for (api_version, kind) in [
            ("v1", "Secret"),
            ("v1", "ConfigMap"),
            ("certificates.k8s.io/v1", "CertificateSigningRequest"),
            ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
        ] {
            assert!(have_place(api_version, kind), "{kind}");
        }
        for (api_version, kind) in [("v1", "Pod"), ("apps/v1", "Deployment"), ("v1", "Event")] {
            assert!(!have_place(api_version, kind), "{kind}");
        }
    }

    #[test]
    fn a_short_text_is_not_everywhere() {
        let short = digits("POD").unwrap();
        assert!(!short.may_be_in(b"an image of kube-apiserver and a POD of it: \x00\x12\x1a\x22\x38"));
        assert!(digits("a.b").is_none());
        // The last digit of a group and the first of the next one fill no byte.
        assert!(Digits::of(&["ab".to_owned()]).is_none());
    }

    proptest! {
        #[test]
        fn what_is_shown_is_found(bytes in proptest::collection::vec(any::<u8>(), 0..24), before in 0_usize..40, length in 3_usize..12) {
            let shown = STANDARD.encode(&bytes);
            let part: String = shown.chars().skip(before).take(length).collect();
            if part.trim_end_matches('=').len() > 2 {
                prop_assert!(digits(&part).unwrap().may_be_in(&bytes), "{:?} of {:?}", part, shown);
            }
        }
    }
}
