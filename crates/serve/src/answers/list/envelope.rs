//! What stands before the items of a list and after them.

use ketcd_render::yaml;
use serde_json::{Map, Value, json};

use super::page::ListPage;
use super::plan::{Format, List};
use crate::answers::form::Form;
use crate::request::Continuation;
use crate::wire::{Result, Status};

/// The text before the items; nothing in protobuf, where it needs their length.
pub(super) fn head(list: &List) -> Vec<u8> {
    match list.format {
        Format::Json => json_head(list),
        Format::Yaml => yaml_head(list),
        Format::Protobuf(_) => Vec::new(),
    }
}

fn json_head(list: &List) -> Vec<u8> {
    let (kind, api_version) = list.type_meta();
    let mut head = format!("{{\"kind\":{},\"apiVersion\":{}", json!(kind), json!(api_version)).into_bytes();
    if !ends_with_metadata(list) {
        head.extend(format!(",\"metadata\":{}", Value::from(metadata(list))).bytes());
    }
    let items = match &list.form {
        Form::Table(table) => {
            head.extend(format!(",\"columnDefinitions\":{}", table.definitions()).bytes());
            "rows"
        }
        _ => "items",
    };
    head.extend(format!(",\"{items}\":[").bytes());
    head
}

fn yaml_head(list: &List) -> Vec<u8> {
    let (kind, api_version) = list.type_meta();
    let mut members = json!({"apiVersion": api_version});
    let Form::Table(table) = &list.form else { return yaml_before("items", &members) };
    members["columnDefinitions"] = table.definitions();
    members["kind"] = kind.into();
    if !ends_with_metadata(list) {
        members["metadata"] = metadata(list).into();
    }
    yaml_before("rows", &members)
}

/// Members in YAML, and the name of the list that comes after them.
fn yaml_before(items: &str, members: &Value) -> Vec<u8> {
    let mut text = Vec::new();
    yaml::write(members, &mut text).expect("memory takes every byte");
    text.extend(format!("{items}:").bytes());
    text
}

/// Returns the text after the items; in protobuf the metadata.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn tail(list: &List, page: &ListPage) -> Result<Vec<u8>> {
    let mut metadata = metadata(list);
    if list.is_page() && page.has_more {
        add_next_page(list, page, &mut metadata).await?;
    }
    match &list.format {
        Format::Protobuf(encoder) => encoder.metadata(&metadata.into()),
        Format::Yaml => yaml_tail(list, page, metadata),
        Format::Json => {
            let mut tail = b"]".to_vec();
            if ends_with_metadata(list) {
                tail.extend(format!(",\"metadata\":{}", Value::from(metadata)).bytes());
            }
            tail.push(b'}');
            Ok(tail)
        }
    }
}

fn yaml_tail(list: &List, page: &ListPage, metadata: Map<String, Value>) -> Result<Vec<u8>> {
    let mut tail = if page.is_empty() { b" []\n".to_vec() } else { Vec::new() };
    if ends_with_metadata(list) {
        let mut members = json!({"metadata": metadata});
        if !list.is_table() {
            members["kind"] = list.type_meta().0.into();
        }
        yaml::write(&members, &mut tail).map_err(Status::internal)?;
    }
    Ok(tail)
}

/// Whether the metadata comes after the items: what a page of a list says of the next one is known only then. In YAML, whose members are sorted, that is
/// its place in a list of objects.
fn ends_with_metadata(list: &List) -> bool {
    list.is_page() || list.is_yaml() && !list.is_table()
}

fn metadata(list: &List) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".to_owned(), list.revision.to_string().into());
    if list.call.resource.custom.is_some() {
        metadata.insert("continue".to_owned(), "".into());
    }
    metadata
}

/// Adds where the next page begins, and how much is left.
async fn add_next_page(list: &List, page: &ListPage, metadata: &mut Map<String, Value>) -> Result<()> {
    let prefix = list.call.key_prefix().len();
    let last = String::from_utf8_lossy(page.last_key.get(prefix..).unwrap_or_default()).into_owned();
    metadata.insert("continue".to_owned(), Continuation::after(&last, list.revision).into());
    // With a selector, the number of remaining objects is not known.
    if list.filter.is_empty() {
        let app = &list.call.app;
        let left = app.count(list.keys.clone(), list.revision).await?.saturating_sub(page.keys);
        let next = [&page.last_key[..], &[0]].concat();
        app.set_count(next, list.revision, left);
        metadata.insert("remainingItemCount".to_owned(), left.into());
    }
    Ok(())
}
