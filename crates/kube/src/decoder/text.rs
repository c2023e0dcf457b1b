//! Protobuf to JSON text, in one pass over the tables: members sorted by name, as kubectl prints them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::fault::{Fault, Result};
use super::go_text;
use super::go_time::{self, TimeText};
use super::identity::{Identity, Place};
use super::values::{Items, JsonValue};
use super::view::Context;
use super::wire::Span;
use super::{canonical, embedded};
use crate::proto::table::{Message, Row, Type};

pub(super) fn append_object(
    context: &mut Context<'_>,
    message: &'static Message,
    span: Span,
    identity: &Identity<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    append_struct(context, message, span, Place::Root(identity), out)
}

/// Appends the JSON of an object's metadata alone, `{}` where it has none.
pub(super) fn append_metadata(
    context: &mut Context<'_>,
    message: &'static Message,
    span: Span,
    identity: &Identity<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut view = context.open(message, span)?;
    let mut found = None;
    while let (None, Some(row)) = (found, view.next_row(message)) {
        if row.name == "metadata"
            && let JsonValue::Struct(inner, span) = context.member(view, message, row).map_err(|fault| fault.within(row.name))?
        {
            found = Some((inner, span));
        }
    }
    context.close(view);
    match found {
        Some((inner, span)) => nested(context, "metadata", |context| append_struct(context, inner, span, Place::Metadata(identity), out)),
        None => {
            out.extend_from_slice(b"{}");
            Ok(())
        }
    }
}

fn append_struct(context: &mut Context<'_>, message: &'static Message, span: Span, place: Place<'_>, out: &mut Vec<u8>) -> Result<()> {
    let mut view = context.open(message, span)?;
    let start = out.len();
    while let Some(row) = view.next_row(message) {
        // By reference: a move of this size waits for the stores before it.
        match context.member_at(place, view, message, row) {
            Ok(JsonValue::Hidden) => {}
            Ok(JsonValue::ApiVersion | JsonValue::Kind) => append_own(place, row, out),
            Ok(JsonValue::Struct(inner, span)) => {
                out.extend_from_slice(row.key.as_bytes());
                nested(context, row.name, |context| append_struct(context, inner, span, place.of_member(row.name), out))?;
            }
            Ok(ref shown) => {
                out.extend_from_slice(row.key.as_bytes());
                append_shown(context, shown, row.name, out)?;
            }
            Err(fault) => return Err(fault.within(row.name)),
        }
    }
    context.close(view);
    close(b"{}", start, out);
    Ok(())
}

/// Appends the version or the kind, which the object's JSON alone has.
fn append_own(place: Place<'_>, row: &Row, out: &mut Vec<u8>) {
    if let Place::Root(identity) = place {
        let text = if row.ty == Type::Kind { identity.kind } else { identity.api_version };
        out.extend_from_slice(row.key.as_bytes());
        go_text::append_string(out, text.as_bytes());
    }
}

/// Runs `write` for what lies at `segment` of the message at hand, so that faults and unknown fields within it say so.
#[inline]
fn nested<'a>(context: &mut Context<'a>, segment: &str, write: impl FnOnce(&mut Context<'a>) -> Result<()>) -> Result<()> {
    let before = context.unknown.len();
    let result = write(context);
    context.locate(before, || segment.to_owned());
    result.map_err(|fault| fault.within(segment))
}

fn append_shown(context: &mut Context<'_>, shown: &JsonValue<'_>, segment: &str, out: &mut Vec<u8>) -> Result<()> {
    match *shown {
        JsonValue::Text(text) => go_text::append_string(out, text),
        JsonValue::Struct(message, span) => {
            return nested(context, segment, |context| append_struct(context, message, span, Place::Elsewhere, out));
        }
        JsonValue::List(ty, items) => return append_list(context, ty, items, segment, out),
        JsonValue::Map(ty, items) => return append_map(context, ty, items, segment, out),
        JsonValue::Null | JsonValue::Hidden | JsonValue::ApiVersion | JsonValue::Kind => out.extend_from_slice(b"null"),
        JsonValue::Bool(true) => out.extend_from_slice(b"true"),
        JsonValue::Bool(false) => out.extend_from_slice(b"false"),
        JsonValue::Int(value) => go_text::append_int(out, value),
        JsonValue::Double(value) if value.is_finite() => go_text::append_float(out, value),
        JsonValue::Double(_) => return Err(Fault::new("number that JSON cannot represent", 0).within(segment)),
        JsonValue::Time(seconds) => append_time(out, &go_time::time(seconds)),
        JsonValue::MicroTime(seconds, nanos) => append_time(out, &go_time::micro_time(seconds, nanos)),
        JsonValue::Duration(nanos) => go_text::append_string(out, crate::go_duration::go_duration(nanos).as_bytes()),
        JsonValue::Revision(revision) => go_text::append_string(out, revision.to_string().as_bytes()),
        JsonValue::Base64(bytes) => append_base64(out, bytes),
        JsonValue::Raw(span) if context.keeps_order && canonical::is_well_formed(context.slice(span)) => {
            out.extend_from_slice(context.slice(span));
        }
        JsonValue::Raw(span) => return embedded::append(context.slice(span), span.start, out).map_err(|fault| fault.within(segment)),
    }
    Ok(())
}

fn append_time(out: &mut Vec<u8>, time: &TimeText) {
    out.push(b'"');
    out.extend_from_slice(time.as_bytes());
    out.push(b'"');
}

fn append_list(context: &mut Context<'_>, ty: Type, mut items: Items, segment: &str, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let mut index = 0;
    nested(context, segment, |context| {
        loop {
            match context.next_item(ty, &mut items) {
                Ok(JsonValue::Hidden) => return Ok(()),
                Ok(JsonValue::Struct(message, span)) => {
                    out.push(b',');
                    let before = context.unknown.len();
                    let result = append_struct(context, message, span, Place::Elsewhere, out);
                    context.locate(before, || format!("[{index}]"));
                    result.map_err(|fault| fault.within(&format!("[{index}]")))?;
                }
                Ok(ref shown) => {
                    out.push(b',');
                    append_shown(context, shown, "", out)?;
                }
                Err(fault) => return Err(fault.within(&format!("[{index}]"))),
            }
            index += 1;
        }
    })?;
    close(b"[]", start, out);
    Ok(())
}

fn append_map(context: &mut Context<'_>, ty: Type, items: Items, segment: &str, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    nested(context, segment, |context| {
        for entry in context.sorted_entries(items)? {
            out.push(b',');
            go_text::append_string(out, context.key(&entry));
            out.push(b':');
            match &context.entry_value(ty, &entry)? {
                shown @ (JsonValue::Struct(..) | JsonValue::List(..) | JsonValue::Map(..)) => {
                    let segment = format!("[{:?}]", go_text::utf8(context.key(&entry)));
                    append_shown(context, shown, &segment, out)?;
                }
                shown => append_shown(context, shown, "", out)?,
            }
        }
        Ok(())
    })?;
    close(b"{}", start, out);
    Ok(())
}

/// Ends an object or a list whose every member begins with a comma, the first one's at `start`.
fn close(brackets: &[u8; 2], start: usize, out: &mut Vec<u8>) {
    if out.len() == start {
        out.push(brackets[0]);
    } else {
        out[start] = brackets[0];
    }
    out.push(brackets[1]);
}

fn append_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len() + 1;
    out.resize(start + base64::encoded_len(bytes.len(), true).expect("a value's length"), b'"');
    BASE64.encode_slice(bytes, &mut out[start..]).expect("the buffer was sized for it");
    out.push(b'"');
}
