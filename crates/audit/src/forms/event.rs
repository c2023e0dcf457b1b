//! Events as API servers write them: `audit.k8s.io/v1`, and `v1beta1`, whose members are the same (k8s.io/apiserver pkg/apis/audit).

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Record;
use crate::names::Names;
use crate::request::{Bodies, Level, Request, RequestTarget, Verb, revision};

/// The members of an event that are read.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Event<'a> {
    #[serde(borrow, rename = "auditID")]
    pub audit_id: Cow<'a, str>,
    #[serde(borrow)]
    pub level: Cow<'a, str>,
    #[serde(borrow)]
    pub stage: Cow<'a, str>,
    #[serde(borrow, rename = "requestURI")]
    pub request_uri: Cow<'a, str>,
    #[serde(borrow)]
    pub verb: Cow<'a, str>,
    #[serde(borrow)]
    pub user: User<'a>,
    #[serde(borrow)]
    pub impersonated_user: Option<User<'a>>,
    #[serde(borrow, rename = "sourceIPs")]
    pub source_ips: Option<Vec<Cow<'a, str>>>,
    #[serde(borrow)]
    pub user_agent: Cow<'a, str>,
    #[serde(borrow)]
    pub object_ref: Option<ObjectRef<'a>>,
    pub response_status: Option<Status>,
    #[serde(borrow)]
    pub request_object: Option<&'a RawValue>,
    #[serde(borrow)]
    pub response_object: Option<&'a RawValue>,
    pub request_received_timestamp: Option<Timestamp>,
    /// The only time in early logs of `v1beta1`.
    pub timestamp: Option<Timestamp>,
    pub stage_timestamp: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct User<'a> {
    #[serde(borrow)]
    pub username: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ObjectRef<'a> {
    #[serde(borrow)]
    pub resource: Cow<'a, str>,
    #[serde(borrow)]
    pub namespace: Cow<'a, str>,
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    #[serde(borrow)]
    pub uid: Cow<'a, str>,
    #[serde(borrow)]
    pub api_group: Cow<'a, str>,
    #[serde(borrow)]
    pub api_version: Cow<'a, str>,
    #[serde(borrow)]
    pub resource_version: Cow<'a, str>,
    #[serde(borrow)]
    pub subresource: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    pub code: u16,
    /// Why a request was refused.
    pub reason: String,
    /// `Success` or `Failure`, where the answer is a `Status`: at every level of the policy.
    pub status: String,
}

/// What is read of the body of a request or an answer.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Object<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    details: Option<Details<'a>>,
    #[serde(borrow)]
    items: Option<Vec<Item<'a>>>,
    #[serde(borrow)]
    dry_run: Option<Vec<Cow<'a, str>>>,
    /// The HTTP status, in a `Status`.
    code: u16,
    /// Why a request was refused, in a `Status`.
    #[serde(borrow)]
    reason: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    uid: Cow<'a, str>,
    #[serde(borrow)]
    resource_version: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details<'a> {
    #[serde(borrow)]
    uid: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Item<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
}

/// Reads an event; `None` if the record is not one.
///
/// # Errors
/// The record is not JSON, or its members are of other types.
pub(super) fn read(record: &[u8], names: &mut Names) -> serde_json::Result<Option<Record>> {
    let event: Event<'_> = serde_json::from_slice(record)?;
    let is_event = !event.stage.is_empty() && !event.verb.is_empty() && !event.level.is_empty();
    Ok(is_event.then(|| record_of(&event, names)))
}

pub(super) fn record_of(event: &Event<'_>, names: &mut Names) -> Record {
    // An event of a request that was received or goes on says nothing of its result, and `Panic` means that there is none.
    let is_open = names.keeps_open && event.stage == "ResponseStarted";
    if event.stage != "ResponseComplete" && !is_open {
        return Record::Other;
    }
    let Some(completed) = event.stage_timestamp.or(event.request_received_timestamp).or(event.timestamp) else {
        return Record::Unknown("has no time".to_owned());
    };
    let received = event.request_received_timestamp.unwrap_or(completed).min(completed);
    let doubt = if event.request_received_timestamp.is_some() && event.stage_timestamp.is_some() { 0 } else { ONE_TIME };
    let request = request(event, (received, completed, SignedDuration::from_millis(doubt)), names);
    Record::Request(Box::new(Request { is_open, ..request }))
}

/// How far the moment of a change may be from the one time that a log holds of its request, in milliseconds.
pub(super) const ONE_TIME: i64 = 2000;

