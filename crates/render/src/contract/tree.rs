//! The JSON of `tree`.

use schemars::JsonSchema;
use serde::Serialize;

use super::common::Time;
use ketcd_history::state::Tone;

/// What `tree` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Trees {
    /// `tree` of one object, and each line of `-o ndjson`: its uppermost owner, with those below it.
    TreeNode(TreeNode),
    /// `tree` of several objects.
    List(TreeList),
}

/// Trees, in the order of the objects asked for.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TreeList {
    /// The trees.
    pub items: Vec<TreeNode>,
    /// `List`.
    #[schemars(extend("const" = "List"))]
    pub kind: &'static str,
}

/// An object with the objects that it owns.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeNode {
    /// How its state should strike the reader.
    #[serde(skip)]
    pub tone: Tone,
    /// Whether the command was asked about this object.
    pub asked: bool,
    /// When it was created; null where it is not found, or does not say.
    pub created: Option<Time>,
    /// Whether it is stored; an owner that only a reference names is not.
    pub found: bool,
    /// The kind, such as `Pod`.
    #[schemars(extend("not" = {"const": "List"}))]
    pub kind: String,
    /// The name.
    pub name: String,
    /// The namespace; null where the kind has none.
    pub namespace: Option<String>,
    /// What it owns. Above the object asked about only the one that leads to it.
    pub owned: Vec<TreeNode>,
    /// How much of it is ready, such as `2/3`; empty where its kind knows no such thing.
    pub ready: String,
    /// Its status as tables show it; empty where its kind has none.
    pub status: String,
    /// The uid.
    pub uid: String,
}
