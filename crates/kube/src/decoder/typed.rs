//! Protobuf to any type that serde reads, straight from the bytes: the same members as the JSON has, without the JSON. Members that
//! the type has no field for are skipped without a check, unless only some are wanted: then the others are checked, which is to read them as
//! [`IgnoredAny`].

use std::cell::RefCell;
use std::fmt::Display;
use std::vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use foldhash::HashMap;
use serde::de::value::{BorrowedStrDeserializer, CowStrDeserializer};
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::Value;

use super::embedded;
use super::fault::{Fault, Result as Checked};
use super::go_text;
use super::go_time;
use super::identity::{Identity, Place};
use super::sound::is_sound;
use super::values::{Items, JsonValue, MapEntry};
use super::view::{Context, View};
use super::wire::Span;
use crate::field_set::FieldSet;
use crate::proto::table::{Message, Row, Type};

/// Why a type does not accept a value.
#[derive(Debug)]
pub(super) struct Unfit(pub Box<Fault>);

impl Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Unfit {}

impl de::Error for Unfit {
    fn custom<T: Display>(message: T) -> Self {
        Self(Fault::unfit(&message.to_string()))
    }
}

impl From<Box<Fault>> for Unfit {
    fn from(fault: Box<Fault>) -> Self {
        Self(fault)
    }
}

impl Unfit {
    fn within(self, segment: &str) -> Self {
        Self(self.0.within(segment))
    }
}

/// An object that serde can read.
pub(super) struct TypedObject<'c, 'de> {
    pub context: &'c mut Context<'de>,
    pub message: &'static Message,
    pub span: Span,
    pub identity: Identity<'c>,
    /// Which of its members are wanted; all if there are none.
    pub wanted: Option<&'c FieldSet>,
}

impl<'de> Deserializer<'de> for TypedObject<'_, 'de> {
    type Error = Unfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        self.visit(ALL_ROWS, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(self, _: &'static str, fields: FieldNames, visitor: V) -> Result<V::Value, Unfit> {
        let rows = if self.wanted.is_some() { ALL_ROWS } else { rows_of(self.message, fields, self.context) };
        self.visit(rows, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq tuple tuple_struct map
        enum identifier ignored_any
    }
}

impl<'de> TypedObject<'_, 'de> {
    fn visit<V: Visitor<'de>>(self, rows: u64, visitor: V) -> Result<V::Value, Unfit> {
        visit_struct(self.context, self.message, self.span, rows, Place::Root(&self.identity), self.wanted, visitor)
    }
}

/// The names of a type's fields, as serde passes them.
type FieldNames = &'static [&'static str];

const ALL_ROWS: u64 = u64::MAX;

thread_local! {
    /// Which rows a type has fields for, cached by message, fields and release, so that names are not compared for every value.
    static ROWS_BY_TYPE: RefCell<HashMap<(usize, usize, usize, u8), u64>> = RefCell::default();
}

/// Returns the rows of a message that a type has fields for, and the rows that the release lacks, which are reported as unknown fields.
fn rows_of(message: &'static Message, fields: FieldNames, context: &Context<'_>) -> u64 {
    let of_row = |(number, row): (usize, &Row)| u64::from(!context.has(row) || fields.contains(&row.name)) << number;
    let key = (std::ptr::from_ref(message) as usize, fields.as_ptr() as usize, fields.len(), context.minor);
    ROWS_BY_TYPE.with_borrow_mut(|known| *known.entry(key).or_insert_with(|| message.rows.iter().enumerate().map(of_row).sum()))
}

fn visit_struct<'de, V: Visitor<'de>>(
    context: &mut Context<'de>,
    message: &'static Message,
    span: Span,
    rows: u64,
    place: Place<'_>,
    wanted: Option<&FieldSet>,
    visitor: V,
) -> Result<V::Value, Unfit> {
    let view = context.open(message, span)?.with_rows(rows);
    let value = visitor.visit_map(Members { context, message, view, place, wanted, pending: None })?;
    context.close(view);
    Ok(value)
}

struct Members<'c, 'p, 'de> {
    context: &'c mut Context<'de>,
    message: &'static Message,
    view: View,
    place: Place<'p>,
    wanted: Option<&'p FieldSet>,
    pending: Option<(&'static Row, JsonValue<'de>, Option<&'p FieldSet>)>,
}

