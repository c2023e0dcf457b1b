//! An earlier triage, read from its JSON.

use jiff::Timestamp;
use serde::Deserialize;

use ketcd_history::timeline::Subject;
use ketcd_store::Revision;

/// An earlier triage: the troubles that were open then.
#[derive(Clone, Debug)]
pub struct EarlierTriage {
    /// Its revision.
    pub revision: Revision,
    /// Its moment, where it shows it.
    pub time: Option<Timestamp>,
    /// The troubles, each once.
    pub troubles: Vec<EarlierTrouble>,
    pub(super) etcd: Option<String>,
    pub(super) kube_system: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) asked: Vec<String>,
}

/// A trouble of an earlier triage.
#[derive(Clone, Debug)]
pub struct EarlierTrouble {
    /// Its id.
    pub id: String,
    /// The object that had it.
    pub object: Subject,
    /// What was wrong, in words.
    pub what: String,
    /// What was wrong, as one word.
    pub trouble: String,
    /// Since when, where that was known.
    pub since: Option<Timestamp>,
    /// Whether it may have begun earlier.
    pub may_begin_earlier: bool,
    /// The moment of the first triage that reported it.
    pub first_seen: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EarlierDocument {
    cluster: ClusterPart,
    findings: Vec<FindingPart>,
    revision: i64,
    scope: ScopePart,
    time: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClusterPart {
    etcd: Option<String>,
    kube_system: Option<String>,
}

#[derive(Deserialize)]
struct ScopePart {
    asked: Vec<String>,
    namespace: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FindingPart {
    effects: Vec<FindingPart>,
    // Triages of before there was a member do not have it.
    #[serde(default)]
    may_begin_earlier: bool,
    since: Option<String>,
    state: Option<String>,
    trouble: String,
    troubles: Vec<TroublePart>,
    what: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TroublePart {
    first_seen: Option<String>,
    id: String,
    object: ObjectPart,
}

#[derive(Deserialize)]
struct ObjectPart {
    kind: String,
    name: String,
    namespace: String,
    uid: String,
}

impl EarlierTriage {
    /// Reads the JSON of `triage -o json`.
    ///
    /// # Errors
    /// It is something else, which is said in words.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        let document: EarlierDocument = serde_json::from_slice(text).map_err(|error| unfit_at(&error))?;
        let mut troubles = Vec::new();
        document.findings.into_iter().for_each(|finding| gather(finding, &mut troubles));
        Ok(Self {
            revision: Revision(document.revision),
            time: moment(document.time.as_deref()),
            troubles,
            etcd: document.cluster.etcd,
            kube_system: document.cluster.kube_system,
            namespace: document.scope.namespace,
            asked: document.scope.asked,
        })
    }
}

/// Gathers the open troubles of a finding and of what followed from it.
fn gather(finding: FindingPart, troubles: &mut Vec<EarlierTrouble>) {
    if finding.state.as_deref() != Some("ended") {
        for part in finding.troubles {
            if troubles.iter().any(|known: &EarlierTrouble| known.id == part.id) {
                continue;
            }
            let ObjectPart { kind, name, namespace, uid } = part.object;
            troubles.push(EarlierTrouble {
                id: part.id,
                object: Subject { kind, namespace, name, uid },
                what: finding.what.clone(),
                trouble: finding.trouble.clone(),
                since: moment(finding.since.as_deref()),
                may_begin_earlier: finding.may_begin_earlier,
                first_seen: moment(part.first_seen.as_deref()),
            });
        }
    }
    finding.effects.into_iter().for_each(|effect| gather(effect, troubles));
}

fn moment(text: Option<&str>) -> Option<Timestamp> {
    text?.parse().ok()
}

/// Where a text is not what is expected. The parser's own words may repeat what stands there.
fn unfit_at(error: &serde_json::Error) -> String {
    let what = if error.is_data() { "something else stands" } else { "it is not JSON" };
    format!("{what} at line {}, column {}", error.line(), error.column())
}