fn request(event: &Event<'_>, (received, completed, doubt): (Timestamp, Timestamp, SignedDuration), names: &mut Names) -> Request {
    let verb = Verb::parse(&event.verb);
    let is_refused = event.response_status.as_ref().is_some_and(|status| status.code >= 400);
    let (asked, answer) = match verb.writes() {
        true => (body(event.request_object), body(event.response_object)),
        // A list may be long, what is answered to a refused one is not.
        false => (None, event.response_object.filter(|_| is_refused).and_then(|answer| body(Some(answer)))),
    };
    let reference = event.object_ref.as_ref();
    let of_ref = |field: fn(&ObjectRef<'_>) -> String| reference.map(field).unwrap_or_default();
    let query = Query::of(&event.request_uri);
    let (impersonator, user) = match &event.impersonated_user {
        Some(acted_as) if !acted_as.username.is_empty() => (Some(names.of(&event.user.username)), names.of(&acted_as.username)),
        _ => (None, names.of(&event.user.username)),
    };
    let named = answer.as_ref().and_then(stored_version);
    let name = match (of_ref(|reference| reference.name.to_string()), &named) {
        (name, Some((_, answered))) if name.is_empty() => answered.clone(),
        (name, _) => name,
    };
    let resource = of_ref(|reference| reference.resource.to_string());
    // The API server's own reference of a namespace names it twice.
    let namespace = if resource == "namespaces" { String::new() } else { of_ref(|reference| reference.namespace.to_string()) };
    Request {
        audit_id: event.audit_id.as_ref().into(),
        verb,
        impersonator,
        user_agent: names.of(&event.user_agent),
        source_ips: event.source_ips.iter().flatten().map(|address| names.of(address)).collect(),
        target: RequestTarget {
            group: names.of(&of_ref(|reference| reference.api_group.to_string())),
            version: names.of(&of_ref(|reference| reference.api_version.to_string())),
            resource: names.of(&resource),
            namespace: names.of(&namespace),
            name: name.into(),
            subresource: names.of(&of_ref(|reference| reference.subresource.to_string())),
        },
        received,
        completed,
        doubt,
        is_open: false,
        code: code(event, answer.as_ref()),
        reason: reason(event, answer.as_ref()).map(|reason| names.of(reason)),
        dry_run: query.dry_run || is_dry_run(asked.as_ref()) || is_never_stored(reference, verb, answer.as_ref()),
        manager: manager(event, &query).map(|manager| names.of(&manager)),
        level: level(&event.level),
        names_revision: named.map(|(revision, _)| revision),
        based_on: based_on(verb, reference, asked.as_ref()),
        uid: uid(reference, answer.as_ref()),
        answers_status: is_status(event, answer.as_ref()),
        selects: query.selects,
        bodies: names.keeps_bodies.then(|| bodies(event)),
        deleted: answer.filter(|_| verb == Verb::DeleteCollection).and_then(|answer| deleted(&answer)),
        user,
    }
}

/// The HTTP status, of the answer's body where the log has no other.
fn code(event: &Event<'_>, answer: Option<&Object<'_>>) -> u16 {
    let of_log = event.response_status.as_ref().map_or(0, |status| status.code);
    let refused = answer.filter(|answer| of_log == 0 && answer.kind == "Status" && answer.code >= 400);
    refused.map_or(of_log, |answer| answer.code)
}

fn is_dry_run(asked: Option<&Object<'_>>) -> bool {
    asked.is_some_and(|asked| asked.dry_run.iter().flatten().any(|word| !word.is_empty()))
}

/// Whether an object was answered that etcd gave no revision: that of a dry run, where a log such as Google's leaves out the URI that says so.
fn is_never_stored(reference: Option<&ObjectRef<'_>>, verb: Verb, answer: Option<&Object<'_>>) -> bool {
    let is_of_object = verb == Verb::Create && reference.is_some_and(|reference| reference.subresource.is_empty());
    let object = answer.filter(|answer| is_of_object && answer.kind != "Status" && answer.items.is_none());
    object
        .and_then(|object| object.metadata.as_ref())
        .is_some_and(|metadata| !metadata.uid.is_empty() && metadata.resource_version.is_empty())
}

/// Why it was refused, by the log or by the answer's body.
fn reason<'e>(event: &'e Event<'_>, answer: Option<&'e Object<'_>>) -> Option<&'e str> {
    let of_log = event.response_status.as_ref().map(|status| status.reason.as_str()).filter(|reason| !reason.is_empty());
    let of_answer = || answer.filter(|answer| answer.kind == "Status").map(|answer| &*answer.reason).filter(|reason| !reason.is_empty());
    of_log.or_else(of_answer)
}

fn is_status(event: &Event<'_>, answer: Option<&Object<'_>>) -> bool {
    event.response_status.as_ref().is_some_and(|status| !status.status.is_empty()) || answer.is_some_and(|answer| answer.kind == "Status")
}

fn bodies(event: &Event<'_>) -> Box<Bodies> {
    let text = |body: Option<&RawValue>| Some(body?.get()).filter(|text| text.starts_with(['{', '['])).map(Into::into);
    Box::new(Bodies { sent: text(event.request_object), answered: text(event.response_object) })
}

/// The field manager; `None` where the log leaves out what names it, as early ones do the user agent.
fn manager<'q>(event: &Event<'_>, query: &'q Query) -> Option<Cow<'q, str>> {
    let of_agent = || (!event.request_uri.is_empty() && !event.user_agent.is_empty()).then(|| manager_of(&event.user_agent).into());
    query.manager.as_deref().map(Cow::Borrowed).or_else(of_agent)
}

/// The first part of the user agent, as the API server makes a field manager of it (k8s.io/apiserver pkg/endpoints/handlers/create.go,
/// `prefixFromUserAgent`).
fn manager_of(user_agent: &str) -> String {
    const MAX_MANAGER_BYTES: usize = 128;
    let first = user_agent.split('/').next().unwrap_or_default();
    first.chars().take(MAX_MANAGER_BYTES).take_while(|letter| !letter.is_control()).collect()
}

fn level(word: &str) -> Level {
    match word {
        "RequestResponse" => Level::RequestResponse,
        "Request" => Level::Request,
        _ => Level::Metadata,
    }
}

/// A body, where the log holds one: Azure puts a sentence in the place of what is too long.
fn body(object: Option<&RawValue>) -> Option<Object<'_>> {
    let text = object?.get();
    if text.starts_with('{') { serde_json::from_str(text).ok() } else { None }
}

