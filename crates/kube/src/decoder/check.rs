//! Passes over what is not wanted of an object: faults in it are faults of the object all the same, and its unknown fields are noted.

use super::fault::{Fault, Result};
use super::go_text;
use super::sound::is_sound;
use super::text;
use super::values::{Items, JsonValue};
use super::view::Context;
use super::wire::Span;
use crate::proto::table::{Message, Type};

/// Looks through a member of the message at hand.
pub(super) fn check(context: &mut Context<'_>, shown: &JsonValue<'_>, name: &str) -> Result<()> {
    let (before, result) = (context.unknown.len(), inside(context, shown));
    context.locate(before, || name.to_owned());
    result.map_err(|fault| fault.within(name))
}

fn inside(context: &mut Context<'_>, shown: &JsonValue<'_>) -> Result<()> {
    match *shown {
        JsonValue::Struct(message, span) => check_struct(context, message, span),
        JsonValue::List(ty, items) => check_list(context, ty, items),
        JsonValue::Map(ty, items) => check_map(context, ty, items),
        JsonValue::Raw(span) => text::check_raw(context.slice(span), span.start),
        JsonValue::Double(value) if !value.is_finite() => Err(Fault::new("number that JSON has no text for", 0)),
        _ => Ok(()),
    }
}

fn check_struct(context: &mut Context<'_>, message: &'static Message, span: Span) -> Result<()> {
    if is_sound(context, message, span, context.depth) {
        return Ok(());
    }
    let mut view = context.open(message, span)?;
    while let Some(row) = view.next_row(message) {
        let shown = context.member(view, message, row).map_err(|fault| fault.within(row.name))?;
        check(context, &shown, row.name)?;
    }
    context.close(view);
    Ok(())
}

fn check_list(context: &mut Context<'_>, ty: Type, mut items: Items) -> Result<()> {
    for index in 0.. {
        match context.next_item(ty, &mut items).map_err(|fault| fault.within(&format!("[{index}]")))? {
            JsonValue::Hidden => break,
            JsonValue::Text(_) => {}
            shown => {
                let (before, result) = (context.unknown.len(), inside(context, &shown));
                context.locate(before, || format!("[{index}]"));
                result.map_err(|fault| fault.within(&format!("[{index}]")))?;
            }
        }
    }
    Ok(())
}

fn check_map(context: &mut Context<'_>, ty: Type, items: Items) -> Result<()> {
    for entry in context.sorted_entries(items)? {
        let shown = context.entry_value(ty, &entry)?;
        if !matches!(shown, JsonValue::Text(_)) {
            let segment = |context: &Context<'_>| format!("[{:?}]", go_text::utf8(context.key(&entry)));
            let (before, result) = (context.unknown.len(), inside(context, &shown));
            if context.unknown.len() > before || result.is_err() {
                let segment = segment(context);
                context.locate(before, || segment.clone());
                result.map_err(|fault| fault.within(&segment))?;
            }
        }
    }
    Ok(())
}
