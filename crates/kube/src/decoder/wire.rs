//! The protobuf wire format: varints, tags, lengths, and how to skip what is not wanted. Every read is bounded by its range.

use super::fault::{Fault, Result};

/// Groups within groups, which only unknown fields can hold.
const MAX_GROUPS: usize = 32;

/// A part of a value, as offsets from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub start: usize,
    pub end: usize,
}

/// A cursor over a part of a value.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    /// The value up to the part's end.
    bytes: &'a [u8],
    pub pos: usize,
}

#[derive(Clone, Copy)]
pub(super) struct WireField {
    /// Where its tag begins.
    pub at: usize,
    pub number: u32,
    pub wire_type: u8,
    /// Where its tag ends; the payload's length may follow.
    pub tag_end: usize,
    pub payload: Span,
}

/// How a field's payload lies on the wire.
pub(super) const WIRE_VARINT: u8 = 0;
pub(super) const WIRE_FIXED64: u8 = 1;
pub(super) const WIRE_LEN: u8 = 2;
const WIRE_GROUP: u8 = 3;
const END_GROUP: u8 = 4;
pub(super) const WIRE_FIXED32: u8 = 5;

impl<'a> Reader<'a> {
    /// A reader of `span`, which must lie within `bytes`.
    #[inline]
    pub(super) fn new(bytes: &'a [u8], span: Span) -> Self {
        Self { bytes: &bytes[..span.end], pos: span.start }
    }

    #[inline]
    pub(super) fn at_end(&self) -> bool {
        self.pos >= self.bytes.len()
    }

    /// An unsigned number of up to 64 bits.
    #[inline(always)]
    pub(super) fn varint(&mut self) -> Result<u64> {
        match self.bytes.get(self.pos) {
            Some(&byte) if byte < 0x80 => {
                self.pos += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64> {
        let start = self.pos;
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let Some(&byte) = self.bytes.get(self.pos) else { return Err(Fault::new("number cut short", start)) };
            self.pos += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Fault::new("number longer than 64 bits", start))
    }

    /// A field's number and wire type.
    #[inline(always)]
    pub(super) fn tag(&mut self) -> Result<(u32, u8)> {
        let start = self.pos;
        let tag = self.varint()?;
        match u32::try_from(tag >> 3) {
            Ok(number) if number != 0 => Ok((number, (tag & 7) as u8)),
            _ => Err(Fault::new("field number out of range", start)),
        }
    }

    /// The next field of a message, passed over; `None` at the message's end.
    #[inline(always)]
    pub(super) fn field(&mut self) -> Result<Option<WireField>> {
        if self.at_end() {
            return Ok(None);
        }
        let at = self.pos;
        let (number, wire_type) = self.tag()?;
        let tag_end = self.pos;
        let payload = self.skip(wire_type)?;
        Ok(Some(WireField { at, number, wire_type, tag_end, payload }))
    }

    /// A payload with its length before it.
    #[inline(always)]
    pub(super) fn span(&mut self) -> Result<Span> {
        let at = self.pos;
        let length = self.varint()?;
        let start = self.pos;
        if length > (self.bytes.len() - start) as u64 {
            return Err(Fault::new(format!("length {length} beyond the end"), at));
        }
        self.pos = start + length as usize;
        Ok(Span { start, end: self.pos })
    }

    /// Eight bytes, little-endian.
    pub(super) fn fixed64(&mut self) -> Result<u64> {
        match self.bytes.get(self.pos..self.pos + 8) {
            Some(bytes) => {
                self.pos += 8;
                Ok(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
            }
            None => Err(Fault::new("number cut short", self.pos)),
        }
    }

    /// Passes over a payload and returns it, without a length before it.
    #[inline]
    pub(super) fn skip(&mut self, wire_type: u8) -> Result<Span> {
        if wire_type == WIRE_LEN { self.span() } else { self.skip_other(wire_type, 0) }
    }

    fn skip_other(&mut self, wire_type: u8, groups: usize) -> Result<Span> {
        let start = self.pos;
        match wire_type {
            WIRE_VARINT => {
                self.varint()?;
            }
            WIRE_FIXED64 | WIRE_FIXED32 => {
                let length = if wire_type == WIRE_FIXED64 { 8 } else { 4 };
                if length > self.bytes.len() - start {
                    return Err(Fault::new("number cut short", start));
                }
                self.pos += length;
            }
            WIRE_GROUP if groups < MAX_GROUPS => loop {
                let (_, inner) = self.tag()?;
                match inner {
                    END_GROUP => break,
                    WIRE_LEN => drop(self.span()?),
                    _ => drop(self.skip_other(inner, groups + 1)?),
                }
            },
            WIRE_GROUP => return Err(Fault::new("groups nested too deep", start)),
            END_GROUP => return Err(Fault::new("end of a group that never began", start)),
            _ => return Err(Fault::new(format!("unknown wire type {wire_type}"), start)),
        }
        Ok(Span { start, end: self.pos })
    }
}
