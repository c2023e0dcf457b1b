//! What is known of a recording and of its files without reading them: what stands at the beginning of each file and in the manifest, as JSON.

use serde::{Deserialize, Serialize};

use crate::Withheld;

/// The version of the format: 3 may name the version that a change replaced, 2 notes when changes arrived, 1 does not. What reads a recording refuses one of a version that it does not know.
pub(super) const FORMAT_VERSION: u32 = 3;
/// The oldest version that is read.
pub(super) const OLDEST_FORMAT: u32 = 1;

/// Why a version is refused; `None` where it is read.
pub(super) fn unknown_format(format: u32) -> Option<String> {
    let is_known = (OLDEST_FORMAT..=FORMAT_VERSION).contains(&format);
    (!is_known)
        .then(|| format!("is of version {format} of the recordings' format; this ketcd reads versions {OLDEST_FORMAT} to {FORMAT_VERSION}"))
}

/// What a recording is of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordingScope {
    /// etcd's cluster id, hexadecimal.
    pub cluster_id: Option<String>,
    /// What the recorded keys begin with; every key if there are none.
    pub prefixes: Vec<String>,
    /// What was left out of these, in words: `Secrets`.
    pub left_out: Vec<String>,
    /// Where it was recorded through an API server, the UID of the cluster's namespace `kube-system`, or nothing where that could not be read;
    /// `None` where it was recorded from etcd. Values are then the API server's JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_server: Option<String>,
    /// Where it is a slice of another source, what of that; `None` where a running etcd or an API server was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<BundleScope>,
}

/// What a slice of another source is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BundleScope {
    /// Whether the source had the state of one moment and no history.
    #[serde(default)]
    pub one_moment: bool,
    /// The classes of values that were replaced, in this bundle or in one that it was made of; none where all is as it was stored.
    #[serde(default)]
    pub redacted: Vec<String>,
    /// Whether masks or pseudonyms stand in for the values of Secrets.
    #[serde(default)]
    pub masks_secrets: bool,
}

impl BundleScope {
    /// The values that it does not hold as they were stored.
    pub(super) fn withheld(&self) -> Withheld<'_> {
        Withheld { secret_values: self.masks_secrets, classes: &self.redacted }
    }
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum FileKind {
    /// Changes, ascending.
    Changes,
    /// Every key that was alive at one revision, ascending.
    State,
}

/// The first chunk of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Head {
    pub format: u32,
    pub kind: FileKind,
    #[serde(flatten)]
    pub scope: RecordingScope,
}

/// Revisions that were not recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MissingRevisions {
    /// The first.
    pub from: i64,
    /// The last.
    pub to: i64,
    /// Why.
    pub reason: String,
}

/// A file, as the manifest has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileFacts {
    pub name: String,
    pub kind: FileKind,
    /// Runs of revisions of which it has all changes: after the first number, up to the second. For a state, its revision twice.
    pub covered: Vec<(i64, i64)>,
    pub missing: Vec<MissingRevisions>,
    pub bytes: u64,
    pub changes: u64,
    /// When its first and its last chunk were written, in milliseconds of the recording's own time (`recorder`).
    pub begun: i64,
    pub ended: i64,
    pub sha256: String,
    /// It is about to be removed and no part of the recording any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

impl FileFacts {
    pub(super) fn new(kind: FileKind) -> Self {
        Self {
            name: String::new(),
            kind,
            covered: Vec::new(),
            missing: Vec::new(),
            bytes: 0,
            changes: 0,
            begun: 0,
            ended: 0,
            sha256: String::new(),
            removed: false,
        }
    }

    /// Whether a recorder can have written them: runs ascend and are none that cannot be, and numbers can be added up.
    pub(super) fn are_possible(&self) -> bool {
        let run = |&(after, upto): &(i64, i64)| (0..=upto).contains(&after) && upto < i64::MAX / 2;
        let is_gap = |gap: &MissingRevisions| (1..=gap.to).contains(&gap.from) && gap.to < i64::MAX / 2;
        let times = 0..i64::MAX / 2;
        self.covered.iter().all(run)
            && self.covered.is_sorted_by(|one, next| one.1 <= next.0)
            && (self.kind == FileKind::Changes || self.covered.iter().all(|run| run.0 == run.1))
            && self.missing.iter().all(is_gap)
            && self.bytes < 1 << 53
            && times.contains(&self.begun)
            && times.contains(&self.ended)
    }

    /// Adds a run of revisions behind the others.
    pub(super) fn cover(&mut self, after: i64, upto: i64) {
        match self.covered.last_mut() {
            Some(last) if last.1 == after => last.1 = upto,
            _ => self.covered.push((after, upto)),
        }
    }

    /// The last revision that it has, or says is missing.
    pub(super) fn reached(&self) -> Option<i64> {
        self.upto().max(self.missing.iter().map(|missing| missing.to).max())
    }

    pub(super) fn upto(&self) -> Option<i64> {
        self.covered.iter().map(|run| run.1).max()
    }
}
