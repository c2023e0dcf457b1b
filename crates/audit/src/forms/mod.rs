//! The forms of audit logs: from one record to the event in it.
//!
//! A record is an event as API servers write it, or a wrapping of one: CloudWatch and Azure hold it as text in a member, Google and Azure's tables
//! have members of their own. Elasticsearch, OpenSearch, Loki, Splunk and others hold it somewhere in a document of theirs, as it is or as text.

mod aks;
mod event;
mod gke;
mod within;
mod wrapped;

use serde_json::value::RawValue;
use std::collections::HashMap;

use crate::names::Names;
use crate::request::Request;

pub(crate) use aks::event_of_row;
pub(crate) use wrapped::{event_in_row, is_text_column};

pub(crate) enum Record {
    /// A request that has ended.
    Request(Box<Request>),
    /// Another event: a request that was received or goes on.
    Other,
    /// A line of another program's log.
    Line,
    /// Nothing of an audit log; a fragment says why.
    Unknown(String),
    /// Something that whoever printed the log left out; a fragment says why.
    LeftOut(String),
}

/// journalctl(1): in JSON fields of more than 4096 bytes are null without `--all`, and so are most events with bodies.
const NULL_MESSAGE: &str = "has null as its MESSAGE: journalctl prints that for texts longer than 4096 bytes unless you pass --all";

/// Texts wrapped in texts deeper than this are not opened.
const MAX_WRAPPINGS: usize = 3;

/// Reads a record; `take` gets what it is, of a document that holds several events each of them.
pub(crate) fn read(record: &[u8], names: &mut Names, take: &mut dyn FnMut(Record)) {
    let found = read_at(record, names, 0);
    if !matches!(found, Record::Unknown(_) | Record::Line) || !within::read(record, names, take) {
        take(found);
    }
}

fn read_at(record: &[u8], names: &mut Names, depth: usize) -> Record {
    if depth > MAX_WRAPPINGS {
        return Record::Unknown("is wrapped too often".to_owned());
    }
    if record.first() == Some(&b'[') {
        return wrapped::of_fields(record, names, depth);
    }
    // Most records are events: no map is made of their members.
    match event::read(record, names) {
        Ok(Some(found)) => return found,
        Ok(None) => {}
        Err(error) if error.is_data() => {}
        Err(error) => return not_json(&error),
    }
    let members: HashMap<&str, &RawValue> = match serde_json::from_slice(record) {
        Ok(members) => members,
        Err(error) => return not_json(&error),
    };
    if members.contains_key("protoPayload") {
        return gke::read(record, names);
    }
    if members.get("MESSAGE").is_some_and(|message| message.get() == "null") {
        return Record::LeftOut(NULL_MESSAGE.to_owned());
    }
    let read = |record: &[u8], names: &mut Names| read_at(record, names, depth + 1);
    wrapped::of_members(&members, names, read)
        .or_else(|| aks::of_members(&members, names))
        .unwrap_or_else(|| Record::Unknown("is not an audit event".to_owned()))
}

fn not_json(error: &serde_json::Error) -> Record {
    Record::Unknown(format!("is not JSON: {error}"))
}
