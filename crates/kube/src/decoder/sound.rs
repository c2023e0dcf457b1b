//! Whether [`super::check`] would have nothing to tell of a message: one pass over its bytes, in their order, which makes nothing. It looks at every
//! occurrence of every field, so what does not pass may be sound all the same: then the check decides, and says what is wrong.

use super::values::JsonValue;
use super::view::{Context, MAX_DEPTH, MAX_INLINED};
use super::wire::{self, Reader, Span};
use super::{text, values};
use crate::proto::kubernetes::MESSAGES;
use crate::proto::table::{Card, Message, Numbers, Render, Row, Type};

/// Whether this message, which lies `depth` messages deep, is known to be sound.
pub(super) fn is_sound(context: &mut Context<'_>, message: &'static Message, span: Span, depth: usize) -> bool {
    depth < MAX_DEPTH && fields(context, message, &message.numbers, span, depth, 0).is_some()
}

/// The fields of a message, or of one whose members stand in its JSON. `None` where something may be wrong.
fn fields(context: &mut Context<'_>, message: &'static Message, numbers: &Numbers, span: Span, depth: usize, inlined: usize) -> Option<()> {
    let mut reader = Reader::new(context.bytes, span);
    while !reader.at_end() {
        let (number, wire_type) = reader.tag().ok()?;
        let payload = reader.skip(wire_type).ok()?;
        match numbers.slots.get(number as usize).copied().unwrap_or(0) {
            0 => return None,
            slot @ ..=Numbers::INLINED => {
                let row = only_row(context, message, message.fills[usize::from(slot) - 1])?;
                field(context, row, wire_type, payload, depth)?;
            }
            _ if wire_type != wire::LEN || inlined == MAX_INLINED => return None,
            slot => {
                let inner = &numbers.inlined[usize::from(slot - Numbers::INLINED) - 1];
                fields(context, message, inner, payload, depth, inlined + 1)?;
            }
        }
    }
    Some(())
}

/// The one row of these that holds in the release.
#[inline]
fn only_row(context: &Context<'_>, message: &'static Message, mut rows: u64) -> Option<&'static Row> {
    let mut found = None;
    while rows != 0 {
        let row = &message.rows[rows.trailing_zeros() as usize];
        rows &= rows - 1;
        if context.has(row) && found.replace(row).is_some() {
            return None;
        }
    }
    found
}

#[inline]
fn field(context: &mut Context<'_>, row: &'static Row, wire_type: u8, payload: Span, depth: usize) -> Option<()> {
    if row.card != Card::Map {
        return value(context, row.ty, wire_type, payload, depth);
    }
    let mut entry = Reader::new(context.bytes, payload);
    while wire_type == wire::LEN && !entry.at_end() {
        let (number, wire_type) = entry.tag().ok()?;
        let payload = entry.skip(wire_type).ok()?;
        match number {
            1 if wire_type == wire::LEN => {}
            2 => value(context, row.ty, wire_type, payload, depth)?,
            _ => return None,
        }
    }
    (wire_type == wire::LEN).then_some(())
}

/// One value. Packed numbers, schemas and the few messages that stand for lists and maps are left to the check.
#[inline]
fn value(context: &mut Context<'_>, ty: Type, wire_type: u8, payload: Span, depth: usize) -> Option<()> {
    let is_sound = wire_type == values::wire_type_of(ty)
        && match ty {
            Type::Message(id) => match &MESSAGES[usize::from(id.0)] {
                message if message.render == Render::Struct => is_sound(context, message, payload, depth + 1),
                message => is_special_sound(context, message, payload),
            },
            Type::Double => Reader::new(context.bytes, payload).fixed64().is_ok_and(|bits| f64::from_bits(bits).is_finite()),
            _ => true,
        };
    is_sound.then_some(())
}

fn is_special_sound(context: &mut Context<'_>, message: &'static Message, span: Span) -> bool {
    let unknown = context.unknown.len();
    let is_sound = match context.special(message, span) {
        Ok(JsonValue::Raw(raw)) => text::check_raw(context.slice(raw), raw.start).is_ok(),
        Ok(JsonValue::Struct(..) | JsonValue::List(..) | JsonValue::Map(..)) | Err(_) => false,
        Ok(_) => context.unknown.len() == unknown,
    };
    context.unknown.truncate(unknown);
    is_sound
}
