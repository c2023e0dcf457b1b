//! An object of the page: its YAML with who set each line, its versions, what differs between two of them, the Events about it.

use std::collections::HashMap;
use std::io;

use serde_json::Value;

use ketcd_history::blame::{Blamed, Setter as BlamedSetter};
use ketcd_history::clock::{Dated, newest_stamp};
use ketcd_history::diff::{Detail, Field, ManagedFields, object_fields};
use ketcd_history::{AttributedChange, Leases, ObjectVersion, noise};
use ketcd_kube::Object;

use crate::contract::browser::{PageEvent, PageField, PageLine, PageSetter, PageVersion};
use crate::contract::common::{ActorFrom, KubernetesObject, Time};
use crate::report::Report;
use crate::{blame, request_text};

/// The lines of an object's YAML, and those who set them, each once.
///
/// # Errors
/// None in practice: they are written to memory.
pub fn lines(object: &Object, blamed: &Blamed, managed_fields: ManagedFields) -> io::Result<(Vec<PageLine>, Vec<PageSetter>)> {
    let (mut lines, mut setters) = (Vec::new(), Vec::new());
    let mut places: HashMap<usize, usize> = HashMap::new();
    blame::each_line(object, &blamed.lines, managed_fields, &mut |number, text| {
        let set = *places.entry(number).or_insert_with(|| {
            setters.push(setter(&blamed.setters[number]));
            setters.len() - 1
        });
        lines.push(PageLine { text: text.to_owned(), set });
        Ok(())
    })?;
    Ok((lines, setters))
}

fn setter(BlamedSetter { revision, dated, by, .. }: &BlamedSetter) -> PageSetter {
    PageSetter {
        by: by.as_ref().map(ToString::to_string),
        by_from: ActorFrom::of(by.as_ref()),
        ms: ms(*dated),
        request: None,
        revision: revision.map(|revision| revision.0),
        time: Time::of(*dated),
    }
}

/// Who made changes, oldest first.
pub fn setters(changes: &[AttributedChange]) -> Vec<PageSetter> {
    let setter = |attributed: &AttributedChange| PageSetter {
        by: attributed.by().as_ref().map(ToString::to_string),
        by_from: ActorFrom::of(attributed.by().as_ref()),
        ms: ms(attributed.dated),
        request: request_text::author(attributed.request.as_ref(), attributed.actor.as_ref(), true),
        revision: Some(attributed.change.revision.0),
        time: Time::of(attributed.dated),
    };
    changes.iter().map(setter).collect()
}

fn ms(dated: Option<Dated>) -> Option<i64> {
    dated.map(|dated| dated.time.as_millisecond())
}

/// The versions that changes made, in words and as patches.
///
/// # Errors
/// None in practice: they are written to memory.
pub fn versions(changes: &[AttributedChange], leases: &Leases, managed_fields: ManagedFields) -> io::Result<Vec<PageVersion>> {
    let mut report = Report::of_rows(managed_fields);
    changes.iter().try_for_each(|change| report.observe(change, leases))?;
    let ticks = report.into_rows().into_iter().flat_map(|row| row.ticks);
    let labels: HashMap<i64, String> = ticks.map(|tick| (tick.revision, tick.label)).collect();
    let mut has_before = false;
    let version = |attributed: &AttributedChange| {
        let (change, by) = (&attributed.change, attributed.by());
        let patch = if has_before { change.patch(managed_fields) } else { None };
        let patch = patch.filter(|_| matches!(change.after, ObjectVersion::Object(_)));
        let object = change.after.object().filter(|_| patch.is_none());
        has_before = matches!(change.after, ObjectVersion::Object(_));
        PageVersion {
            by: by.as_ref().map(ToString::to_string),
            by_from: ActorFrom::of(by.as_ref()),
            error: if let ObjectVersion::Opaque(opaque) = &change.after { Some(opaque.reason.clone()) } else { None },
            error_seconds: attributed.dated.map(|dated| dated.error),
            label: labels.get(&change.revision.0).cloned().unwrap_or_default(),
            ms: ms(attributed.dated),
            object: object.map(|object| shown(object, managed_fields)),
            patch,
            request: request_text::author(attributed.request.as_ref(), attributed.actor.as_ref(), true),
            revision: change.revision.0,
            time: Time::of(attributed.dated),
            kind: change.kind.into(),
        }
    };
    Ok(changes.iter().map(version).collect())
}

/// An object as it is shown: without managedFields unless they are.
pub fn shown(object: &Value, managed_fields: ManagedFields) -> Value {
    serde_json::to_value(KubernetesObject { object, managed_fields }).unwrap_or_default()
}

/// An object as YAML.
///
/// # Errors
/// None in practice: it is written to memory.
pub fn yaml(object: &Value, managed_fields: ManagedFields) -> io::Result<String> {
    let mut text = Vec::new();
    crate::yaml::write(&shown(object, managed_fields), &mut text)?;
    String::from_utf8(text).map_err(io::Error::other)
}

/// The fields in which two versions differ, bookkeeping last.
pub fn differences(before: &Object, after: &Object) -> Vec<PageField> {
    let all = object_fields(before, after, Detail::Story);
    let telling: Vec<String> = noise::fold(all.clone()).0.iter().map(|change| change.path.to_string()).collect();
    let mut fields: Vec<PageField> = all
        .into_iter()
        .map(|change| {
            let path = change.path.to_string();
            let (before, after) = match change.field {
                Field::Reordered => (None, None),
                field => (field.before().cloned(), field.after().cloned()),
            };
            PageField { after, before, quiet: !telling.contains(&path), path }
        })
        .collect();
    fields.sort_by_key(|field| field.quiet);
    fields
}

/// The Events about an object, oldest first, as their versions were written.
pub fn event_lines(changes: &[AttributedChange]) -> Vec<PageEvent> {
    changes.iter().filter_map(event_line).collect()
}

fn event_line(attributed: &AttributedChange) -> Option<PageEvent> {
    let event = attributed.change.after.object()?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let source = event["source"]["component"].as_str().filter(|source| !source.is_empty()).or(event["reportingComponent"].as_str());
    let time = attributed.dated.map(|dated| dated.time).or_else(|| newest_stamp(event));
    Some(PageEvent {
        count: event["count"].as_i64().unwrap_or(1),
        message: text(&event["message"]),
        ms: time.map(jiff::Timestamp::as_millisecond),
        reason: text(&event["reason"]),
        revision: attributed.change.revision.0,
        source: source.unwrap_or_default().to_owned(),
        time: time.map(Time),
        kind: text(&event["type"]),
    })
}