impl<'de> MapAccess<'de> for Members<'_, '_, 'de> {
    type Error = Unfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Unfit> {
        while let Some(row) = self.view.next_row(self.message) {
            let name = row.name;
            let wanted = self.wanted.map(|wanted| wanted.member(name));
            if let (Some(None), Place::Metadata(_), true) = (wanted, self.place, self.context.has_sound_metadata) {
                continue;
            }
            let shown = self.context.member_at(self.place, self.view, self.message, row).map_err(|fault| fault.within(name))?;
            let wanted = match wanted {
                None => None,
                Some(Some(wanted)) => Some(wanted).filter(|wanted| !wanted.is_whole()),
                Some(None) => {
                    check(self.context, shown, name)?;
                    continue;
                }
            };
            let is_shown = match shown {
                JsonValue::Hidden => false,
                JsonValue::ApiVersion | JsonValue::Kind => matches!(self.place, Place::Root(_)),
                _ => true,
            };
            if is_shown {
                self.pending = Some((row, shown, wanted));
                return seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Unfit> {
        let Some((row, shown, wanted)) = self.pending.take() else { return Err(de::Error::custom("a value before its key")) };
        let name = row.name;
        let before = self.context.unknown.len();
        match (&shown, self.place) {
            (JsonValue::ApiVersion, Place::Root(identity)) => {
                return seed.deserialize(CowStrDeserializer::new(identity.api_version.into()));
            }
            (JsonValue::Kind, Place::Root(identity)) => return seed.deserialize(CowStrDeserializer::new(identity.kind.into())),
            _ => {}
        }
        let result = seed.deserialize(FieldValue { context: self.context, shown, place: self.place.of_member(name), wanted });
        self.context.locate(before, || name.to_owned());
        result.map_err(|unfit: Unfit| unfit.within(name))
    }
}

/// Looks through a member of the message at hand that is not wanted: faults in it are faults of the object all the same, and its unknown fields are
/// noted.
fn check<'de>(context: &mut Context<'de>, shown: JsonValue<'de>, name: &str) -> Checked<()> {
    let before = context.unknown.len();
    let result = IgnoredAny::deserialize(FieldValue { context, shown, place: Place::Elsewhere, wanted: None });
    context.locate(before, || name.to_owned());
    result.map(|_| ()).map_err(|unfit| unfit.0.within(name))
}

pub(super) struct FieldValue<'c, 'p, 'de> {
    pub context: &'c mut Context<'de>,
    pub shown: JsonValue<'de>,
    pub place: Place<'p>,
    /// Which of its members are wanted; all if there are none.
    pub wanted: Option<&'p FieldSet>,
}

