//! The JSON of `bundle`.

use schemars::JsonSchema;
use serde::Serialize;

use super::common::Time;
use super::window::HistoryWindow;
use ketcd_cluster::bundle::BundleSummary;
use ketcd_redact::Report;

/// What `bundle` wrote.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bundle<'a> {
    /// The file's size.
    pub bytes: u64,
    /// The file, as it was named.
    pub file: &'a str,
    /// The revision whose state it begins with.
    pub from: BundleEnd,
    /// Versions that could not be decoded and may hold what was to go, so that they were left out.
    pub left_out_versions: u64,
    /// Secrets whose values are masked.
    pub masked_secrets: u64,
    /// Objects that are in it whole, alive or not.
    pub objects: u64,
    /// What was redacted; null where nothing was but the values of Secrets.
    pub redaction: Option<Redaction<'a>>,
    /// Objects that are in it as far as a scheduler reads them.
    pub reduced_objects: u64,
    /// Changes in it.
    pub revisions: u64,
    /// The file's SHA-256, in hexadecimal digits; the report of what was redacted names it too.
    pub sha256: &'a str,
    /// The revision that it ends with.
    pub to: BundleEnd,
    /// The stretch of history that was asked for; absent where neither end was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<HistoryWindow>,
}

/// An end of a bundle's history.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct BundleEnd {
    /// The revision.
    pub revision: i64,
    /// When it was written; null where nothing shows it.
    pub time: Option<Time>,
}

/// What was redacted.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Redaction<'a> {
    /// What was replaced, by class.
    pub replaced: Report,
    /// The file that says it, to be read before the bundle leaves.
    pub report: &'a str,
    /// Where the salt of the pseudonyms is from.
    pub salt: Salt,
}

/// Where the salt of pseudonyms is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Salt {
    /// It was given, so that other bundles can have the same pseudonyms.
    Given,
    /// It was made for this bundle and not kept.
    Random,
}

/// The file of a bundle.
#[derive(Clone, Copy, Debug)]
pub struct BundleFile<'a> {
    /// How it was named.
    pub name: &'a str,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: &'a str,
}

impl<'a> Bundle<'a> {
    /// What was written into a file.
    pub fn new(file: BundleFile<'a>, summary: &BundleSummary, redaction: Option<Redaction<'a>>, window: Option<HistoryWindow>) -> Self {
        let end =
            |revision: ketcd_cluster::Revision, time: Option<jiff::Timestamp>| BundleEnd { revision: revision.0, time: time.map(Time) };
        Self {
            bytes: file.bytes,
            file: file.name,
            from: end(summary.from, summary.times.0),
            left_out_versions: summary.left_out,
            masked_secrets: if redaction.is_some() { 0 } else { summary.masked },
            objects: summary.objects,
            redaction,
            reduced_objects: summary.reduced,
            revisions: summary.revisions,
            sha256: file.sha256,
            to: end(summary.to, summary.times.1),
            window,
        }
    }
}
