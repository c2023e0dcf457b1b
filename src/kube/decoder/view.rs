//! One protobuf message seen through its table: which fields lie where, which members its JSON shows, and what each of them is.

use super::fault::{Fault, Result, prepend};
use super::wire::{self, Reader, Span};
use crate::kube::UnknownField;
use crate::proto::kubernetes::MESSAGES;
use crate::proto::table::{Card, Emit, Message, MessageId, Numbers, Render, Row, Type};

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
struct Slot {
    first: u32,
    last: u32,
    count: u32,
}

/// The message at hand: where its slots begin and where its bytes end.
#[derive(Clone, Copy)]
pub struct View {
    base: usize,
    end: usize,
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

/// The occurrences of a repeated field.
#[derive(Clone, Copy)]
pub struct Items {
    reader_at: usize,
    end: usize,
    /// How many there are; packed ones count once.
    pub count: usize,
    number: Option<u32>,
    packed: Option<usize>,
}

/// A value as JSON shows it.
pub enum Shown<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    /// Bytes that should be UTF-8.
    Text(&'a [u8]),
    /// Text made here: times and durations.
    Made(String),
    /// Bytes shown in base64.
    Base64(&'a [u8]),
    /// JSON or CBOR.
    Raw(Span),
    /// An object.
    Struct(&'static Message, Span),
    /// A list of these.
    List(Type, Items),
    /// A map of these.
    Map(Type, Items),
    /// The object's own, not in its bytes.
    ApiVersion,
    /// The object's own, not in its bytes.
    Kind,
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

    /// What the JSON has for a row of the message.
    #[inline]
    pub fn member(&mut self, view: View, message: &'static Message, row: &'static Row) -> Result<Member<'a>> {
        let slot = match row.ty {
            Type::ApiVersion => return Ok(Member::One(Shown::ApiVersion)),
            Type::Kind => return Ok(Member::One(Shown::Kind)),
            _ => self.slots[view.base + usize::from(row.slot)],
        };
        if slot.count == 0 && matches!(row.emit, Emit::IfSet | Emit::IfNotEmpty) {
            return Ok(Member::Hidden);
        }
        let holds = row.holds_in(self.minor) || (slot.count > 0 && self.shown_nevertheless(message, row, slot));
        if !holds {
            return Ok(Member::Hidden);
        }
        if slot.count == 0 {
            return Ok(Member::One(if row.emit == Emit::AlwaysOrNull || row.card != Card::One { Shown::Null } else { self.zero(row.ty)? }));
        }
        let items = Items { reader_at: slot.first as usize - 1, end: view.end, count: slot.count as usize, number: None, packed: None };
        match row.card {
            Card::List => Ok(Member::List(items)),
            Card::Map => Ok(Member::Map(items)),
            Card::One => {
                let shown = self.payload(row.ty, slot.last as usize - 1, view.end)?;
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
            let mut reader = Reader::new(self.bytes, Span { start: slot.last as usize - 1, end: self.bytes.len() });
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

    /// The value whose tag is at an offset.
    fn payload(&mut self, ty: Type, at: usize, end: usize) -> Result<Shown<'a>> {
        let mut reader = Reader::new(self.bytes, Span { start: at, end });
        let (_, wire_type) = reader.tag()?;
        self.read(ty, &mut reader, wire_type)
    }

    fn read(&mut self, ty: Type, reader: &mut Reader<'a>, wire_type: u8) -> Result<Shown<'a>> {
        let expected = match ty {
            Type::Bool | Type::Int32 | Type::Int64 => wire::VARINT,
            Type::Double => wire::FIXED64,
            _ => wire::LEN,
        };
        if wire_type != expected {
            return Err(Fault::new(format!("wire type {wire_type} where {expected} is expected"), reader.pos));
        }
        Ok(match ty {
            Type::Bool => Shown::Bool(reader.varint()? != 0),
            Type::Int32 => Shown::Int(i64::from(reader.varint()? as i32)),
            Type::Int64 => Shown::Int(reader.varint()? as i64),
            Type::Double => Shown::Double(f64::from_bits(reader.fixed64()?)),
            Type::String => Shown::Text(self.slice(reader.span()?)),
            Type::Bytes => Shown::Base64(self.slice(reader.span()?)),
            Type::Message(id) => {
                let span = reader.span()?;
                self.message(id, span)?
            }
            Type::ApiVersion | Type::Kind => Shown::Null,
        })
    }

    pub fn slice(&self, span: Span) -> &'a [u8] {
        &self.bytes[span.start..span.end]
    }

    /// What a field that is absent but always written shows.
    fn zero(&mut self, ty: Type) -> Result<Shown<'a>> {
        Ok(match ty {
            Type::Bool => Shown::Bool(false),
            Type::Int32 | Type::Int64 | Type::Double => Shown::Int(0),
            Type::String => Shown::Text(b""),
            Type::Message(id) => self.message(id, Span { start: 0, end: 0 })?,
            Type::Bytes | Type::ApiVersion | Type::Kind => Shown::Null,
        })
    }

    /// A message, by the way its type writes itself.
    #[inline]
    fn message(&mut self, id: MessageId, span: Span) -> Result<Shown<'a>> {
        let message = &MESSAGES[usize::from(id.0)];
        if message.render == Render::Struct { Ok(Shown::Struct(message, span)) } else { self.special(message, span) }
    }

    fn special(&mut self, message: &'static Message, span: Span) -> Result<Shown<'a>> {
        let view = self.open(message, span)?;
        let shown = self.rendered(message, view, span);
        self.close(view);
        shown
    }

    fn rendered(&mut self, message: &'static Message, view: View, span: Span) -> Result<Shown<'a>> {
        Ok(match message.render {
            Render::Struct => Shown::Struct(message, span),
            Render::Time | Render::MicroTime if span.start == span.end => Shown::Null,
            Render::Time => super::go_text::time(self.int(view, 0)?).map_or(Shown::Null, Shown::Made),
            Render::MicroTime => super::go_text::micro_time(self.int(view, 0)?, self.int(view, 1)?).map_or(Shown::Null, Shown::Made),
            Render::Duration => Shown::Made(super::go_text::duration(self.int(view, 0)?)),
            Render::Quantity => match self.field(view, Type::String, 0)? {
                Some(Shown::Text(text)) if !text.is_empty() => Shown::Text(text),
                _ => Shown::Text(b"0"),
            },
            Render::IntOrString => match self.int(view, 0)? {
                0 => Shown::Int(self.field(view, Type::Int32, 1)?.map_or(0, |shown| shown.int())),
                1 => self.field(view, Type::String, 2)?.unwrap_or(Shown::Text(b"")),
                other => return Err(Fault::new(format!("IntOrString of type {other}"), span.start)),
            },
            Render::RawJson => match self.slots[view.base] {
                Slot { count: 0, .. } => Shown::Null,
                slot => {
                    let mut reader = Reader::new(self.bytes, Span { start: slot.last as usize - 1, end: view.end });
                    reader.tag()?;
                    let raw = reader.span()?;
                    if raw.start == raw.end { Shown::Null } else { Shown::Raw(raw) }
                }
            },
            Render::Strings => Shown::List(Type::String, self.items(view, 0)),
            Render::Fields => Shown::Map(message.rows[0].ty, self.items(view, 0)),
            Render::SchemaOrBool => match self.field(view, message.rows[1].ty, message.rows[1].slot)? {
                Some(schema) => schema,
                None => self.field(view, Type::Bool, message.rows[0].slot)?.unwrap_or(Shown::Bool(false)),
            },
            // The two rows are the list and the schema.
            Render::SchemaOrArray | Render::SchemaOrStrings => {
                let (lists, schemas): (Vec<_>, Vec<_>) = message.rows.iter().partition(|row| row.card == Card::List);
                match self.items(view, lists[0].slot) {
                    items if items.count > 0 => Shown::List(lists[0].ty, items),
                    _ => self.field(view, schemas[0].ty, schemas[0].slot)?.unwrap_or(Shown::Null),
                }
            }
        })
    }

    fn field(&mut self, view: View, ty: Type, slot: u8) -> Result<Option<Shown<'a>>> {
        let slot = self.slots[view.base + usize::from(slot)];
        if slot.count == 0 { Ok(None) } else { self.payload(ty, slot.last as usize - 1, view.end).map(Some) }
    }

    fn int(&mut self, view: View, slot: u8) -> Result<i64> {
        Ok(self.field(view, Type::Int64, slot)?.map_or(0, |shown| shown.int()))
    }

    fn items(&self, view: View, slot: u8) -> Items {
        let slot = self.slots[view.base + usize::from(slot)];
        Items { reader_at: (slot.first as usize).saturating_sub(1), end: view.end, count: slot.count as usize, number: None, packed: None }
    }

    /// The next item of a list, if there is one more. Packed numbers come one by one.
    pub fn next_item(&mut self, ty: Type, items: &mut Items) -> Result<Option<Shown<'a>>> {
        loop {
            if let Some(packed_end) = items.packed.filter(|&end| items.reader_at < end) {
                let mut reader = Reader::new(self.bytes, Span { start: items.reader_at, end: packed_end });
                let wire_type = if ty == Type::Double { wire::FIXED64 } else { wire::VARINT };
                let shown = self.read(ty, &mut reader, wire_type)?;
                items.reader_at = reader.pos;
                return Ok(Some(shown));
            }
            items.packed = None;
            let Some((mut reader, wire_type)) = self.next_occurrence(items)? else { return Ok(None) };
            if wire_type == wire::LEN && matches!(ty, Type::Bool | Type::Int32 | Type::Int64 | Type::Double) {
                let packed = reader.span()?;
                items.reader_at = packed.start;
                items.packed = Some(packed.end);
                continue;
            }
            let shown = self.read(ty, &mut reader, wire_type)?;
            items.reader_at = reader.pos;
            return Ok(Some(shown));
        }
    }

    /// The next entry of a map: its key and where its value's tag is, or where there is none.
    fn next_entry(&mut self, items: &mut Items) -> Result<Option<Entry>> {
        let Some((mut reader, wire_type)) = self.next_occurrence(items)? else { return Ok(None) };
        if wire_type != wire::LEN {
            return Err(Fault::new("expected a map's entry", reader.pos));
        }
        let span = reader.span()?;
        items.reader_at = span.end;
        let mut entry = Entry { key: Span { start: span.start, end: span.start }, value_at: None, end: span.end };
        let mut reader = Reader::new(self.bytes, span);
        while !reader.at_end() {
            let at = reader.pos;
            let (number, wire_type) = reader.tag()?;
            let payload = reader.skip(wire_type)?;
            match number {
                1 if wire_type == wire::LEN => entry.key = payload,
                2 => entry.value_at = Some(at),
                _ => return Err(Fault::new("unexpected field in a map's entry", at)),
            }
        }
        Ok(Some(entry))
    }

    /// The entries of a map in the order of their keys; of equal keys the last one.
    pub fn sorted_entries(&mut self, mut items: Items) -> Result<Vec<Entry>> {
        let mut entries = Vec::with_capacity(items.count);
        while let Some(entry) = self.next_entry(&mut items)? {
            entries.push(entry);
        }
        if !entries.windows(2).all(|pair| self.key(&pair[0]) < self.key(&pair[1])) {
            entries.sort_by(|a, b| self.key(a).cmp(self.key(b)));
            entries.reverse();
            entries.dedup_by(|earlier, later| self.key(earlier) == self.key(later));
            entries.reverse();
        }
        Ok(entries)
    }

    /// The value of a map's entry.
    pub fn entry_value(&mut self, ty: Type, entry: &Entry) -> Result<Shown<'a>> {
        match (entry.value_at, ty) {
            (Some(at), _) => self.payload(ty, at, entry.end),
            (None, Type::Bytes) => Ok(Shown::Base64(b"")),
            (None, _) => self.zero(ty),
        }
    }

    /// A map's key.
    pub fn key(&self, entry: &Entry) -> &'a [u8] {
        self.slice(entry.key)
    }

    fn next_occurrence(&self, items: &mut Items) -> Result<Option<(Reader<'a>, u8)>> {
        if items.count == 0 {
            return Ok(None);
        }
        let mut reader = Reader::new(self.bytes, Span { start: items.reader_at, end: items.end });
        loop {
            let (number, wire_type) = reader.tag()?;
            if *items.number.get_or_insert(number) == number {
                items.count -= 1;
                return Ok(Some((reader, wire_type)));
            }
            reader.skip(wire_type)?;
        }
    }
}

/// An entry of a map.
#[derive(Clone, Copy)]
pub struct Entry {
    key: Span,
    value_at: Option<usize>,
    end: usize,
}

impl Shown<'_> {
    fn int(&self) -> i64 {
        if let Shown::Int(value) = self { *value } else { 0 }
    }

    /// Whether `omitempty` or `omitzero` leaves it out.
    fn is_empty(&self) -> bool {
        match self {
            Shown::Null | Shown::Bool(false) | Shown::Int(0) | Shown::Text(b"") | Shown::Base64(b"") => true,
            Shown::Double(value) => *value == 0.0,
            _ => false,
        }
    }
}
