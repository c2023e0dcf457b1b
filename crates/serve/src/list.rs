//! `list`: the objects of a collection at one revision, written while they are read.

use std::sync::Arc;

use async_stream::stream;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt};
use ketcd_kube::FieldSet;
use ketcd_store::{At, KeyRange, KeyValue, Revision, Want};
use serde_json::{Map, Value, json};
use tokio::task::coop::consume_budget;

use super::accept::{Encoding, Shape};
use super::app::{After, Moment};
use super::call::{Call, Filter};
use super::continuation::{Continuation, EXPIRED_LIST};
use super::objects::{Objects, Stored, partial};
use super::params::Match;
use super::protobuf::ListEncoder;
use super::status::{Result, Status};
use super::table::{RowCells, Table};
use ketcd_render::table::{DefaultClass, RowFields};
use ketcd_render::yaml;

/// The text that is gathered before it is sent.
const CHUNK: usize = 1 << 18;

/// Rows that are sorted are written when there is so much text of them: a longer table is sorted in runs, as one that is read in pages is.
const RUN: usize = 4 << 20;

/// What is written of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// What stands before its last chunk.
    Items,
}

/// A list on its way.
struct List {
    call: Call,
    objects: Objects,
    filter: Filter,
    form: Form,
    /// What writes the list where it is wanted in protobuf.
    protobuf: Option<ListEncoder>,
    keys: KeyRange,
    revision: Revision,
    continuation: Option<Continuation>,
}

/// What the items of a list are.
enum Form {
    Objects,
    Metadata(&'static str),
    Table(Box<Table>),
}

/// How much of an object is decoded before it is written.
enum Decoded<'l> {
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
    Row(RowCells),
}

/// Answers a list.
pub(super) async fn list(call: Call) -> Result<Response> {
    let encoding = call.accepted.encoding;
    let list = Arc::new(List::new(call).await?);
    if let Some(encoder) = &list.protobuf {
        let limits = &list.call.app.limits;
        return encoder.respond(limits, |part| limits.in_turn(Arc::clone(&list).chunks(part))).await;
    }
    let mut chunks = Box::pin(list.call.app.limits.in_turn(Arc::clone(&list).chunks(Part::Whole)));
    // What fails before the first text can still be said.
    let first = chunks.next().await.unwrap_or_else(|| Err(Status::internal("an empty answer")))?;
    let all = futures_util::stream::once(std::future::ready(Ok(first))).chain(chunks);
    let body = Body::from_stream(all.map(|chunk| chunk.map_err(|status| std::io::Error::other(status.to_json().to_string()))));
    Ok(([(header::CONTENT_TYPE, encoding.media_type())], body).into_response())
}

impl List {
    async fn new(call: Call) -> Result<Self> {
        let filter = call.filter()?;
        let (params, now) = (&call.params, call.moment.revision);
        let continuation = match params.continue_token.as_str() {
            "" => None,
            _ if params.revision.is_some_and(|revision| revision > 0) => {
                return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
            }
            token => Some(Continuation::decode(token)?),
        };
        let is_exact = params.revision_match == Some(Match::Exact) || params.revision_match.is_none() && params.limit > 0;
        let revision = match (&continuation, params.revision) {
            (Some(continuation), _) => continuation.revision.unwrap_or(now),
            (None, Some(asked @ 1..)) if is_exact => Revision(asked),
            (None, Some(asked)) if asked > now.0 => return Err(Status::too_large_version(asked, now.0)),
            (None, _) => now,
        };
        let mut keys = call.keys(&filter);
        if let Some(continuation) = &continuation {
            keys.start = (call.key_prefix() + &continuation.start).into_bytes();
        }
        let moment = if revision == now { call.moment } else { Moment { revision, time: None, after: After::Nothing } };
        let form = match call.accepted.shape {
            Shape::Object => Form::Objects,
            Shape::Metadata(version) => Form::Metadata(version),
            Shape::Table(version) => {
                let (release, now) = (call.app.data.release(), call.app.time_of(moment).await?);
                Form::Table(Box::new(Table::new(&call.resource, release, params.include, version, now)))
            }
            Shape::Discovery(_) => return Err(Status::not_acceptable("a list of objects cannot be returned as a list of groups")),
        };
        let objects = Objects::of(&call.app, &call.resource);
        let mut list = Self { call, objects, filter, form, protobuf: None, keys, revision, continuation };
        if list.call.accepted.encoding == Encoding::Protobuf {
            let (kind, api_version) = list.type_meta();
            list.protobuf = Some(ListEncoder::new(api_version, kind, list.call.app.data.release())?);
        }
        Ok(list)
    }

