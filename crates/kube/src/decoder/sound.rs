//! A fast test that runs before [`super::typed::check`]: one pass over a message's bytes that allocates nothing. A message that passes has no faults and no
//! unknown fields. One that fails may still be sound, because every occurrence of a field is tested here; the check then decides and names the fault.

use super::values::JsonValue;
use super::view::{Context, MAX_DEPTH, MAX_INLINED};
use super::wire::{self, Reader, Span, WireField};
use super::{embedded, values};
use crate::proto::kubernetes::MESSAGES;
use crate::proto::table::{Card, Message, Numbers, Render, Row, Type};

/// Returns whether this message, nested `depth` messages deep, is known to be sound.
pub(super) fn is_sound(context: &mut Context<'_>, message: &'static Message, span: Span, depth: usize) -> bool {
    depth < MAX_DEPTH && fields(context, message, &message.numbers, span, depth, 0).is_some()
}

/// Tests the fields of a message, or of a message inlined in its JSON. `None` means that something may be wrong.
fn fields(context: &mut Context<'_>, message: &'static Message, numbers: &Numbers, span: Span, depth: usize, inlined: usize) -> Option<()> {
    let mut reader = Reader::new(context.bytes, span);
    while let Some(WireField { number, wire_type, payload, .. }) = reader.field().ok()? {
        match numbers.slots.get(number as usize).copied().unwrap_or(0) {
            0 => return None,
            slot @ ..=Numbers::INLINED => {
                let row = message.only_row(message.fills[usize::from(slot) - 1], context.minor)?;
                field(context, row, wire_type, payload, depth)?;
            }
            _ if wire_type != wire::WIRE_LEN || inlined == MAX_INLINED => return None,
            slot => {
                let inner = &numbers.inlined[usize::from(slot - Numbers::INLINED) - 1];
                fields(context, message, inner, payload, depth, inlined + 1)?;
            }
        }
    }
    Some(())
}

#[inline]
fn field(context: &mut Context<'_>, row: &'static Row, wire_type: u8, payload: Span, depth: usize) -> Option<()> {
    if row.card != Card::Map {
        return value(context, row.ty, wire_type, payload, depth);
    }
    if wire_type != wire::WIRE_LEN {
        return None;
    }
    let mut entry = Reader::new(context.bytes, payload);
    while let Some(WireField { number, wire_type, payload, .. }) = entry.field().ok()? {
        match number {
            1 if wire_type == wire::WIRE_LEN => {}
            2 => value(context, row.ty, wire_type, payload, depth)?,
            _ => return None,
        }
    }
    Some(())
}

/// Tests one value. Packed numbers, schemas and messages rendered as lists or maps are left to the check.
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
        Ok(JsonValue::Raw(raw)) => embedded::check(context.slice(raw), raw.start).is_ok(),
        Ok(JsonValue::Struct(..) | JsonValue::List(..) | JsonValue::Map(..)) | Err(_) => false,
        Ok(_) => context.unknown.len() == unknown,
    };
    context.unknown.truncate(unknown);
    is_sound
}
