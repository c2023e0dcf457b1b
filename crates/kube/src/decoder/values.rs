//! What the fields of a message hold: scalars, special types, lists, maps, nested messages.

use super::fault::{Fault, Result};
use super::go_time;
use super::view::Context;
use super::wire::{self, Reader, Span, WireField};
use crate::proto::kubernetes::MESSAGES;
use crate::proto::table::{Card, Message, MessageId, Render, Type};

/// The occurrences of a repeated field.
#[derive(Clone, Copy)]
pub(super) struct Items {
    reader_at: u32,
    end: u32,
    /// How many there are; packed ones count once.
    pub count: u32,
    number: u16,
    /// Where the packed numbers at hand end; 0 if there are none.
    packed_end: u32,
}

impl Items {
    /// `count` occurrences of the field `number` whose first tag is at `at`.
    pub(super) fn new(at: u32, end: u32, count: u32, number: u16) -> Self {
        Self { reader_at: at, end, count, number, packed_end: 0 }
    }
}

pub(super) enum JsonValue<'a> {
    /// Not shown.
    Hidden,
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    /// Bytes that should be UTF-8.
    Text(&'a [u8]),
    /// A time other than Go's zero time: seconds since 1970.
    Time(i64),
    /// The same with nanoseconds.
    MicroTime(i64, i64),
    /// Nanoseconds.
    Duration(i64),
    /// Bytes shown in base64.
    Base64(&'a [u8]),
    Raw(Span),
    Struct(&'static Message, Span),
    List(Type, Items),
    Map(Type, Items),
    /// The object's revision, as text.
    Revision(i64),
    /// The object's own, not in its bytes.
    ApiVersion,
    /// The object's own, not in its bytes.
    Kind,
}

#[derive(Clone, Copy)]
pub(super) struct MapEntry {
    key: Span,
    value_at: Option<usize>,
    end: usize,
}

impl JsonValue<'_> {
    fn int(&self) -> i64 {
        if let JsonValue::Int(value) = self { *value } else { 0 }
    }

    /// Whether `omitempty` or `omitzero` leaves it out.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            JsonValue::Null | JsonValue::Bool(false) | JsonValue::Int(0) | JsonValue::Text(b"") | JsonValue::Base64(b"") => true,
            JsonValue::Double(value) => *value == 0.0,
            _ => false,
        }
    }
}

/// How one value of a type lies on the wire.
#[inline]
pub(super) fn wire_type_of(ty: Type) -> u8 {
    match ty {
        Type::Bool | Type::Int32 | Type::Int64 => wire::WIRE_VARINT,
        Type::Double => wire::WIRE_FIXED64,
        _ => wire::WIRE_LEN,
    }
}

/// Fails where a payload at `at` lies otherwise than its type wants.
#[inline]
pub(super) fn expect(expected: u8, wire_type: u8, at: usize) -> Result<()> {
    if wire_type == expected { Ok(()) } else { Err(Fault::new(format!("wire type {wire_type} where {expected} is expected"), at)) }
}

impl<'a> Context<'a> {
    /// The value whose payload is at hand.
    #[inline]
    pub(super) fn read(&mut self, ty: Type, reader: &mut Reader<'a>, wire_type: u8) -> Result<JsonValue<'a>> {
        expect(wire_type_of(ty), wire_type, reader.pos)?;
        Ok(match ty {
            Type::Bool => JsonValue::Bool(reader.varint()? != 0),
            Type::Int32 => JsonValue::Int(i64::from(reader.varint()? as i32)),
            Type::Int64 => JsonValue::Int(reader.varint()? as i64),
            Type::Double => JsonValue::Double(f64::from_bits(reader.fixed64()?)),
            Type::String => JsonValue::Text(self.slice(reader.span()?)),
            Type::Bytes => JsonValue::Base64(self.slice(reader.span()?)),
            Type::Message(id) => {
                let span = reader.span()?;
                self.message(id, span)?
            }
            Type::ApiVersion | Type::Kind => JsonValue::Null,
        })
    }

    pub(super) fn slice(&self, span: Span) -> &'a [u8] {
        &self.bytes[span.start..span.end]
    }

