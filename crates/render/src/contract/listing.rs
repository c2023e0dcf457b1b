//! The JSON of `ls`, `get` and `events`.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::common::KubernetesObject;
use super::window::HistoryWindow;
use super::with_config::PodWithConfig;
use ketcd_cluster::kinds::KeySubject;
use ketcd_kube::Opaque;

/// What `ls` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Ls<'a> {
    /// `ls KIND -o json`: the objects.
    List(List<'a>),
    /// `ls KIND/NAME -o json`, and each line of `ls KIND -o ndjson`: an object.
    Object(KubernetesObject<'a>),
    /// In place of an object that cannot be decoded, in the same outputs.
    Undecodable(Undecodable<'a>),
    /// `ls -o json`: the kinds that are stored.
    Kinds(KindCounts<'a>),
    /// Each line of `ls -o ndjson`: a kind.
    Kind(KindCount<'a>),
}

/// What `get` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Get<'a> {
    /// `get` of several objects: a list of them.
    List(List<'a>),
    /// `get` of one object, and each line of `-o ndjson`: an object.
    Object(KubernetesObject<'a>),
    /// In place of an object that cannot be decoded, in the same outputs.
    Undecodable(Undecodable<'a>),
    /// `get --with-config`: a pod with its configuration.
    PodWithConfig(PodWithConfig<'a>),
}

/// What `events` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Events<'a> {
    /// `-o json`: a list of Events, oldest first.
    List(EventList<'a>),
    /// Each line of `-o ndjson`: an Event.
    Object(KubernetesObject<'a>),
}

/// Objects, as kubectl prints several: a `v1` `List`. What cannot be decoded is left out and reported on standard error.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct List<'a> {
    /// `v1`.
    #[schemars(extend("const" = "v1"))]
    pub api_version: &'a str,
    /// The objects.
    pub items: Vec<KubernetesObject<'a>>,
    /// `List`.
    #[schemars(extend("const" = "List"))]
    pub kind: &'a str,
    /// The list's metadata.
    pub metadata: ListMetadata<'a>,
}

/// Events, as kubectl prints several objects: a `v1` `List`. What cannot be decoded is left out and reported on standard error.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventList<'a> {
    /// The Events.
    #[serde(flatten)]
    pub list: List<'a>,
    /// The stretch of history that was asked for; absent where neither end was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<HistoryWindow>,
}

/// A list's metadata.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListMetadata<'a> {
    /// Empty, as kubectl prints it.
    #[schemars(extend("const" = ""))]
    pub resource_version: &'a str,
}

/// A stored value that cannot be decoded.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Undecodable<'a> {
    /// etcd's key.
    pub key: Cow<'a, str>,
    /// The object's kind, such as `Pod`; its resource, such as `crontabs.stable.example.com`, where the definition is not stored; empty where the
    /// key belongs to no object.
    pub kind: String,
    /// The object's namespace; empty where the kind has none.
    pub namespace: String,
    /// The object's name; empty where the key belongs to no object.
    pub name: String,
    /// The revision of its last change.
    pub mod_revision: i64,
    /// Why it cannot be decoded.
    pub opaque: Reason<'a>,
}

/// Why a value cannot be decoded.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Reason<'a> {
    /// Whether such values belong there, as counters and IP allocations do; then nothing is damaged.
    pub expected: bool,
    /// The value's length in bytes.
    pub length: usize,
    /// The reason. For people: the words are not part of the contract.
    pub reason: &'a str,
}

/// The kinds that are stored.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KindCounts<'a> {
    /// `List`.
    #[schemars(extend("const" = "List"))]
    pub kind: &'static str,
    /// The kinds, the one with the most bytes first.
    pub items: Vec<KindCount<'a>>,
}

/// The objects of one kind.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KindCount<'a> {
    /// The bytes of their values.
    pub bytes: u64,
    /// The kind; null where it is not known, and for keys that belong to no resource.
    pub kind: Option<&'a str>,
    /// How many there are.
    pub objects: u64,
    /// The resource with its group, such as `deployments.apps`; in parentheses for keys that belong to no resource.
    pub resource: &'a str,
}

impl<'a> Undecodable<'a> {
    /// What stands in place of the object of a key that cannot be decoded.
    pub fn new(key: &'a [u8], subject: KeySubject, mod_revision: i64, opaque: &'a Opaque) -> Self {
        let opaque = Reason { expected: opaque.expected, length: opaque.length, reason: &opaque.reason };
        let KeySubject { kind, namespace, name } = subject;
        Self { key: String::from_utf8_lossy(key), kind, namespace, name, mod_revision, opaque }
    }
}