    /// The text of the list. It is an error only before the first text, or where the source fails amid the list.
    fn chunks(self: Arc<Self>, part: Part) -> impl Stream<Item = Result<Bytes>> + Send + 'static {
        stream! {
            let limit = self.call.params.limit;
            let source = self.call.app.data.source();
            let mut entries = match source.range(self.keys.clone(), At::Revision(self.revision), Want::Values).await {
                Ok(listing) => listing.entries,
                Err(error) => return yield Err(self.unreadable(&error)),
            };
            let default = match self.default_class().await {
                Ok(default) => default,
                Err(status) => return yield Err(status),
            };
            let mut page = Page { default, ..Page::default() };
            let mut out = self.head();
            while let Some(entry) = entries.next().await {
                // A file never lets others wait, and what a selector passes over fills no chunk.
                consume_budget().await;
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(error) => return yield Err(self.unreadable(&error)),
                };
                if limit > 0 && page.items == limit {
                    page.has_more = true;
                    break;
                }
                page.keys += 1;
                match self.item(&entry, &mut page, &mut out) {
                    Ok(true) => {
                        page.items += 1;
                        page.last_key = entry.key;
                    }
                    Ok(false) => {}
                    Err(status) => return yield Err(status),
                }
                if out.len() >= CHUNK {
                    yield Ok(std::mem::replace(&mut out, Vec::with_capacity(CHUNK + CHUNK / 4)).into());
                }
            }
            page.write_sorted(self.is_yaml(), &mut out);
            if part == Part::Items {
                return yield Ok(out.into());
            }
            let tail = match self.tail(&page).await {
                Ok(tail) => tail,
                Err(status) => return yield Err(status),
            };
            yield Ok(out.into());
            yield Ok(tail.into());
        }
    }

    /// Appends an item, if the object is wanted, and returns whether.
    fn item(&self, entry: &KeyValue, page: &mut Page, out: &mut Vec<u8>) -> Result<bool> {
        let Some(named) = self.objects.name(&entry.key) else { return Ok(false) };
        let mut metadata = Vec::new();
        let read = match self.decoded() {
            Decoded::Nothing => Read::Nothing,
            Decoded::Members(fields) => Read::Object(self.objects.stored_part(entry, fields)),
            Decoded::Row(table, fields) => {
                metadata.reserve(entry.value.len());
                Read::Row(table.read_cells(&self.objects, entry, fields, &mut metadata))
            }
            Decoded::Whole => Read::Object(self.objects.stored(entry)),
        };
        if let (false, Read::Object(stored)) = (self.filter.is_empty(), &read)
            && !stored.as_ref().is_ok_and(|object| self.filter.matches(object))
        {
            return Ok(false);
        }
        let read = match (&self.protobuf, read) {
            (Some(encoder), Read::Object(stored)) => {
                let item = match self.form {
                    Form::Metadata(version) => partial(&stored.unwrap_or_else(|reason| self.objects.stub(entry, &reason)), version),
                    _ => self.objects.served(entry, stored)?,
                };
                return encoder.item(&item, out).map(|()| true);
            }
            (_, read) => read,
        };
        let with_type = self.call.resource.custom.is_some();
        if !self.is_sorted() {
            page.separate(self.is_yaml(), out);
        }
        let start = out.len();
        let mut precedence = None;
        match (&self.form, read) {
            (Form::Metadata(version), read) => {
                let reason = if let Read::Object(Err(reason)) = read { Some(reason) } else { None };
                self.objects.append_partial(entry, reason.as_ref(), &metadata, version, out);
            }
            (Form::Table(table), Read::Row(cells)) => table.append_row(&self.objects, entry, page.marked(cells), &metadata, out)?,
            (Form::Table(table), Read::Object(stored)) => {
                table.append_row(&self.objects, entry, page.marked(table.cells(&stored)), &metadata, out)?;
                precedence = stored.ok().and_then(|stored| stored["spec"]["matchingPrecedence"].as_i64());
            }
            (_, Read::Object(stored)) => self.objects.append_served(self.objects.served(entry, stored)?, with_type, out),
            (_, _) => self.objects.append(entry, with_type, out)?,
        }
        self.end_item(start, out)?;
        if self.is_sorted() {
            page.sort_in(precedence.unwrap_or(0), named.name, out.split_off(start));
            if page.sorted_bytes >= RUN {
                page.write_sorted(self.is_yaml(), out);
            }
        }
        Ok(true)
    }

    /// Makes what was written from `start` on, an item in JSON, what the list is written in.
    fn end_item(&self, start: usize, out: &mut Vec<u8>) -> Result<()> {
        if self.is_yaml() {
            let item: Value = serde_json::from_slice(&out[start..]).map_err(Status::internal)?;
            out.truncate(start);
            yaml::write_item(&item, out).map_err(Status::internal)?;
        }
        Ok(())
    }

    /// What marks one row of a page: which StorageClass is the default depends on the others, so the page is looked through once before.
    async fn default_class(&self) -> Result<Option<DefaultClass>> {
        let Form::Table(_) = &self.form else { return Ok(None) };
        let Some(mut default) = DefaultClass::of(&self.call.resource.kind, self.call.app.data.release()) else { return Ok(None) };
        let (source, limit) = (self.call.app.data.source(), self.call.params.limit);
        let listing = source.range(self.keys.clone(), At::Revision(self.revision), Want::Values).await;
        let (mut entries, mut seen) = (listing.map_err(|error| self.unreadable(&error))?.entries, 0);
        while let Some(entry) = entries.next().await {
            consume_budget().await;
            let entry = entry.map_err(|error| self.unreadable(&error))?;
            let Some(Ok(class)) = self.objects.name(&entry.key).map(|_| self.objects.stored(&entry)) else { continue };
            if !self.filter.is_empty() && !self.filter.matches(&class) {
                continue;
            }
            if limit > 0 && seen == limit {
                break;
            }
            seen += 1;
            default.see(&class);
        }
        Ok(Some(default))
    }

    fn is_yaml(&self) -> bool {
        self.call.accepted.encoding == Encoding::Yaml
    }

    /// Whether its metadata comes after its items: what a page of a list says of the next one is known only then. In YAML, whose members are sorted, that
    /// is its place in a list of objects.
    fn ends_with_metadata(&self) -> bool {
        self.call.params.limit > 0 || self.is_yaml() && !matches!(self.form, Form::Table(_))
    }

    /// How much of each object must be decoded before it can be written.
    fn decoded(&self) -> Decoded<'_> {
        match &self.form {
            _ if self.protobuf.is_some() => Decoded::Whole,
            Form::Table(table) if self.filter.is_of_metadata() => match table.fields() {
                Some(fields) if table.has_metadata() && self.filter.is_empty() => Decoded::Row(table, fields),
                Some(fields) => Decoded::Members(&fields.all),
                None => Decoded::Whole,
            },
            Form::Objects | Form::Metadata(_) if self.filter.is_empty() => Decoded::Nothing,
            _ => Decoded::Whole,
        }
    }

    /// Whether the rows are not in the order of their keys: the API server sorts FlowSchemas by precedence, then name.
    fn is_sorted(&self) -> bool {
        matches!(self.form, Form::Table(_)) && self.call.resource.kind.kind == "FlowSchema"
    }

    /// The text before the items.
    fn head(&self) -> Vec<u8> {
        if self.protobuf.is_some() {
            return Vec::new();
        }
        let (kind, api_version) = self.type_meta();
        if self.is_yaml() {
            let mut members = json!({"apiVersion": api_version});
            let Form::Table(table) = &self.form else { return yaml_before("items", &members) };
            members["columnDefinitions"] = table.definitions();
            members["kind"] = kind.into();
            if !self.ends_with_metadata() {
                members["metadata"] = self.metadata().into();
            }
            return yaml_before("rows", &members);
        }
        let items = if matches!(self.form, Form::Table(_)) { "rows" } else { "items" };
        let mut head = format!("{{\"kind\":{},\"apiVersion\":{}", json!(kind), json!(api_version)).into_bytes();
        if !self.ends_with_metadata() {
            head.extend(format!(",\"metadata\":{}", Value::from(self.metadata())).bytes());
        }
        if let Form::Table(table) = &self.form {
            head.extend(format!(",\"columnDefinitions\":{}", table.definitions()).bytes());
        }
        head.extend(format!(",\"{items}\":[").bytes());
        head
    }

    /// The list's kind and version.
    fn type_meta(&self) -> (String, String) {
        match &self.form {
            Form::Objects => (self.call.resource.list_kind(), self.call.resource.api_version()),
            Form::Metadata(version) => ("PartialObjectMetadataList".to_owned(), format!("meta.k8s.io/{version}")),
            Form::Table(table) => ("Table".to_owned(), table.api_version()),
        }
    }

    fn metadata(&self) -> Map<String, Value> {
        let mut metadata = Map::new();
        metadata.insert("resourceVersion".to_owned(), self.revision.to_string().into());
        if self.call.resource.custom.is_some() {
            metadata.insert("continue".to_owned(), "".into());
        }
        metadata
    }

    /// The text after the items.
    async fn tail(&self, page: &Page) -> Result<Vec<u8>> {
        let mut tail = b"]".to_vec();
        let mut metadata = self.metadata();
        if self.call.params.limit > 0 && page.has_more {
            let prefix = self.call.key_prefix().len();
            let last = String::from_utf8_lossy(page.last_key.get(prefix..).unwrap_or_default()).into_owned();
            metadata.insert("continue".to_owned(), Continuation::after(&last, self.revision).into());
            // With a selector, the number of remaining objects is not known.
            if self.filter.is_empty() {
                let left = self.call.app.count(self.keys.clone(), self.revision).await?.saturating_sub(page.keys);
                let next = [&page.last_key[..], &[0]].concat();
                self.call.app.set_count(next, self.revision, left);
                metadata.insert("remainingItemCount".to_owned(), left.into());
            }
        }
        if let Some(encoder) = &self.protobuf {
            return encoder.metadata(&metadata.into());
        }
        if self.is_yaml() {
            let mut tail = if page.written == 0 { b" []\n".to_vec() } else { Vec::new() };
            if self.ends_with_metadata() {
                let mut members = json!({"metadata": metadata});
                if !matches!(self.form, Form::Table(_)) {
                    members["kind"] = self.type_meta().0.into();
                }
                yaml::write(&members, &mut tail).map_err(Status::internal)?;
            }
            return Ok(tail);
        }
        if self.ends_with_metadata() {
            tail.extend(format!(",\"metadata\":{}", Value::from(metadata)).bytes());
        }
        tail.push(b'}');
        Ok(tail)
    }

    fn unreadable(&self, error: &ketcd_store::Error) -> Box<Status> {
        match (&self.continuation, error) {
            (Some(continuation), ketcd_store::Error::Compacted { .. }) => continuation.expired(),
            _ => Status::of_store(error, EXPIRED_LIST),
        }
    }
}

