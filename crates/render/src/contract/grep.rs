//! The JSON of `grep`.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::common::{ActorFrom, Time};
use super::request::ChangeRequest;
use super::window::HistoryWindow;
use ketcd_cluster::grep;

/// What `grep` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Greps<'a> {
    /// `-o json`: all that was found.
    Found(Found<'a>),
    /// Each line of `-o ndjson`: a value.
    Match(Match<'a>),
    /// The same with `-l`: an object.
    Object(MatchedObject<'a>),
    /// With `--count`.
    Count(Count<'a>),
}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Found<'a> {
    /// The values or, with `-l`, the objects, in the order of their keys.
    pub items: Vec<Item<'a>>,
    /// `List`.
    #[schemars(extend("const" = "List"))]
    pub kind: &'static str,
    /// What was not searched, as more was found than is held at once; absent where everything was.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub left_out: &'a [LeftOutOfSearch],
    /// What was searched.
    pub searched: SearchedHistory,
    /// The stretch of history that was asked for; absent where neither end was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<HistoryWindow>,
}

/// An item of what was found.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Item<'a> {
    /// A value.
    Match(Match<'a>),
    /// With `-l`: an object.
    Object(MatchedObject<'a>),
}

/// How much was found.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Count<'a> {
    /// What was not searched, as more was found than is held at once; absent where everything was.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub left_out: &'a [LeftOutOfSearch],
    /// The values, each once for every stretch of revisions.
    pub matches: usize,
    /// The objects that hold or held them.
    pub objects: usize,
    /// What was searched.
    pub searched: SearchedHistory,
}

/// What was searched.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SearchedHistory {
    /// The first revision of which versions count.
    pub from: i64,
    /// The last revision.
    pub to: i64,
    /// How many versions of objects were read.
    pub versions: u64,
}

/// Something that was not searched.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOutOfSearch {
    /// The last revision of the object that was searched; null where nothing of it was.
    pub after: Option<i64>,
    /// Whether nothing was searched of the keys behind it either.
    pub and_following: bool,
    /// etcd's key of the object.
    pub key: String,
}

/// An object in which something was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MatchedObject<'a> {
    /// The revision that deleted it; null where it is there, and where its end cannot be read.
    pub deleted: Option<i64>,
    /// etcd's key.
    pub key: Cow<'a, str>,
    /// The object's kind, such as `Pod`; its resource, such as `crontabs.stable.example.com`, where the definition is not stored; empty where the
    /// key belongs to no object.
    pub kind: &'a str,
    /// How many values were found in it.
    pub matches: usize,
    /// The object's name; empty where the key belongs to no object.
    pub name: &'a str,
    /// The object's namespace; empty where the kind has none.
    pub namespace: &'a str,
}

/// A value that an object holds or held through a stretch of revisions.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Match<'a> {
    /// Who set it; null where the data does not show it, and where it may have been there before `from`.
    pub by: Option<String>,
    /// How that is known; null where the data does not show who set it.
    pub by_from: Option<ActorFrom>,
    /// The first revision at which it is known to have been there.
    pub from: i64,
    /// The kind of place where it was found.
    #[serde(rename = "in")]
    pub place: Place,
    /// True where `from` is only about the revision that etcd has, as an audit log alone does not name it; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_placed: bool,
    /// etcd's key.
    pub key: Cow<'a, str>,
    /// The object's kind, such as `Pod`; its resource, such as `crontabs.stable.example.com`, where the definition is not stored; empty where the
    /// key belongs to no object.
    pub kind: &'a str,
    /// True where it may have been there before `from`, as the version before cannot be read; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub may_begin_earlier: bool,
    /// True where it may have been there after `to`, as the version after it cannot be read; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub may_end_later: bool,
    /// The object's name; empty where the key belongs to no object.
    pub name: &'a str,
    /// The object's namespace; empty where the kind has none.
    pub namespace: &'a str,
    /// Where in the object: `spec.containers[main].image`, with list items by the key that Kubernetes gives them. For people: a name may hold a dot.
    pub path: &'a str,
    /// The request of the audit logs that set it, and how that is known; absent where no log says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<ChangeRequest<'a>>>,
    /// Whether it is still there at the last revision that was searched.
    pub still: bool,
    /// When it was set; null where nothing in the data dates the revision, and where it may have been there before.
    pub time: Option<Time>,
    /// How far `time` may be off, in seconds; null where it is.
    pub time_error_seconds: Option<f64>,
    /// The last revision at which it is known to have been there.
    pub to: i64,
    /// True where the audit logs hold the requests that make such changes, and none that set it; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unexplained: bool,
    /// The value: a text, a number or a boolean. In `keys` the name of the member.
    pub value: &'a Value,
}

/// A kind of place in an object.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// The object's name and namespace.
    Names,
    /// Values that are neither of the others.
    Values,
    /// Names of members: fields, labels, annotations, keys of a ConfigMap or a Secret.
    Keys,
    /// Field managers.
    Managers,
    /// Messages of conditions, container states and Events.
    Messages,
}

mirrored!(grep::Place => Place: Names, Values, Keys, Managers, Messages);

impl From<grep::Searched> for SearchedHistory {
    fn from(searched: grep::Searched) -> Self {
        Self { from: searched.from.0, to: searched.to.0, versions: searched.versions }
    }
}

impl From<&grep::SearchLeftOut> for LeftOutOfSearch {
    fn from(left_out: &grep::SearchLeftOut) -> Self {
        let (key, after) = match left_out {
            grep::SearchLeftOut::Keys { from } => (from, None),
            grep::SearchLeftOut::Versions { key, after } => (key, Some(after.0)),
        };
        Self { after, and_following: after.is_none(), key: String::from_utf8_lossy(key).into_owned() }
    }
}

impl<'a> From<&'a grep::FoundObject> for MatchedObject<'a> {
    fn from(object: &'a grep::FoundObject) -> Self {
        Self {
            deleted: object.deleted.map(|revision| revision.0),
            key: String::from_utf8_lossy(&object.key),
            kind: &object.subject.kind,
            matches: object.spans.len(),
            name: &object.subject.name,
            namespace: &object.subject.namespace,
        }
    }
}

impl<'a> Match<'a> {
    /// One value as a document.
    pub fn new(object: &'a grep::FoundObject, span: &'a grep::ValueSpan) -> Self {
        let setter = span.setter();
        let (request, unexplained) = ChangeRequest::of(setter.and_then(|setter| setter.request.as_ref()));
        let (by, dated) = (setter.and_then(|setter| setter.by.as_ref()), setter.and_then(|setter| setter.dated));
        Self {
            by: by.map(ToString::to_string),
            by_from: ActorFrom::of(by),
            from: span.from.0,
            place: span.hit.place.into(),
            is_placed: setter.is_some_and(|setter| setter.is_placed),
            key: String::from_utf8_lossy(&object.key),
            kind: &object.subject.kind,
            may_begin_earlier: span.may_begin_earlier,
            may_end_later: span.end == grep::SpanEnd::Unknown,
            name: &object.subject.name,
            namespace: &object.subject.namespace,
            path: &span.hit.path,
            request,
            still: span.end == grep::SpanEnd::Still,
            time: Time::of(dated),
            time_error_seconds: dated.map(|dated| dated.error),
            to: span.to.0,
            unexplained,
            value: &span.hit.value,
        }
    }
}
