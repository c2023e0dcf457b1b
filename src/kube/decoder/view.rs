//! One protobuf message seen through its table: which fields lie where, and which members its JSON shows.

use super::fault::{Fault, Result, prepend};
use super::values::{Items, Shown};
use super::wire::{self, Reader, Span};
use crate::kube::UnknownField;
use crate::proto::table::{Card, Emit, Message, Numbers, Row, Type};

/// Messages within messages. Kubernetes' own types need about 15; only schemas within schemas go deeper.
const MAX_DEPTH: usize = 100;

/// What one value needs while it is read: its bytes and the scratch space of all levels, reused by the next.
pub struct Context<'a> {
    pub bytes: &'a [u8],
    slots: Vec<Slot>,
    depth: usize,
    /// The release whose rules hold, a minor of 1.x.
    minor: u8,
    /// Whether fields that the release does not have are shown nevertheless.
    lenient: bool,
    /// Fields that are not shown.
    pub unknown: Vec<UnknownField>,
}

/// Where a field lies: the offsets of its first and last tag, plus one so that 0 is absent, and how often it occurs.
#[derive(Clone, Copy, Default)]
pub struct Slot {
    first: u32,
    last: u32,
    count: u32,
}

impl Slot {
    pub fn is_absent(self) -> bool {
        self.count == 0
    }

    /// The offset of the tag that counts where there should be one: the last.
    pub fn tag(self) -> usize {
        (self.last as usize).saturating_sub(1)
    }

    /// All occurrences, within a message that ends at `end`.
    pub fn items(self, end: usize) -> Items {
        Items::new((self.first as usize).saturating_sub(1), end, self.count as usize)
    }
}

/// The message at hand: where its slots begin and where its bytes end.
#[derive(Clone, Copy)]
pub struct View {
    base: usize,
    pub end: usize,
}

/// A member of a message's JSON.
pub enum Member<'a> {
    /// Not shown.
    Hidden,
    /// One value.
    One(Shown<'a>),
    /// A list.
    List(Items),
    /// A map from strings.
    Map(Items),
}

impl<'a> Context<'a> {
    pub fn new(bytes: &'a [u8], minor: u8, lenient: bool) -> Self {
        Self { bytes, slots: Vec::with_capacity(256), depth: 0, minor, lenient, unknown: Vec::new() }
    }

    /// Says of the unknown fields found since there were `before` that they lie within `segment`.
    #[inline]
    pub fn locate(&mut self, before: usize, segment: impl FnOnce() -> String) {
        if self.unknown.len() > before {
            let segment = segment();
            self.unknown[before..].iter_mut().for_each(|field| prepend(&mut field.path, &segment));
        }
    }

    /// Reads the tags of a message. Every `open` that succeeds must be followed by [`Context::close`].
    pub fn open(&mut self, message: &Message, span: Span) -> Result<View> {
        if self.depth == MAX_DEPTH {
            return Err(Fault::new(format!("messages nested deeper than {MAX_DEPTH}"), span.start));
        }
        let base = self.slots.len();
        self.slots.resize(base + usize::from(message.slots), Slot::default());
        if let Err(fault) = self.index(&message.numbers, base, span, 0) {
            self.slots.truncate(base);
            return Err(fault);
        }
        self.depth += 1;
        Ok(View { base, end: span.end })
    }

    /// Gives the message's scratch space back.
    pub fn close(&mut self, view: View) {
        self.depth -= 1;
        self.slots.truncate(view.base);
    }

    /// Where a field of the message lies.
    #[inline]
    pub fn slot(&self, view: View, slot: u8) -> Slot {
        self.slots[view.base + usize::from(slot)]
    }

    fn index(&mut self, numbers: &Numbers, base: usize, span: Span, inlined: usize) -> Result<()> {
        let mut reader = Reader::new(self.bytes, span);
        while !reader.at_end() {
            let at = reader.pos as u32 + 1;
            let (number, wire_type) = reader.tag()?;
            let payload = reader.skip(wire_type)?;
            let index = numbers.slots.get(number as usize).copied().unwrap_or(0);
            if index == 0 {
                let bytes = self.bytes[payload.start..payload.end].to_vec();
                self.unknown.push(UnknownField { path: String::new(), number, wire_type, bytes });
            } else if index <= Numbers::INLINED {
                let slot = &mut self.slots[base + usize::from(index) - 1];
                if slot.count == 0 {
                    slot.first = at;
                }
                slot.last = at;
                slot.count += 1;
            } else if wire_type == wire::LEN && inlined < 8 {
                self.index(&numbers.inlined[usize::from(index - Numbers::INLINED) - 1], base, payload, inlined + 1)?;
            } else {
                return Err(Fault::new("expected a message", payload.start));
            }
        }
        Ok(())
    }

    /// Whether a row is certainly not shown: most rows of most messages, told without looking further.
    #[inline]
    pub fn is_left_out(&self, view: View, row: &Row) -> bool {
        matches!(row.emit, Emit::IfSet | Emit::IfNotEmpty)
            && !matches!(row.ty, Type::ApiVersion | Type::Kind)
            && self.slot(view, row.slot).is_absent()
    }

    /// What the JSON has for a row of the message.
    #[inline]
    pub fn member(&mut self, view: View, message: &'static Message, row: &'static Row) -> Result<Member<'a>> {
        let slot = match row.ty {
            Type::ApiVersion => return Ok(Member::One(Shown::ApiVersion)),
            Type::Kind => return Ok(Member::One(Shown::Kind)),
            _ => self.slot(view, row.slot),
        };
        if self.is_left_out(view, row) {
            return Ok(Member::Hidden);
        }
        let holds = row.holds_in(self.minor) || (!slot.is_absent() && self.shown_nevertheless(message, row, slot));
        if !holds {
            return Ok(Member::Hidden);
        }
        if slot.is_absent() {
            return Ok(Member::One(if row.emit == Emit::AlwaysOrNull || row.card != Card::One { Shown::Null } else { self.zero(row.ty)? }));
        }
        match row.card {
            Card::List => Ok(Member::List(slot.items(view.end))),
            Card::Map => Ok(Member::Map(slot.items(view.end))),
            Card::One => {
                let shown = self.payload(row.ty, slot.tag(), view.end)?;
                Ok(if row.emit == Emit::IfNotEmpty && shown.is_empty() { Member::Hidden } else { Member::One(shown) })
            }
        }
    }

    /// Whether a field that the release does not have is shown by the rules of the row; if not it is kept as unknown, once.
    #[cold]
    fn shown_nevertheless(&mut self, message: &'static Message, row: &'static Row, slot: Slot) -> bool {
        let mut siblings = message.rows.iter().filter(|other| other.slot == row.slot && !matches!(other.ty, Type::ApiVersion | Type::Kind));
        let distance = |row: &Row| if self.minor < row.first { row.first - self.minor } else { self.minor - row.last };
        if siblings.any(|other| other.holds_in(self.minor) || (distance(other), other.first) < (distance(row), row.first)) {
            return false;
        }
        if !self.lenient {
            let mut reader = Reader::new(self.bytes, Span { start: slot.tag(), end: self.bytes.len() });
            if let Ok((number, wire_type)) = reader.tag()
                && let Ok(payload) = reader.skip(wire_type)
            {
                // Go writes most fields even where they are zero: nothing is lost with those.
                let bytes = self.bytes[payload.start..payload.end].to_vec();
                if bytes.iter().any(|&byte| byte != 0) {
                    self.unknown.push(UnknownField { path: String::new(), number, wire_type, bytes });
                }
            }
        }
        self.lenient
    }
}
