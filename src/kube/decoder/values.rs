//! What the fields of a message hold: scalars, special types, lists, maps, nested messages.

use super::fault::{Fault, Result};
use super::go_text;
use super::view::{Context, View};
use super::wire::{self, Reader, Span};
use crate::proto::kubernetes::MESSAGES;
use crate::proto::table::{Card, Message, MessageId, Render, Type};

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

impl Items {
    /// `count` occurrences of the field whose first tag is at `at`.
    pub fn new(at: usize, end: usize, count: usize) -> Self {
        Self { reader_at: at, end, count, number: None, packed: None }
    }
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
    pub fn is_empty(&self) -> bool {
        match self {
            Shown::Null | Shown::Bool(false) | Shown::Int(0) | Shown::Text(b"") | Shown::Base64(b"") => true,
            Shown::Double(value) => *value == 0.0,
            _ => false,
        }
    }
}

impl<'a> Context<'a> {
    /// The value whose tag is at an offset.
    pub fn payload(&mut self, ty: Type, at: usize, end: usize) -> Result<Shown<'a>> {
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
    pub fn zero(&mut self, ty: Type) -> Result<Shown<'a>> {
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
            Render::Time => go_text::time(self.int(view, 0)?).map_or(Shown::Null, Shown::Made),
            Render::MicroTime => go_text::micro_time(self.int(view, 0)?, self.int(view, 1)?).map_or(Shown::Null, Shown::Made),
            Render::Duration => Shown::Made(go_text::duration(self.int(view, 0)?)),
            Render::Quantity => match self.field(view, Type::String, 0)? {
                Some(Shown::Text(text)) if !text.is_empty() => Shown::Text(text),
                _ => Shown::Text(b"0"),
            },
            Render::IntOrString => match self.int(view, 0)? {
                0 => Shown::Int(self.field(view, Type::Int32, 1)?.map_or(0, |shown| shown.int())),
                1 => self.field(view, Type::String, 2)?.unwrap_or(Shown::Text(b"")),
                other => return Err(Fault::new(format!("IntOrString of type {other}"), span.start)),
            },
            Render::RawJson => match self.slot(view, 0) {
                slot if slot.is_absent() => Shown::Null,
                slot => {
                    let mut reader = Reader::new(self.bytes, Span { start: slot.tag(), end: view.end });
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
        let slot = self.slot(view, slot);
        if slot.is_absent() { Ok(None) } else { self.payload(ty, slot.tag(), view.end).map(Some) }
    }

    fn int(&mut self, view: View, slot: u8) -> Result<i64> {
        Ok(self.field(view, Type::Int64, slot)?.map_or(0, |shown| shown.int()))
    }

    fn items(&self, view: View, slot: u8) -> Items {
        self.slot(view, slot).items(view.end)
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
