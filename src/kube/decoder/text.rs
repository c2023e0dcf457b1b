//! Protobuf to JSON text, in one pass over the tables: members sorted by name, as kubectl prints them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::fault::{Fault, Result};
use super::values::{Items, Shown};
use super::view::{Context, Member};
use super::wire::Span;
use super::{cbor, go_text, raw_json};
use crate::proto::table::{Message, Type};

/// What a stored object's JSON has that its bytes have not.
#[derive(Clone, Copy)]
pub struct Identity<'a> {
    pub api_version: &'a str,
    pub kind: &'a str,
    /// `metadata.resourceVersion`; 0 leaves the stored one.
    pub mod_revision: i64,
}

/// Which part of the identity a message shows.
#[derive(Clone, Copy)]
enum Place<'a> {
    Root(Identity<'a>),
    Metadata(i64),
    Elsewhere,
}

/// Appends an object's JSON.
pub fn append_object(
    context: &mut Context<'_>,
    message: &'static Message,
    span: Span,
    identity: Identity<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    append_struct(context, message, span, Place::Root(identity), out)
}

fn append_struct(context: &mut Context<'_>, message: &'static Message, span: Span, place: Place<'_>, out: &mut Vec<u8>) -> Result<()> {
    let view = context.open(message, span)?;
    let start = out.len();
    let shows_revision = matches!(place, Place::Metadata(1..));
    for row in message.rows {
        let is_revision = shows_revision && row.name() == "resourceVersion";
        if context.is_left_out(view, row) && !is_revision {
            continue;
        }
        let member = match context.member(view, message, row) {
            Ok(Member::Hidden) if !is_revision => continue,
            member => member.map_err(|fault| fault.within(row.name()))?,
        };
        let key_at = out.len();
        out.extend_from_slice(row.key.as_bytes());
        match (member, place) {
            (Member::One(Shown::ApiVersion), Place::Root(identity)) => go_text::append_string(out, identity.api_version.as_bytes()),
            (Member::One(Shown::Kind), Place::Root(identity)) => go_text::append_string(out, identity.kind.as_bytes()),
            (Member::One(Shown::ApiVersion | Shown::Kind), _) => {
                out.truncate(key_at);
                continue;
            }
            (Member::One(Shown::Struct(inner, span)), Place::Root(identity)) if row.name() == "metadata" => {
                nested(context, row.name(), |context| append_struct(context, inner, span, Place::Metadata(identity.mod_revision), out))?;
            }
            (_, Place::Metadata(revision @ 1..)) if row.name() == "resourceVersion" => {
                go_text::append_string(out, revision.to_string().as_bytes());
            }
            (Member::One(shown), _) => append_shown(context, shown, row.name(), out)?,
            (Member::List(items), _) => append_list(context, row.ty, items, row.name(), out)?,
            (Member::Map(items), _) => append_map(context, row.ty, items, row.name(), out)?,
            (Member::Hidden, _) => {}
        }
    }
    context.close(view);
    close(b"{}", start, out);
    Ok(())
}

/// Runs `write` for what lies at `segment` of the message at hand, so that faults and unknown fields within it say so.
#[inline]
fn nested<'a>(context: &mut Context<'a>, segment: &str, write: impl FnOnce(&mut Context<'a>) -> Result<()>) -> Result<()> {
    let before = context.unknown.len();
    let result = write(context);
    context.locate(before, || segment.to_owned());
    result.map_err(|fault| fault.within(segment))
}

fn append_shown(context: &mut Context<'_>, shown: Shown<'_>, segment: &str, out: &mut Vec<u8>) -> Result<()> {
    match shown {
        Shown::Null | Shown::ApiVersion | Shown::Kind => out.extend_from_slice(b"null"),
        Shown::Bool(true) => out.extend_from_slice(b"true"),
        Shown::Bool(false) => out.extend_from_slice(b"false"),
        Shown::Int(value) => go_text::append_int(out, value),
        Shown::Double(value) if value.is_finite() => go_text::append_float(out, value),
        Shown::Double(_) => return Err(Fault::new("number that JSON has no text for", 0).within(segment)),
        Shown::Text(text) => go_text::append_string(out, text),
        Shown::Made(text) => go_text::append_string(out, text.as_bytes()),
        Shown::Base64(bytes) => append_base64(out, bytes),
        Shown::Raw(span) => return append_raw(context.slice(span), span.start, out).map_err(|fault| fault.within(segment)),
        Shown::Struct(message, span) => {
            return nested(context, segment, |context| append_struct(context, message, span, Place::Elsewhere, out));
        }
        Shown::List(ty, items) => return append_list(context, ty, items, segment, out),
        Shown::Map(ty, items) => return append_map(context, ty, items, segment, out),
    }
    Ok(())
}

fn append_list(context: &mut Context<'_>, ty: Type, mut items: Items, segment: &str, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let mut index = 0;
    nested(context, segment, |context| {
        while let Some(shown) = context.next_item(ty, &mut items)? {
            out.push(b',');
            if let Shown::Struct(message, span) = shown {
                let before = context.unknown.len();
                let result = append_struct(context, message, span, Place::Elsewhere, out);
                context.locate(before, || format!("[{index}]"));
                result.map_err(|fault| fault.within(&format!("[{index}]")))?;
            } else {
                append_shown(context, shown, "", out)?;
            }
            index += 1;
        }
        Ok(())
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
            let shown = context.entry_value(ty, &entry)?;
            if matches!(shown, Shown::Struct(..) | Shown::List(..) | Shown::Map(..)) {
                let segment = format!("[{:?}]", go_text::utf8(context.key(&entry)));
                append_shown(context, shown, &segment, out)?;
            } else {
                append_shown(context, shown, "", out)?;
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
    BASE64.encode_slice(bytes, &mut out[start..]).expect("the room is there");
    out.push(b'"');
}

/// Appends JSON or CBOR that lies `offset` bytes into the value as canonical JSON.
pub fn append_raw(raw: &[u8], offset: usize, out: &mut Vec<u8>) -> Result<()> {
    let result = match raw.strip_prefix(&cbor::MAGIC) {
        Some(_) => cbor::append(raw, out),
        None => raw_json::append(raw, raw_json::Numbers::Keep, out),
    };
    result.map_err(|mut fault| {
        fault.offset += offset;
        fault
    })
}
