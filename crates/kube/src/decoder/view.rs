//! One protobuf message seen through its table: which fields lie where, and which members its JSON shows.

use super::fault::{Fault, Result, prepend};
use super::identity::Place;
use super::values::{Items, JsonValue};
use super::wire::{self, Reader, Span, WireField};
use crate::UnknownField;
use crate::proto::table::{Card, Emit, Message, Numbers, Row, Type};

/// Messages within messages. Kubernetes' own types need about 15; only schemas within schemas go deeper.
pub(super) const MAX_DEPTH: usize = 100;

/// Messages inlined in inlined ones.
pub(super) const MAX_INLINED: usize = 8;

/// What one value needs while it is read: its bytes and the scratch space of all levels, reused by the next.
pub(super) struct Context<'a> {
    pub bytes: &'a [u8],
    slots: Vec<Slot>,
    pub depth: usize,
    /// The release whose rules hold, a minor of 1.x.
    pub minor: u8,
    /// Whether fields that the release does not have are shown nevertheless.
    shows_newer_fields: bool,
    /// Whether stored JSON keeps the order of its members.
    pub keeps_order: bool,
    /// Whether the object's `metadata` is known to be sound, so that members of it that are not wanted need no check.
    pub has_sound_metadata: bool,
    /// The stored JSON that was looked through last and is sound: the next version of an object often holds the same.
    pub sound_json: &'a [u8],
    /// Fields that are not shown.
    pub unknown: Vec<UnknownField>,
}

/// Where a field lies. Two words, which are read as they were written: parts of them would wait for one another.
#[derive(Clone, Copy, Default)]
pub(super) struct Slot {
    /// The offset of the first tag; above it that of the last payload.
    places: u64,
    /// How often the field occurs; above it its number, and the last one's wire type.
    what: u64,
}

impl Slot {
    pub(super) fn is_absent(self) -> bool {
        self.what == 0
    }

    /// One more occurrence.
    fn add(&mut self, tag_at: usize, payload_at: usize, number: u32, wire_type: u8) {
        let first = if self.is_absent() { tag_at as u64 } else { self.places & 0xffff_ffff };
        self.places = first | (payload_at as u64) << 32;
        self.what = ((self.what & 0xffff_ffff) + 1) | u64::from(number) << 32 | u64::from(wire_type) << 48;
    }

    fn first_tag(self) -> usize {
        (self.places & 0xffff_ffff) as usize
    }

    fn last_payload(self) -> usize {
        (self.places >> 32) as usize
    }

    fn number(self) -> u16 {
        (self.what >> 32) as u16
    }

    fn wire_type(self) -> u8 {
        (self.what >> 48) as u8
    }

    /// All occurrences, within a message that ends at `end`.
    pub(super) fn items(self, end: usize) -> Items {
        Items::new(self.places as u32, end as u32, self.what as u32, self.number())
    }
}

/// The message at hand: where its slots begin, where its bytes end, and which of its rows may be shown.
#[derive(Clone, Copy)]
pub(super) struct View {
    base: usize,
    pub end: usize,
    rows: u64,
}

impl View {
    /// Shows no other rows than these.
    pub(super) fn with_rows(self, rows: u64) -> Self {
        Self { rows: self.rows & rows, ..self }
    }

    /// The rows of this message or of another version of it.
    pub(super) fn or(self, other: Self) -> Self {
        Self { rows: self.rows | other.rows, ..self }
    }