    /// What a field that is absent but always written shows.
    pub(super) fn zero(&mut self, ty: Type) -> Result<JsonValue<'a>> {
        Ok(match ty {
            Type::Bool => JsonValue::Bool(false),
            Type::Int32 | Type::Int64 | Type::Double => JsonValue::Int(0),
            Type::String => JsonValue::Text(b""),
            Type::Message(id) => self.message(id, Span { start: 0, end: 0 })?,
            Type::Bytes | Type::ApiVersion | Type::Kind => JsonValue::Null,
        })
    }

    /// A message, by the way its type writes itself.
    #[inline]
    fn message(&mut self, id: MessageId, span: Span) -> Result<JsonValue<'a>> {
        let message = &MESSAGES[usize::from(id.0)];
        if message.render == Render::Struct { Ok(JsonValue::Struct(message, span)) } else { self.special(message, span) }
    }

    /// A message that writes itself otherwise than as an object of its fields.
    pub(super) fn special(&mut self, message: &'static Message, span: Span) -> Result<JsonValue<'a>> {
        if span.start == span.end && matches!(message.render, Render::Time | Render::MicroTime) {
            return Ok(JsonValue::Null);
        }
        let slots = self.small(message, span)?;
        let mut field = |ty, slot: u8| match slots[usize::from(slot)] {
            slot if slot.is_absent() => Ok(None),
            slot => self.last(ty, slot, span.end).map(Some),
        };
        let mut int = |slot| field(Type::Int64, slot).map(|shown| shown.map_or(0, |shown| shown.int()));
        Ok(match message.render {
            Render::Struct => JsonValue::Struct(message, span),
            Render::Time => match int(0)? {
                go_time::ZERO_TIME => JsonValue::Null,
                seconds => JsonValue::Time(seconds),
            },
            Render::MicroTime => match go_time::normal(int(0)?, int(1)?) {
                (go_time::ZERO_TIME, 0) => JsonValue::Null,
                (seconds, nanos) => JsonValue::MicroTime(seconds, nanos),
            },
            Render::Duration => JsonValue::Duration(int(0)?),
            Render::Quantity => match field(Type::String, 0)? {
                Some(JsonValue::Text(text)) if !text.is_empty() => JsonValue::Text(text),
                _ => JsonValue::Text(b"0"),
            },
            Render::IntOrString => match int(0)? {
                0 => JsonValue::Int(field(Type::Int32, 1)?.map_or(0, |shown| shown.int())),
                1 => field(Type::String, 2)?.unwrap_or(JsonValue::Text(b"")),
                other => return Err(Fault::new(format!("IntOrString of type {other}"), span.start)),
            },
            Render::RawJson if slots[0].is_absent() => JsonValue::Null,
            Render::RawJson => match self.last_span(slots[0], span.end)? {
                raw if raw.start == raw.end => JsonValue::Null,
                raw => JsonValue::Raw(raw),
            },
            Render::List => JsonValue::List(message.rows[0].ty, slots[0].items(span.end)),
            Render::Fields => JsonValue::Map(message.rows[0].ty, slots[0].items(span.end)),
            Render::SchemaOrBool => match field(message.rows[1].ty, message.rows[1].slot)? {
                Some(schema) => schema,
                None => field(Type::Bool, message.rows[0].slot)?.unwrap_or(JsonValue::Bool(false)),
            },
            // The two rows are the list and the schema.
            Render::SchemaOrArray | Render::SchemaOrStrings => {
                let (lists, schemas): (Vec<_>, Vec<_>) = message.rows.iter().partition(|row| row.card == Card::List);
                match slots[usize::from(lists[0].slot)].items(span.end) {
                    items if items.count > 0 => JsonValue::List(lists[0].ty, items),
                    _ => field(schemas[0].ty, schemas[0].slot)?.unwrap_or(JsonValue::Null),
                }
            }
        })
    }

    /// The next item of a list, hidden if there is none. Packed numbers come one by one.
    pub(super) fn next_item(&mut self, ty: Type, items: &mut Items) -> Result<JsonValue<'a>> {
        loop {
            if items.reader_at < items.packed_end {
                let mut reader = Reader::new(self.bytes, Span { start: items.reader_at as usize, end: items.packed_end as usize });
                let wire_type = if ty == Type::Double { wire::WIRE_FIXED64 } else { wire::WIRE_VARINT };
                let shown = self.read(ty, &mut reader, wire_type);
                items.reader_at = reader.pos as u32;
                return shown;
            }
            items.packed_end = 0;
            let Some((mut reader, wire_type)) = self.next_occurrence(items)? else { return Ok(JsonValue::Hidden) };
            if wire_type == wire::WIRE_LEN && matches!(ty, Type::Bool | Type::Int32 | Type::Int64 | Type::Double) {
                let packed = reader.span()?;
                (items.reader_at, items.packed_end) = (packed.start as u32, packed.end as u32);
                continue;
            }
            let shown = self.read(ty, &mut reader, wire_type);
            items.reader_at = reader.pos as u32;
            return shown;
        }
    }

    /// The next entry of a map: its key and where its value's tag is, or if there is none.
    fn next_entry(&mut self, items: &mut Items) -> Result<Option<MapEntry>> {
        let Some((mut reader, wire_type)) = self.next_occurrence(items)? else { return Ok(None) };
        if wire_type != wire::WIRE_LEN {
            return Err(Fault::new("expected a map's entry", reader.pos));
        }
        let span = reader.span()?;
        items.reader_at = span.end as u32;
        let mut entry = MapEntry { key: Span { start: span.start, end: span.start }, value_at: None, end: span.end };
        let mut reader = Reader::new(self.bytes, span);
        while let Some(WireField { at, number, wire_type, payload, .. }) = reader.field()? {
            match number {
                1 if wire_type == wire::WIRE_LEN => entry.key = payload,
                2 => entry.value_at = Some(at),
                _ => return Err(Fault::new("unexpected field in a map's entry", at)),
            }
        }
        Ok(Some(entry))
    }

    /// The entries of a map in the order of their keys; of equal keys the last one.
    pub(super) fn sorted_entries(&mut self, mut items: Items) -> Result<Vec<MapEntry>> {
        let mut entries = Vec::with_capacity(items.count as usize);
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

    pub(super) fn entry_value(&mut self, ty: Type, entry: &MapEntry) -> Result<JsonValue<'a>> {
        match (entry.value_at, ty) {
            (Some(at), _) => {
                let mut reader = Reader::new(self.bytes, Span { start: at, end: entry.end });
                let (_, wire_type) = reader.tag()?;
                self.read(ty, &mut reader, wire_type)
            }
            (None, Type::Bytes) => Ok(JsonValue::Base64(b"")),
            (None, _) => self.zero(ty),
        }
    }

    pub(super) fn key(&self, entry: &MapEntry) -> &'a [u8] {
        self.slice(entry.key)
    }

    #[inline]
    fn next_occurrence(&self, items: &mut Items) -> Result<Option<(Reader<'a>, u8)>> {
        if items.count == 0 {
            return Ok(None);
        }
        let mut reader = Reader::new(self.bytes, Span { start: items.reader_at as usize, end: items.end as usize });
        loop {
            let (number, wire_type) = reader.tag()?;
            if number == u32::from(items.number) {
                items.count -= 1;
                return Ok(Some((reader, wire_type)));
            }
            reader.skip(wire_type)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_messages_are_small() {
        for message in MESSAGES.iter().filter(|message| message.render != Render::Struct) {
            assert!(message.fills.len() <= 3 && message.numbers.inlined.is_empty(), "{}", message.name);
        }
    }
}
