//! The JSON of `plugins`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::page::PluginRow;

/// What `plugins` prints.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Plugins<'a> {
    /// `plugins`: all of them.
    All(PluginList<'a>),
    /// `plugins NAME`: one of them.
    One(Plugin<'a>),
    /// `plugins NAME --scheduler-version VERSION`, where that release's defaults do not run it.
    None(()),
}

/// Plugins, predicates and priorities.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PluginList<'a> {
    /// `List`.
    #[schemars(extend("const" = "List"))]
    pub kind: &'static str,
    /// All of them.
    pub items: Vec<Plugin<'a>>,
}

/// A scheduler plugin, or one of the predicates and priorities before there were plugins.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Plugin<'a> {
    /// The releases whose defaults run it.
    pub defaults: Defaults,
    /// Its name.
    pub name: &'a str,
    /// What it checks, what it reads, how it changed over the releases. For people: the words are not part of the contract.
    pub page: &'a str,
    /// The page's first line.
    pub summary: &'a str,
}

/// The releases whose defaults run a plugin, such as `1.28`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Defaults {
    /// As a filter (before 1.15: as a predicate).
    pub filters: Vec<String>,
    /// As a score (before 1.15: as a priority).
    pub scores: Vec<String>,
}

impl From<&PluginRow> for Plugin<'static> {
    fn from(row: &PluginRow) -> Self {
        let releases = |minors: &[u16]| minors.iter().map(|minor| format!("1.{minor}")).collect();
        Self {
            defaults: Defaults { filters: releases(row.filters()), scores: releases(row.scores()) },
            name: row.name(),
            page: row.page(),
            summary: row.summary(),
        }
    }
}
