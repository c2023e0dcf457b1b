//! `/ui/api/findings`: what is wrong at the cursor.

use schemars::JsonSchema;
use serde::Serialize;

use super::super::triage::Triage;
use super::named::{PageMoment, PageName};

/// What is wrong at the cursor.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageFindings<'a> {
    /// The command that prints it.
    pub command: String,
    /// How many more findings there are.
    #[serde(rename = "findingsLeft")]
    pub findings_left: usize,
    /// The cursor.
    pub moment: PageMoment,
    /// Where the findings are, by their ids.
    pub places: std::collections::BTreeMap<String, PagePlace>,
    /// What `triage -o json` prints of the weightiest 200 findings, with their causes: at most 12 objects, messages and effects of each, and
    /// neither `troubles` nor `changes`.
    pub triage: Triage<'a>,
}

/// Where a finding is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PagePlace {
    /// How many objects it has.
    pub count: usize,
    /// Since when, in milliseconds since 1970; null where the data do not show it.
    pub from: Option<i64>,
    /// Its objects, at most 50.
    pub objects: Vec<PageName>,
    /// The cursor's time, or null where it lasts at the end of the data.
    pub to: Option<i64>,
    /// What became of it by the newest revision: `lasts` or `over`.
    pub turned_out: &'static str,
}