    /// The next row that may be shown, in the order of the JSON. Each is returned once.
    #[inline]
    pub(super) fn next_row(&mut self, message: &'static Message) -> Option<&'static Row> {
        let row = message.rows.get(self.rows.trailing_zeros() as usize)?;
        self.rows &= self.rows - 1;
        Some(row)
    }
}

impl<'a> Context<'a> {
    pub(super) fn new(bytes: &'a [u8], minor: u8, shows_newer_fields: bool) -> Self {
        Self {
            bytes,
            slots: Vec::with_capacity(256),
            depth: 0,
            minor,
            shows_newer_fields,
            keeps_order: false,
            has_sound_metadata: false,
            sound_json: &[],
            unknown: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn has(&self, row: &Row) -> bool {
        row.holds_in(self.minor)
    }

    /// Says of the unknown fields found since there were `before` that they lie within `segment`.
    #[inline]
    pub(super) fn locate(&mut self, before: usize, segment: impl FnOnce() -> String) {
        if self.unknown.len() > before {
            let segment = segment();
            self.unknown[before..].iter_mut().for_each(|field| prepend(&mut field.path, &segment));
        }
    }

    /// Reads the tags of a message. Every `open` that succeeds must be followed by [`Context::close`].
    pub(super) fn open(&mut self, message: &Message, span: Span) -> Result<View> {
        if self.depth == MAX_DEPTH {
            return Err(Fault::new(format!("messages nested deeper than {MAX_DEPTH}"), span.start));
        }
        let base = self.slots.len();
        self.slots.resize(base + message.fills.len(), Slot::default());
        let mut rows = message.always;
        if span.start < span.end {
            match index(self.bytes, message, &message.numbers, &mut self.slots[base..], &mut self.unknown, span, 0) {
                Ok(filled) => rows |= filled,
                Err(fault) => {
                    self.slots.truncate(base);
                    return Err(fault);
                }
            }
        }
        self.depth += 1;
        Ok(View { base, end: span.end, rows })
    }

    /// The slots of a message that has three at most and none within it.
    pub(super) fn small(&mut self, message: &Message, span: Span) -> Result<[Slot; 3]> {
        let mut slots = [Slot::default(); 3];
        index(self.bytes, message, &message.numbers, &mut slots, &mut self.unknown, span, 0)?;
        Ok(slots)
    }

    /// Gives the message's scratch space back.
    pub(super) fn close(&mut self, view: View) {
        self.depth -= 1;
        self.slots.truncate(view.base);
    }

    /// The value of a field that is there, the last one where it occurs more than once. The message ends at `end`.
    #[inline]
    pub(super) fn last(&mut self, ty: Type, slot: Slot, end: usize) -> Result<JsonValue<'a>> {
        let mut reader = Reader::new(self.bytes, Span { start: slot.last_payload(), end });
        self.read(ty, &mut reader, slot.wire_type())
    }

    /// The last payload of a field that is there, which has a length before it.
    pub(super) fn last_span(&self, slot: Slot, end: usize) -> Result<Span> {
        let mut reader = Reader::new(self.bytes, Span { start: slot.last_payload(), end });
        super::values::expect(wire::WIRE_LEN, slot.wire_type(), reader.pos)?;
        reader.span()
    }

    /// Whether the message has no field for a row.
    pub(super) fn is_absent(&self, view: View, row: &Row) -> bool {
        self.slots[view.base + usize::from(row.slot)].is_absent()
    }

    /// Whether a row's fields lie in the message as they lie in another version of it, byte by byte.
    pub(super) fn has_equal(&self, view: View, other: &Context<'_>, other_view: View, row: &Row) -> bool {
        let (slot, other_slot) = (self.slots[view.base + usize::from(row.slot)], other.slots[other_view.base + usize::from(row.slot)]);
        let bytes = || Some((self.occurrences(slot, view.end)?, other.occurrences(other_slot, other_view.end)?));
        slot.what == other_slot.what && (slot.is_absent() || bytes().is_some_and(|(bytes, other)| bytes == other))
    }

    /// From the first tag of a field that is there to the end of its last payload.
    fn occurrences(&self, slot: Slot, end: usize) -> Option<&[u8]> {
        let mut reader = Reader::new(self.bytes, Span { start: slot.last_payload(), end });
        let last = reader.skip(slot.wire_type()).ok()?;
        self.bytes.get(slot.first_tag()..last.end)
    }

    /// What the JSON has for a row of the message.
    #[inline]
    pub(super) fn member(&mut self, view: View, message: &'static Message, row: &'static Row) -> Result<JsonValue<'a>> {
        let slot = match row.ty {
            Type::ApiVersion => return Ok(JsonValue::ApiVersion),
            Type::Kind => return Ok(JsonValue::Kind),
            _ => self.slots[view.base + usize::from(row.slot)],
        };
        if slot.is_absent() {
            return match row.emit {
                Emit::IfSet | Emit::IfNotEmpty => Ok(JsonValue::Hidden),
                _ if !self.has(row) => Ok(JsonValue::Hidden),
                Emit::Always if row.card == Card::One => self.zero(row.ty),
                Emit::Always | Emit::AlwaysOrNull => Ok(JsonValue::Null),
            };
        }
        if !self.has(row) && !self.shown_nevertheless(view, message, row, slot) {
            return Ok(JsonValue::Hidden);
        }
        match row.card {
            Card::List => Ok(JsonValue::List(row.ty, slot.items(view.end))),
            Card::Map => Ok(JsonValue::Map(row.ty, slot.items(view.end))),
            Card::One => {
                let shown = self.last(row.ty, slot, view.end);
                if row.emit == Emit::IfNotEmpty && matches!(&shown, Ok(shown) if shown.is_empty()) { Ok(JsonValue::Hidden) } else { shown }
            }
        }
    }

