//! The JSON of `diff`.

use std::borrow::Cow;

use json_patch::Patch;
use schemars::JsonSchema;
use serde::Serialize;

use super::change::ChangeType;
use super::common::{KubernetesObject, PatchOperation};
use super::spec_diff::{SpecDifference, SpecDifferences};
use super::window::HistoryWindow;

/// What `diff` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Diff<'a> {
    /// `-o json`: all differences.
    Differences(Differences<'a>),
    /// Each line of `-o ndjson`: a difference.
    Difference(Difference<'a>),
    /// `--members -o json`: whether members hold the same.
    Members(Members<'a>),
    /// `--spec -o json`: all differences in what objects are meant to be.
    SpecDifferences(SpecDifferences<'a>),
    /// Each line of `--spec -o ndjson`: such a difference.
    SpecDifference(SpecDifference<'a>),
}

/// Whether members of a cluster hold the same at one revision.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Members<'a> {
    /// `Members`.
    #[schemars(extend("const" = "Members"))]
    pub kind: &'static str,
    /// Whether they do.
    pub agree: bool,
    /// The member that differs from all others, which agree, in every key that differs; null if there is none.
    pub alone: Option<&'a str>,
    /// The keys that differ, ascending.
    pub differences: Vec<MemberDifference<'a>>,
    /// How many keys there are, in one of them at least.
    pub keys: u64,
    /// The members, in the order in which they were named.
    pub members: Vec<ComparedMember<'a>>,
    /// The revision at which they were compared.
    pub revision: i64,
}

/// A member of a cluster, or a file of one.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComparedMember<'a> {
    /// Its endpoint, or its file.
    pub name: &'a str,
    /// Its newest revision.
    pub newest: i64,
    /// The oldest revision whose whole state is readable.
    pub oldest_readable: i64,
}

/// A key that is not the same in all members.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemberDifference<'a> {
    /// etcd's key.
    pub key: &'a str,
    /// The object's kind, such as `Pod`; its resource, such as `crontabs.stable.example.com`, where the definition is not stored; empty where the
    /// key belongs to no object.
    pub kind: &'a str,
    /// The object's namespace; empty where the kind has none.
    pub namespace: &'a str,
    /// The object's name; empty where the key belongs to no object.
    pub name: &'a str,
    /// What the members have of it, what most of them have first.
    pub versions: Vec<HeldVersion<'a>>,
}

/// What some members have of a key.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldVersion<'a> {
    /// The members.
    pub members: Vec<&'a str>,
    /// The revision that wrote it; null where they do not have the key.
    pub mod_revision: Option<i64>,
    /// The SHA-256 of the stored value in hexadecimal; null where they do not have the key.
    pub sha256: Option<String>,
    /// etcd's number of the version; null where they do not have the key.
    pub version: Option<i64>,
}

/// All differences of two states.
#[derive(Debug, JsonSchema)]
pub struct Differences<'a> {
    /// `List`.
    #[schemars(extend("const" = "List"))]
    pub kind: &'static str,
    /// The two states: the first is `since`, the second `until`.
    pub window: HistoryWindow,
    /// The differences, in the order of the keys.
    pub items: Vec<Difference<'a>>,
}

/// A key that differs between two states.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Difference<'a> {
    /// What makes the second state of the first.
    #[serde(rename = "type")]
    pub kind: ChangeType,
    /// etcd's key.
    pub key: Cow<'a, str>,
    /// The object's kind, such as `Pod`; its resource, such as `crontabs.stable.example.com`, where the definition is not stored; empty where the
    /// key belongs to no object.
    #[serde(rename = "kind")]
    pub object_kind: &'a str,
    /// The object's namespace; empty where the kind has none.
    pub namespace: &'a str,
    /// The object's name; empty where the key belongs to no object.
    pub name: &'a str,
    /// The revision of the key's last change in the second state or, where it is gone, in the first.
    pub revision: i64,
    /// Why a value cannot be decoded; absent where both can. For people: the words are not part of the contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    /// The object of the second state; null where it is gone or cannot be decoded.
    pub object: Option<KubernetesObject<'a>>,
    /// A JSON Patch (RFC 6902) from the first state's object to the second's; null where either is missing or cannot be decoded.
    #[schemars(with = "Option<Vec<PatchOperation>>")]
    pub patch: Option<Patch>,
}
