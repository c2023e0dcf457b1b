//! Words to pseudonyms that stand in the same order and need no table: the same salt gives the same one in every bundle.
//!
//! A word is written by an arithmetic code whose ruler is drawn anew, by the salt, after each prefix. So two words compare as their pseudonyms do, no
//! pseudonym begins another one, and what a pseudonym still tells is the order, what words have in common at their beginning, and about how long they are.

use crate::keyed::{DIGITS, Keyed};

/// A pseudonym is not shorter, so that it is hardly anybody's word.
const MIN_TOKEN_CHARS: usize = 6;
/// Bits of a digit.
const DIGIT_BITS: u32 = 5;
/// Bits of the code that are not yet written.
const WINDOW_BITS: u32 = 60;
/// The range is made wider below this, so that each symbol has some of it.
const MIN_RANGE: u64 = 1 << 40;
/// A word ends, at the lowest place of each ruler: what a word begins stands behind it.
const END: usize = 0;

/// Returns the pseudonym of a word. It begins with a digit where the word does, and with a letter else.
pub(crate) fn token(keyed: &Keyed, word: &str) -> String {
    let mut code = Code::new(word.as_bytes().first().is_some_and(u8::is_ascii_digit));
    for (at, byte) in word.bytes().map(|byte| usize::from(byte) + 1).chain([END]).enumerate() {
        let ruler = Ruler::after(keyed, &word.as_bytes()[..at]);
        code.narrow(&ruler, byte);
    }
    let mut token = code.finish();
    if token.len() < MIN_TOKEN_CHARS {
        token.push_str(&keyed.word("pad", word, MIN_TOKEN_CHARS - token.len()));
    }
    token
}

/// How much of the range each symbol has after one prefix.
struct Ruler {
    weights: [u16; 257],
    total: u64,
}

impl Ruler {
    fn after(keyed: &Keyed, prefix: &[u8]) -> Self {
        let digest = keyed.digest("order", prefix);
        let mut state = u64::from_le_bytes(std::array::from_fn(|at| digest[at]));
        let mut weights = [0; 257];
        for (symbol, weight) in weights.iter_mut().enumerate() {
            state = mixed(state);
            *weight = usual_weight(symbol) * (1 + (state >> 60) as u16);
        }
        let total = weights.iter().map(|weight| u64::from(*weight)).sum();
        Self { weights, total }
    }
}

/// The next number of a sequence (SplitMix64), whose state stays secret.
fn mixed(state: u64) -> u64 {
    let mut mixed = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// What names usually hold has shorter codes.
fn usual_weight(symbol: usize) -> u16 {
    match u8::try_from(symbol.wrapping_sub(1)) {
        Err(_) => 96,
        Ok(b'a' | b'e' | b'i' | b'n' | b'o' | b'r' | b's' | b't') => 140,
        Ok(b'c' | b'd' | b'g' | b'h' | b'l' | b'm' | b'p' | b'u') => 70,
        Ok(byte) if byte.is_ascii_lowercase() || byte.is_ascii_digit() => 30,
        Ok(byte) if byte.is_ascii_uppercase() => 6,
        Ok(_) => 1,
    }
}

/// A range of numbers between 0 and 1, whose first digits are known.
struct Code {
    digits: Vec<u8>,
    low: u64,
    range: u64,
}

impl Code {
    fn new(begins_with_digit: bool) -> Self {
        let unit = 1 << (WINDOW_BITS - DIGIT_BITS);
        let (low, range) = if begins_with_digit { (0, 10 * unit) } else { (10 * unit, 22 * unit) };
        Self { digits: Vec::new(), low, range }
    }

    fn narrow(&mut self, ruler: &Ruler, symbol: usize) {
        let unit = self.range / ruler.total;
        let start: u64 = ruler.weights[..symbol].iter().map(|weight| u64::from(*weight)).sum();
        self.low += unit * start;
        self.range = unit * u64::from(ruler.weights[symbol]);
        self.carry();
        while self.range < MIN_RANGE {
            self.digits.push((self.low >> (WINDOW_BITS - DIGIT_BITS)) as u8);
            self.low = (self.low << DIGIT_BITS) & ((1 << WINDOW_BITS) - 1);
            self.range <<= DIGIT_BITS;
        }
    }

    /// Moves what is above the window into the digits that are written.
    fn carry(&mut self) {
        if self.low >> WINDOW_BITS == 0 {
            return;
        }
        self.low &= (1 << WINDOW_BITS) - 1;
        for digit in self.digits.iter_mut().rev() {
            *digit = (*digit + 1) % 32;
            if *digit != 0 {
                return;
            }
        }
    }

    /// The shortest digits whose every continuation lies in the range.
    fn finish(mut self) -> String {
        let end = self.low + self.range;
        for count in 1..=WINDOW_BITS / DIGIT_BITS {
            let unit = 1_u64 << (WINDOW_BITS - count * DIGIT_BITS);
            let first = self.low.div_ceil(unit) * unit;
            if first + unit <= end {
                self.low = first;
                self.carry();
                for place in 1..=count {
                    self.digits.push((self.low >> (WINDOW_BITS - place * DIGIT_BITS)) as u8 & 31);
                }
                break;
            }
        }
        self.digits.iter().map(|digit| char::from(DIGITS[usize::from(*digit)])).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_pseudonym_is_about_as_long_as_its_word() {
        let keyed = Keyed::new(b"salt");
        for word in ["payments", "a", "0", "frontend", "internationalisation", "x2x9k", "Zürich"] {
            let token = token(&keyed, word);
            assert!(token.len() >= 6 && token.len() <= word.len() * 2 + 5, "{word}: {token}");
            assert_eq!(token.starts_with(|c: char| c.is_ascii_digit()), word.starts_with('0'), "{word}: {token}");
        }
        let average: usize =
            ["payments", "frontend", "warehouse", "catalogue", "inventory"].map(|word| token(&keyed, word).len()).iter().sum();
        assert!(average < 5 * 12, "{average}");
    }

    #[test]
    fn another_salt_gives_another_pseudonym() {
        assert_ne!(token(&Keyed::new(b"a"), "payments"), token(&Keyed::new(b"b"), "payments"));
        assert_eq!(token(&Keyed::new(b"a"), "payments"), token(&Keyed::new(b"a"), "payments"));
    }

    proptest! {
        #[test]
        fn order_is_kept_and_no_pseudonym_begins_another(a in "[a-z0-9]{1,20}", b in "[a-z0-9A-Z]{1,20}", salt: u64) {
            let keyed = Keyed::new(&salt.to_le_bytes());
            let (one, other) = (token(&keyed, &a), token(&keyed, &b));
            prop_assert_eq!(a.cmp(&b), one.cmp(&other), "{} {} {} {}", a, b, one, other);
            prop_assert!(a == b || !one.starts_with(&*other) && !other.starts_with(&*one));
        }

        #[test]
        fn near_words_stay_apart(word in "[a-z]{1,12}", a in "[a-z0-9]{0,3}", b in "[a-z0-9]{0,3}") {
            let keyed = Keyed::new(b"salt");
            let (first, second) = (format!("{word}{a}"), format!("{word}{b}"));
            prop_assert_eq!(first.cmp(&second), token(&keyed, &first).cmp(&token(&keyed, &second)));
        }
    }
}