/// The revision that an answer of one object names, and the object's name.
fn stored_version(answer: &Object<'_>) -> Option<(i64, String)> {
    let metadata = answer.metadata.as_ref().filter(|_| answer.kind != "Status" && answer.items.is_none())?;
    Some((revision(&metadata.resource_version)?, metadata.name.to_string()))
}

/// The revision that a change was based on: the API server takes it from the body into the event's reference, and refuses the request if the object has
/// another one.
fn based_on(verb: Verb, reference: Option<&ObjectRef<'_>>, asked: Option<&Object<'_>>) -> Option<i64> {
    let from_body = || revision(&asked?.metadata.as_ref()?.resource_version);
    match verb {
        Verb::Update => reference.and_then(|reference| revision(&reference.resource_version)).or_else(from_body),
        Verb::Patch => from_body(),
        _ => None,
    }
}

/// The identifier of the object: of the reference, or of what the answer says was deleted or stored.
fn uid(reference: Option<&ObjectRef<'_>>, answer: Option<&Object<'_>>) -> Option<Box<str>> {
    let of_answer = |answer: &Object<'_>| {
        let details = answer.details.as_ref().map(|details| details.uid.to_string());
        let stored = answer.metadata.as_ref().filter(|_| answer.kind != "Status" && answer.items.is_none());
        details.or_else(|| stored.map(|stored| stored.uid.to_string()))
    };
    let found = answer.and_then(of_answer).filter(|uid| !uid.is_empty());
    found.or_else(|| reference.map(|reference| reference.uid.to_string())).filter(|uid| !uid.is_empty()).map(Into::into)
}

fn deleted(answer: &Object<'_>) -> Option<Box<[Box<str>]>> {
    Some(answer.items.as_ref()?.iter().map(|item| item.metadata.name.as_ref().into()).collect())
}

/// What a URI asks for in its query.
#[derive(Default)]
struct Query {
    dry_run: bool,
    manager: Option<String>,
    selects: bool,
}

impl Query {
    fn of(uri: &str) -> Self {
        let mut found = Self::default();
        let Some((_, query)) = uri.split_once('?') else { return found };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "dryRun" => found.dry_run |= !value.is_empty(),
                "labelSelector" | "fieldSelector" => found.selects |= !value.is_empty(),
                "fieldManager" if !value.is_empty() => found.manager = Some(value.into_owned()),
                _ => {}
            }
        }
        found
    }
}
