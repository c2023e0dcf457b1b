//! The items of a list, each written from no more of its object than is needed.

use ketcd_kube::FieldSet;
use ketcd_render::table::RowFields;
use ketcd_render::yaml;
use ketcd_store::KeyValue;
use serde_json::Value;

use super::page::ListPage;
use super::plan::{Format, List};
use crate::answers::form::Form;
use crate::answers::objects::{Stored, partial};
use crate::answers::table::{RowCells, Table};
use crate::wire::{ListEncoder, Result, Status};

/// How much of an object is decoded before it is written.
enum Needed<'l> {
    /// It is written from its bytes.
    Nothing,
    Members(&'static FieldSet),
    /// The cells of a row, from these members, and the text of its metadata.
    Row(&'l Table, &'static RowFields),
    Whole,
}

/// What was decoded of an object.
enum Read {
    Nothing,
    Object(Stored),
    /// The cells of its row, and the text of its metadata.
    Row(RowCells, Vec<u8>),
}

/// Appends an item, if the object is wanted, and returns whether.
///
/// # Errors
/// The object cannot be served in this version, or does not fit its type in protobuf.
pub(super) fn append(list: &List, entry: &KeyValue, page: &mut ListPage, out: &mut Vec<u8>) -> Result<bool> {
    if list.call.objects.name(&entry.key).is_none() {
        return Ok(false);
    }
    let read = read(list, entry);
    if let (false, Read::Object(stored)) = (list.filter.is_empty(), &read)
        && !stored.as_ref().is_ok_and(|object| list.filter.matches(object))
    {
        return Ok(false);
    }
    let read = match (&list.format, read) {
        (Format::Protobuf(encoder), Read::Object(stored)) => return append_message(list, encoder, entry, stored, out).map(|()| true),
        (_, read) => read,
    };
    let order = list.row_order();
    if order.is_none() {
        page.separate(list.is_yaml(), out);
    }
    let rank = order.map(|rank| if let Read::Object(Ok(object)) = &read { rank(object) } else { i64::MIN });
    let start = out.len();
    append_text(list, entry, read, page, out)?;
    if list.is_yaml() {
        let item: Value = serde_json::from_slice(&out[start..]).map_err(Status::internal)?;
        out.truncate(start);
        yaml::write_item(&item, out).map_err(Status::internal)?;
    }
    if let Some(rank) = rank {
        let row = out.split_off(start);
        page.sort_in(rank, row, list.is_yaml(), out);
    }
    Ok(true)
}

fn read(list: &List, entry: &KeyValue) -> Read {
    let objects = &list.call.objects;
    match needed(list) {
        Needed::Nothing => Read::Nothing,
        Needed::Members(fields) => Read::Object(objects.stored_part(entry, fields)),
        Needed::Row(table, fields) => {
            let mut metadata = Vec::with_capacity(entry.value.len());
            Read::Row(table.read_cells(objects, entry, fields, &mut metadata), metadata)
        }
        Needed::Whole => Read::Object(objects.stored(entry)),
    }
}

/// How much of each object must be decoded before it can be written.
fn needed(list: &List) -> Needed<'_> {
    match &list.form {
        _ if matches!(list.format, Format::Protobuf(_)) => Needed::Whole,
        Form::Table(table) if list.filter.is_of_metadata() => match table.fields() {
            Some(fields) if table.has_metadata() && list.filter.is_empty() => Needed::Row(table, fields),
            Some(fields) => Needed::Members(&fields.all),
            None => Needed::Whole,
        },
        Form::Objects | Form::Metadata(_) if list.filter.is_empty() => Needed::Nothing,
        _ => Needed::Whole,
    }
}

fn append_message(list: &List, encoder: &ListEncoder, entry: &KeyValue, stored: Stored, out: &mut Vec<u8>) -> Result<()> {
    let objects = &list.call.objects;
    let item = match list.form {
        Form::Metadata(version) => partial(&stored.unwrap_or_else(|reason| objects.stub(entry, &reason)), version),
        _ => objects.served(entry, stored)?,
    };
    encoder.item(&item, out)
}

/// Appends an item in JSON.
fn append_text(list: &List, entry: &KeyValue, read: Read, page: &ListPage, out: &mut Vec<u8>) -> Result<()> {
    let objects = &list.call.objects;
    let with_type = list.call.resource.custom.is_some();
    match (&list.form, read) {
        (Form::Metadata(version), read) => {
            let reason = if let Read::Object(Err(reason)) = read { Some(reason) } else { None };
            objects.append_partial(entry, reason.as_ref(), &[], version, out);
        }
        (Form::Table(table), Read::Row(cells, metadata)) => table.append_row(objects, entry, page.marked(cells), &metadata, out)?,
        (Form::Table(table), Read::Object(stored)) => table.append_row(objects, entry, page.marked(table.cells(&stored)), &[], out)?,
        (_, Read::Object(stored)) => objects.append_served(objects.served(entry, stored)?, with_type, out),
        (_, _) => objects.append(entry, with_type, out)?,
    }
    Ok(())
}