/// What was read and written of a list so far.
#[derive(Default)]
struct Page {
    items: u64,
    /// Items whose text is out; those that are to be sorted are not yet.
    written: u64,
    /// Keys read, those that were not wanted included.
    keys: u64,
    last_key: Bytes,
    has_more: bool,
    /// Rows that wait to be sorted, with what they are sorted by.
    sorted: Vec<(i64, String, Vec<u8>)>,
    sorted_bytes: usize,
    /// Which row is marked.
    default: Option<DefaultClass>,
}

impl Page {
    /// Writes what stands before the next item.
    fn separate(&mut self, is_yaml: bool, out: &mut Vec<u8>) {
        match (is_yaml, self.written) {
            (true, 0) => out.push(b'\n'),
            (true, _) | (false, 0) => {}
            (false, _) => out.push(b','),
        }
        self.written += 1;
    }

    /// The cells of a row, with the mark of a default.
    fn marked(&self, mut cells: RowCells) -> RowCells {
        let name = cells.as_mut().ok().and_then(|cells| cells.first_mut());
        if let Some(name) = name.filter(|name| self.default.as_ref().is_some_and(|default| default.is(name))) {
            name.push_str(DefaultClass::MARK);
        }
        cells
    }

    fn sort_in(&mut self, precedence: i64, name: &str, row: Vec<u8>) {
        self.sorted_bytes += row.len();
        self.sorted.push((precedence, name.to_owned(), row));
    }

    /// Writes the rows that wait.
    fn write_sorted(&mut self, is_yaml: bool, out: &mut Vec<u8>) {
        self.sorted_bytes = 0;
        let mut rows = std::mem::take(&mut self.sorted);
        rows.sort();
        for (_, _, row) in rows {
            self.separate(is_yaml, out);
            out.extend(row);
        }
    }
}

/// Members in YAML, and the name of the list that comes after them.
fn yaml_before(list: &str, members: &Value) -> Vec<u8> {
    let mut text = Vec::new();
    yaml::write(members, &mut text).expect("memory takes every byte");
    text.extend(format!("{list}:").bytes());
    text
}