    /// The same for a message at this place.
    #[inline]
    pub(super) fn member_at(
        &mut self,
        place: Place<'_>,
        view: View,
        message: &'static Message,
        row: &'static Row,
    ) -> Result<JsonValue<'a>> {
        match place.stand_in(row) {
            None => self.member(view, message, row),
            Some(shown) => self.stood_in(view, message, row, shown),
        }
    }

    /// What is stored is not shown, but a value that does not fit its field is damage all the same.
    #[cold]
    fn stood_in(&mut self, view: View, message: &'static Message, row: &'static Row, shown: JsonValue<'static>) -> Result<JsonValue<'a>> {
        self.member(view, message, row).map(|_| shown)
    }

    /// Whether a field that the release does not have is shown by the rules of the row; if not it is kept as unknown, once.
    #[cold]
    fn shown_nevertheless(&mut self, view: View, message: &'static Message, row: &'static Row, slot: Slot) -> bool {
        let mut siblings = message.rows.iter().filter(|other| other.slot == row.slot && !matches!(other.ty, Type::ApiVersion | Type::Kind));
        let distance = |row: &Row| if self.minor < row.first { row.first - self.minor } else { self.minor - row.last };
        if siblings.any(|other| other.holds_in(self.minor) || (distance(other), other.first) < (distance(row), row.first)) {
            return false;
        }
        if !self.shows_newer_fields {
            let mut reader = Reader::new(self.bytes, Span { start: slot.last_payload(), end: view.end });
            if let Ok(payload) = reader.skip(slot.wire_type()) {
                // Go writes most fields even where they are zero: nothing is lost with those.
                let bytes = self.bytes[payload.start..payload.end].to_vec();
                if bytes.iter().any(|&byte| byte != 0) {
                    self.unknown.push(UnknownField {
                        path: String::new(),
                        number: u32::from(slot.number()),
                        wire_type: slot.wire_type(),
                        bytes,
                        masked: false,
                    });
                }
            }
        }
        self.shows_newer_fields
    }
}

/// Reads the tags of `span`, which is the message itself or one whose members stand in its JSON, and returns which rows may be shown.
fn index(
    bytes: &[u8],
    message: &Message,
    numbers: &Numbers,
    slots: &mut [Slot],
    unknown: &mut Vec<UnknownField>,
    span: Span,
    inlined: usize,
) -> Result<u64> {
    let mut rows = 0;
    let mut reader = Reader::new(bytes, span);
    while let Some(WireField { at, number, wire_type, tag_end, payload }) = reader.field()? {
        let index_of = numbers.slots.get(number as usize).copied().unwrap_or(0);
        if index_of == 0 {
            unknown.push(UnknownField {
                path: String::new(),
                number,
                wire_type,
                bytes: bytes[payload.start..payload.end].to_vec(),
                masked: false,
            });
        } else if index_of <= Numbers::INLINED {
            let place = usize::from(index_of) - 1;
            slots[place].add(at, tag_end, number, wire_type);
            rows |= message.fills[place];
        } else if wire_type == wire::WIRE_LEN && inlined < MAX_INLINED {
            let inner = &numbers.inlined[usize::from(index_of - Numbers::INLINED) - 1];
            rows |= index(bytes, message, inner, slots, unknown, payload, inlined + 1)?;
        } else {
            return Err(Fault::new("expected a message", payload.start));
        }
    }
    Ok(rows)
}
