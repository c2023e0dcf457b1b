//! Records: the columns of a row, or of an index's entry.

use std::ops::Range;

/// A column's value; texts and blobs as places in the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Field {
    /// NULL; also what stands in the place of a table's `INTEGER PRIMARY KEY`.
    Null,
    /// A whole number.
    Integer(i64),
    /// A floating-point number.
    Real,
    /// Text in the database's encoding.
    Text(Range<usize>),
    Blob(Range<usize>),
}

impl Field {
    /// The number; NULL is 0.
    pub(in super::super) fn number(&self) -> Option<i64> {
        match *self {
            Self::Null => Some(0),
            Self::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// Where its bytes lie; NULL has none.
    pub(in super::super) fn bytes(&self) -> Option<Range<usize>> {
        match self {
            Self::Null => Some(0..0),
            Self::Text(place) | Self::Blob(place) => Some(place.clone()),
            _ => None,
        }
    }
}

/// Reads a number of up to nine bytes at `at`, and moves behind it.
pub(super) fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0;
    for _ in 0..8 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number = number << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some(number);
        }
    }
    let byte = *bytes.get(*at)?;
    *at += 1;
    Some(number << 8 | u64::from(byte))
}

/// Reads a record that fills `payload`; `None` where it is none, or has more than `most` columns.
pub(in super::super) fn record(payload: &[u8], most: usize) -> Option<Vec<Field>> {
    let mut at = 0;
    let header = usize::try_from(varint(payload, &mut at)?).ok().filter(|&end| end <= payload.len())?;
    let mut fields = Vec::with_capacity(most);
    let mut body = header;
    while at < header {
        let kind = varint(payload, &mut at)?;
        if fields.len() == most || at > header {
            return None;
        }
        let length = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind as usize,
            5 => 6,
            6 | 7 => 8,
            10 | 11 => return None,
            _ => usize::try_from((kind - 12) / 2).ok()?,
        };
        let place = body..body.checked_add(length).filter(|&end| end <= payload.len())?;
        body = place.end;
        fields.push(match kind {
            0 => Field::Null,
            1..=6 => Field::Integer(integer(&payload[place])),
            7 => Field::Real,
            8 => Field::Integer(0),
            9 => Field::Integer(1),
            _ if kind % 2 == 0 => Field::Blob(place),
            _ => Field::Text(place),
        });
    }
    (body == payload.len() && at == header).then_some(fields)
}

/// A signed number of one to eight bytes.
fn integer(bytes: &[u8]) -> i64 {
    let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
    bytes.iter().fold(if negative { -1 } else { 0 }, |number, &byte| number << 8 | i64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_one_to_nine_bytes_are_read() {
        let cases: [(&[u8], u64); 5] =
            [(&[0x7f], 127), (&[0x81, 0x00], 128), (&[0xff, 0x7f], 16383), (&[0x81, 0x80, 0x00], 16384), (&[0xff; 9], u64::MAX)];
        for (bytes, number) in cases {
            let mut at = 0;
            assert_eq!((varint(bytes, &mut at), at), (Some(number), bytes.len()));
            assert_eq!(varint(&bytes[..bytes.len() - 1], &mut 0), None);
        }
    }

    #[test]
    fn a_record_fills_its_payload() {
        let payload = [7, 0, 9, 2, 17, 18, 1, 0xff, 0xfe, b'a', b'b', 1, 2, 3, 0x80];
        let fields = record(&payload, 9).unwrap();
        let wanted = [Field::Null, Field::Integer(1), Field::Integer(-2), Field::Text(9..11), Field::Blob(11..14), Field::Integer(-128)];
        assert_eq!(fields, wanted);
        assert_eq!(record(&payload, 5), None);
        assert_eq!(record(&payload[..payload.len() - 1], 9), None);
        assert_eq!(record(&[&payload[..], &[0]].concat(), 9), None);
    }
}
