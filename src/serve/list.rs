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

use super::accept::{Encoding, Shape};
use super::app::{After, Moment};
use super::call::{Call, Filter, respond};
use super::continuation::{Continuation, EXPIRED_LIST};
use super::objects::{Objects, partial};
use super::params::Match;
use super::protobuf::ListEncoder;
use super::status::{Result, Status};
use super::table::Table;

/// The text that is gathered before it is sent.
const CHUNK: usize = 1 << 18;

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
enum Decoded {
    /// It is written from its bytes.
    Nothing,
    Members(&'static FieldSet),
    /// These members, and the text of its metadata.
    Row(&'static FieldSet),
    Whole,
}

/// Answers a list.
pub(super) async fn list(call: Call) -> Result<Response> {
    let encoding = call.accepted.encoding;
    let list = Arc::new(List::new(call).await?);
    if let Some(encoder) = &list.protobuf {
        return encoder.respond(Arc::clone(&list).chunks()).await;
    }
    let mut chunks = Box::pin(list.chunks());
    // What fails before the first text can still be said.
    let first = chunks.next().await.unwrap_or_else(|| Err(Status::internal("an empty answer")))?;
    let all = futures_util::stream::once(std::future::ready(Ok(first))).chain(chunks);
    if encoding == Encoding::Yaml {
        let text: Vec<Bytes> = futures_util::TryStreamExt::try_collect(all).await?;
        let value: Value = serde_json::from_slice(&text.concat()).map_err(Status::internal)?;
        return respond(encoding, &value);
    }
    let body = Body::from_stream(all.map(|chunk| chunk.map_err(|status| std::io::Error::other(status.to_json().to_string()))));
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
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
                Form::Table(Box::new(Table::new(&call.resource, params.include, version, call.app.time_of(moment).await?)))
            }
            Shape::Discovery(_) => return Err(Status::not_acceptable("a list of objects is no list of groups")),
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
    fn chunks(self: Arc<Self>) -> impl Stream<Item = Result<Bytes>> + Send {
        stream! {
            let limit = self.call.params.limit;
            let source = self.call.app.data.source();
            let mut entries = match source.range(self.keys.clone(), At::Revision(self.revision), Want::Values).await {
                Ok(listing) => listing.entries,
                Err(error) => return yield Err(self.unreadable(&error)),
            };
            let mut page = Page::default();
            let mut out = self.head();
            while let Some(entry) = entries.next().await {
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
            page.write_sorted(&mut out);
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
        let stored = match self.decoded() {
            Decoded::Nothing => None,
            Decoded::Members(fields) => Some(self.objects.stored_part(entry, fields)),
            Decoded::Row(fields) => {
                metadata.reserve(entry.value.len());
                Some(self.objects.stored_part_with_metadata(entry, fields, &mut metadata))
            }
            Decoded::Whole => Some(self.objects.stored(entry)),
        };
        if let (false, Some(stored)) = (self.filter.is_empty(), &stored)
            && !stored.as_ref().is_ok_and(|object| self.filter.matches(object))
        {
            return Ok(false);
        }
        let stored = match (&self.protobuf, stored) {
            (Some(encoder), Some(stored)) => {
                let item = match self.form {
                    Form::Metadata(version) => partial(&stored.unwrap_or_else(|reason| self.objects.stub(entry, &reason)), version),
                    _ => self.objects.served(entry, stored)?,
                };
                return encoder.item(&item, out).map(|()| true);
            }
            (_, stored) => stored,
        };
        let (start, with_type) = (out.len(), self.call.resource.custom.is_some());
        if page.items > 0 && !self.is_sorted() {
            out.push(b',');
        }
        match (&self.form, stored) {
            (Form::Metadata(version), stored) => {
                self.objects.append_partial(entry, stored.and_then(Result::err).as_ref(), &metadata, version, out);
            }
            (Form::Table(table), Some(stored)) => {
                table.append_row(&self.objects, entry, &stored, &metadata, out)?;
                if self.is_sorted() {
                    let precedence = stored.ok().and_then(|stored| stored["spec"]["matchingPrecedence"].as_i64()).unwrap_or(0);
                    page.sorted.push((precedence, named.name.to_owned(), out.split_off(start)));
                }
            }
            (_, Some(stored)) => self.objects.append_served(self.objects.served(entry, stored)?, with_type, out),
            (_, None) => self.objects.append(entry, with_type, out)?,
        }
        Ok(true)
    }

    /// How much of each object must be decoded before it can be written.
    fn decoded(&self) -> Decoded {
        match &self.form {
            _ if self.protobuf.is_some() => Decoded::Whole,
            Form::Table(table) if self.filter.is_of_metadata() => match table.fields() {
                Some(fields) if table.has_metadata() && self.filter.is_empty() => Decoded::Row(&fields.cells),
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

    /// The text before the items. What a page of a list says of the next one is known only after its items, so its metadata comes last.
    fn head(&self) -> Vec<u8> {
        if self.protobuf.is_some() {
            return Vec::new();
        }
        let (kind, api_version) = self.type_meta();
        let items = if matches!(self.form, Form::Table(_)) { "rows" } else { "items" };
        let mut head = format!("{{\"kind\":{},\"apiVersion\":{}", json!(kind), json!(api_version)).into_bytes();
        if self.call.params.limit == 0 {
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
            // Of objects that a selector picks nobody knows how many are left.
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
        if self.call.params.limit > 0 {
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

/// What was written of a list so far.
#[derive(Default)]
struct Page {
    items: u64,
    /// Keys read, those that were not wanted included.
    keys: u64,
    last_key: Bytes,
    has_more: bool,
    /// Rows that are written when all are there, with what they are sorted by.
    sorted: Vec<(i64, String, Vec<u8>)>,
}

impl Page {
    fn write_sorted(&mut self, out: &mut Vec<u8>) {
        self.sorted.sort();
        let rows: Vec<&[u8]> = self.sorted.iter().map(|(_, _, row)| row.as_slice()).collect();
        out.extend(rows.join(&b","[..]));
    }
}