impl<'de> Deserializer<'de> for FieldValue<'_, '_, 'de> {
    type Error = Unfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        let Self { context, shown, place, wanted } = self;
        match shown {
            JsonValue::Null | JsonValue::Hidden | JsonValue::ApiVersion | JsonValue::Kind => visitor.visit_unit(),
            JsonValue::Bool(value) => visitor.visit_bool(value),
            JsonValue::Int(value) => visitor.visit_i64(value),
            JsonValue::Double(value) => {
                let mut text = Vec::new();
                go_text::append_float(&mut text, value);
                visit_json(&text, visitor)
            }
            JsonValue::Text(text) => match std::str::from_utf8(text) {
                Ok(text) => visitor.visit_borrowed_str(text),
                Err(_) => visitor.visit_string(go_text::utf8(text).into_owned()),
            },
            JsonValue::Time(seconds) => visitor.visit_str(go_time::time(seconds).as_str()),
            JsonValue::MicroTime(seconds, nanos) => visitor.visit_str(go_time::micro_time(seconds, nanos).as_str()),
            JsonValue::Duration(nanos) => visitor.visit_string(crate::go_duration::go_duration(nanos)),
            JsonValue::Revision(revision) => visitor.visit_string(revision.to_string()),
            JsonValue::Base64(bytes) => visitor.visit_string(BASE64.encode(bytes)),
            JsonValue::Raw(span) => {
                let mut text = Vec::with_capacity(span.end - span.start);
                embedded::append(context.slice(span), span.start, &mut text)?;
                visit_json(&text, visitor)
            }
            JsonValue::Struct(message, span) => visit_struct(context, message, span, ALL_ROWS, place, wanted, visitor),
            JsonValue::List(ty, items) => visitor.visit_seq(List { context, ty, items, index: 0, wanted }),
            JsonValue::Map(ty, items) => {
                let entries = context.sorted_entries(items)?.into_iter();
                visitor.visit_map(Map { context, ty, entries, pending: None })
            }
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(self, _: &'static str, fields: FieldNames, visitor: V) -> Result<V::Value, Unfit> {
        let JsonValue::Struct(message, span) = self.shown else { return self.deserialize_any(visitor) };
        let rows = if self.wanted.is_some() { ALL_ROWS } else { rows_of(message, fields, self.context) };
        visit_struct(self.context, message, span, rows, self.place, self.wanted, visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        if matches!(self.shown, JsonValue::Null) { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Unfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        let depth = self.context.depth;
        match self.shown {
            JsonValue::Struct(message, span) if is_sound(self.context, message, span, depth) => visitor.visit_unit(),
            JsonValue::Struct(..) | JsonValue::List(..) | JsonValue::Map(..) => self.deserialize_any(visitor),
            JsonValue::Raw(span) => {
                let json = self.context.slice(span);
                if json != self.context.sound_json {
                    embedded::check(json, span.start)?;
                    self.context.sound_json = json;
                }
                visitor.visit_unit()
            }
            JsonValue::Double(value) if !value.is_finite() => Err(Fault::new("number that JSON cannot represent", 0).into()),
            _ => visitor.visit_unit(),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map enum identifier
    }
}

/// Reads a value from canonical JSON text.
fn visit_json<'de, V: Visitor<'de>>(text: &[u8], visitor: V) -> Result<V::Value, Unfit> {
    let unfit = |error: serde_json::Error| -> Unfit { de::Error::custom(error) };
    let value: Value = serde_json::from_slice(text).map_err(unfit)?;
    value.deserialize_any(visitor).map_err(unfit)
}

struct List<'c, 'p, 'de> {
    context: &'c mut Context<'de>,
    ty: Type,
    items: Items,
    index: usize,
    /// Which members of each are wanted.
    wanted: Option<&'p FieldSet>,
}

impl<'de> SeqAccess<'de> for List<'_, '_, 'de> {
    type Error = Unfit;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Unfit> {
        let segment = |unfit: Unfit, index| unfit.within(&format!("[{index}]"));
        let index = self.index;
        self.index += 1;
        match self.context.next_item(self.ty, &mut self.items).map_err(|fault| segment(fault.into(), index))? {
            JsonValue::Hidden => Ok(None),
            shown => {
                let before = self.context.unknown.len();
                let item = seed.deserialize(FieldValue { context: self.context, shown, place: Place::Elsewhere, wanted: self.wanted });
                self.context.locate(before, || format!("[{index}]"));
                item.map(Some).map_err(|unfit| segment(unfit, index))
            }
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.count as usize)
    }
}

struct Map<'c, 'de> {
    context: &'c mut Context<'de>,
    ty: Type,
    entries: vec::IntoIter<MapEntry>,
    pending: Option<MapEntry>,
}

impl<'de> MapAccess<'de> for Map<'_, 'de> {
    type Error = Unfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Unfit> {
        self.pending = self.entries.next();
        match &self.pending {
            None => Ok(None),
            Some(entry) => match std::str::from_utf8(self.context.key(entry)) {
                Ok(key) => seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some),
                Err(_) => seed.deserialize(CowStrDeserializer::new(go_text::utf8(self.context.key(entry)))).map(Some),
            },
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Unfit> {
        let Some(entry) = self.pending.take() else { return Err(de::Error::custom("a value before its key")) };
        let shown = self.context.entry_value(self.ty, &entry)?;
        let before = self.context.unknown.len();
        let value = seed.deserialize(FieldValue { context: self.context, shown, place: Place::Elsewhere, wanted: None });
        let segment = |context: &Context<'_>| format!("[{:?}]", go_text::utf8(context.key(&entry)));
        let name = if self.context.unknown.len() > before || value.is_err() { segment(self.context) } else { String::new() };
        self.context.locate(before, || name.clone());
        value.map_err(|unfit| unfit.within(&name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}
