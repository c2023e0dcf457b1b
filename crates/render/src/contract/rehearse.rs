//! The JSON of `rehearse`.

use schemars::JsonSchema;
use serde::Serialize;

use super::common::Time;
use super::status::SourceKind;
use super::verify::{VerificationVerdict, Weight};
use crate::words::rehearsal::decision;
use ketcd_cluster::rehearse as answer;

/// What `rehearse` prints: what a restore would do, or with `--done` what became of that forecast.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Rehearse<'a> {
    /// What a restore would do.
    Rehearsal(Box<Rehearsal<'a>>),
    /// What became of the forecast.
    Scores(Scores<'a>),
}

/// What a restore of a backup would do.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rehearsal<'a> {
    /// The decision in one line. For people: the words are not part of the contract.
    pub decision: String,
    /// What would be, by chapter, in each the weightiest first.
    pub forecasts: Vec<Forecast<'a>>,
    /// Always `Rehearsal`.
    pub kind: &'static str,
    /// How many revisions the restore takes back; null without a newer state.
    pub lost_revisions: Option<i64>,
    /// What could not be said and what evidence is missing, one phrase per item. For people: the words are not part of the contract.
    pub not_known: &'a [String],
    /// Whether the backup and the newest state are of one cluster; null where nothing shows it.
    pub same_cluster: Option<bool>,
    /// The backup and the states that it was held against: what can be restored first, in that what loses the least.
    pub sources: Vec<RehearsalSource<'a>>,
    /// The verdict, with which the exit code goes: `bad` where the backup cannot be restored or is of another cluster, `findings` where something weighs
    /// or another source is better.
    pub verdict: VerificationVerdict,
    /// How the restore is done.
    pub way: Way<'a>,
}

/// The backup, or one of the states that it was held against.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RehearsalSource<'a> {
    /// How many seconds before the question its newest revision was written; null where nothing shows it.
    pub age_seconds: Option<f64>,
    /// Whether it is the backup that was asked about.
    pub backup: bool,
    /// Keys that are alive at its newest revision.
    pub keys: u64,
    /// How many revisions of the newest of all it lacks; null where that cannot be said.
    pub lacks_revisions: Option<i64>,
    /// The path or the endpoints, as they were given.
    pub name: &'a str,
    /// Whether it is the newest state, which the forecasts compare with the backup.
    pub newest: bool,
    /// Its newest revision.
    pub revision: i64,
    /// What is to be said of it; empty where nothing is. For people: the words are not part of the contract.
    pub says: &'a str,
    /// What it is.
    pub source: SourceKind,
    /// Whether it can be restored.
    pub verdict: VerificationVerdict,
    /// When its newest revision was written; null where nothing dates it.
    pub written: Option<Time>,
}

/// One thing that the restore would do.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Forecast<'a> {
    /// The objects, those of people first; the first 1,000 where there are more.
    pub affected: Vec<Affected<'a>>,
    /// The part of the answer that it belongs to.
    pub chapter: Chapter,
    /// Commands that show or mend it, one line each.
    pub commands: &'a [String],
    /// How many objects it is about.
    pub count: usize,
    /// Its part of the decision; empty where it has none. For people: the words are not part of the contract.
    pub headline: &'a str,
    /// What it is about: `lostObjects`, `lostChanges`, `returns`, `unknownPods`, `otherPods`, `jobsAgain`, `cronJobs`, `statefulVolumes`,
    /// `podsReturn`, `podsOrphaned`, `volumesGone`, `volumesElsewhere`, `volumesUnknown`, `claimsHang`, `nodesGone`, `nodesUnknown`, `nodesDiffer`,
    /// `givenTwice`, `callbacks`, `storedVersions`, `encryptionKeys`, `apiServers`, `leaderLocks`, `tokens`, `certificates`, `watchers` or
    /// `events`. There may be more in time.
    pub kind: &'static str,
    /// What will be. For people: the words are not part of the contract.
    pub says: &'a str,
    /// How much it weighs: `high` for what is lost for good or does harm, `low` for what mends itself.
    pub weight: Weight,
}

/// A part of the answer.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Chapter {
    /// What is lost: objects and changes since the backup.
    Lost,
    /// What runs and will not be known to the API.
    Runs,
    /// What will not fit the world outside etcd.
    Fits,
    /// What is stale.
    Stale,
}

/// An object that a forecast is about.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Affected<'a> {
    /// Who made the last change that is lost; empty where nothing says so.
    pub by: &'a str,
    /// The kind, such as `Pod`; empty where it is not about an object.
    pub kind: &'a str,
    /// The name.
    pub name: &'a str,
    /// The namespace; empty where the kind has none.
    pub namespace: &'a str,
    /// The node that it is about; empty where it is about none.
    pub node: &'a str,
    /// The revision of the newest state that wrote it last; null where it is not there.
    pub revision: Option<i64>,
    /// What becomes of it. For people: the words are not part of the contract.
    pub says: &'a str,
    /// Its uid in the newest state, or in the backup where it has none there; empty where it has none.
    pub uid: &'a str,
}

/// How the restore is done.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Way<'a> {
    /// By how much the commands raise revisions, so that no watcher sees them go back; null where no newer revision was seen, or the distribution's own
    /// restore raises none.
    pub bump_revision: Option<i64>,
    /// Whose etcd it is: `kubeadm`, `k3s`, `rke2`, `openShift`, `gardener`, `kine`, or `unknown`. There may be more in time.
    pub distribution: &'static str,
    /// What shows that; empty where nothing does. For people: the words are not part of the contract.
    pub evidence: &'a str,
    /// The steps, in order.
    pub steps: Vec<Step<'a>>,
}

/// One step of the restore.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Step<'a> {
    /// The commands, one line each.
    pub commands: &'a [String],
    /// Where; empty for anywhere. For people: the words are not part of the contract.
    pub place: &'a str,
    /// What to do. For people: the words are not part of the contract.
    pub says: &'a str,
}

/// What became of the forecast in the running cluster.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scores<'a> {
    /// Always `Scores`.
    pub kind: &'static str,
    /// The running cluster, as it was named.
    pub live: &'a str,
    /// How many the running cluster does not show.
    pub not_observable: usize,
    /// The revision of the running cluster.
    pub revision: i64,
    /// How many came as forecast.
    pub right: usize,
    /// Each forecast about each object, those that were wrong first.
    pub scores: Vec<ForecastScore<'a>>,
    /// How many did not come as forecast. The exit code is 1 where there are any.
    pub wrong: usize,
}

/// What became of one forecast about one object.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ForecastScore<'a> {
    /// The object.
    pub affected: Affected<'a>,
    /// What shows the outcome. For people: the words are not part of the contract.
    pub evidence: &'a str,
    /// What the forecast was about, as `kind` of a forecast says it.
    pub forecast: &'static str,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a forecast.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It came as forecast.
    Right,
    /// It did not.
    Wrong,
    /// The running cluster does not show it.
    NotObservable,
}

impl<'a> From<&'a answer::Rehearsal> for Rehearse<'a> {
    fn from(of: &'a answer::Rehearsal) -> Self {
        let chapters = answer::Chapter::ALL.into_iter();
        Self::Rehearsal(Box::new(Rehearsal {
            decision: decision(of),
            forecasts: chapters.flat_map(|chapter| of.chapter(chapter)).map(Forecast::from).collect(),
            kind: "Rehearsal",
            lost_revisions: of.lost_revisions,
            not_known: &of.not_known,
            same_cluster: of.is_of_one_cluster,
            sources: of.sources.iter().map(RehearsalSource::from).collect(),
            verdict: of.verdict().into(),
            way: Way::from(&of.way),
        }))
    }
}

impl<'a> Rehearse<'a> {
    /// The document of a forecast that was held against a running cluster.
    pub fn scores(scored: &'a [answer::Scored], live: &'a str, revision: ketcd_store::Revision) -> Self {
        let count = |outcome: answer::Outcome| scored.iter().filter(|one| one.outcome == outcome).count();
        let of_outcome = |outcome: answer::Outcome| scored.iter().filter(move |one| one.outcome == outcome);
        Self::Scores(Scores {
            kind: "Scores",
            live,
            not_observable: count(answer::Outcome::NotObservable),
            revision: revision.0,
            right: count(answer::Outcome::Right),
            scores: answer::Outcome::ALL.into_iter().flat_map(of_outcome).map(ForecastScore::from).collect(),
            wrong: count(answer::Outcome::Wrong),
        })
    }
}

impl<'a> From<&'a answer::RehearsedSource> for RehearsalSource<'a> {
    fn from(of: &'a answer::RehearsedSource) -> Self {
        Self {
            age_seconds: of.age.map(|age| age.as_secs_f64()),
            backup: of.is_backup,
            keys: of.keys,
            lacks_revisions: of.lacks,
            name: &of.name,
            newest: of.is_newest,
            revision: of.revision.0,
            says: &of.says,
            source: of.kind.into(),
            verdict: of.verdict.into(),
            written: of.written.map(Time),
        }
    }
}

impl<'a> From<&'a answer::Forecast> for Forecast<'a> {
    fn from(of: &'a answer::Forecast) -> Self {
        Self {
            affected: of.affected.iter().map(Affected::from).collect(),
            chapter: of.kind.chapter().into(),
            commands: &of.commands,
            count: of.count,
            headline: &of.headline,
            kind: of.kind.name(),
            says: &of.says,
            weight: of.weight.into(),
        }
    }
}

impl<'a> From<&'a answer::Affected> for Affected<'a> {
    fn from(of: &'a answer::Affected) -> Self {
        Self {
            by: &of.by,
            kind: &of.subject.kind,
            name: &of.subject.name,
            namespace: &of.subject.namespace,
            node: &of.node,
            revision: of.revision.map(|revision| revision.0),
            says: &of.says,
            uid: &of.uid,
        }
    }
}

impl<'a> From<&'a answer::Way> for Way<'a> {
    fn from(of: &'a answer::Way) -> Self {
        let steps = of.steps.iter().map(|step| Step { commands: &step.commands, place: &step.place, says: &step.says });
        Self { bump_revision: of.bump, distribution: distribution(of.distribution), evidence: &of.evidence, steps: steps.collect() }
    }
}

/// The name that machine output has for whose etcd it is.
fn distribution(of: answer::Distribution) -> &'static str {
    match of {
        answer::Distribution::Kubeadm => "kubeadm",
        answer::Distribution::K3s => "k3s",
        answer::Distribution::Rke2 => "rke2",
        answer::Distribution::OpenShift => "openShift",
        answer::Distribution::Gardener => "gardener",
        answer::Distribution::Kine => "kine",
        _ => "unknown",
    }
}

impl<'a> From<&'a answer::Scored> for ForecastScore<'a> {
    fn from(of: &'a answer::Scored) -> Self {
        Self { affected: (&of.affected).into(), evidence: &of.evidence, forecast: of.kind.name(), outcome: of.outcome.into() }
    }
}

mirrored!(answer::Chapter => Chapter: Lost, Runs, Fits, Stale);

mirrored!(answer::Outcome => Outcome: Right, Wrong, NotObservable);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rehearse::made_up::{affected, rehearsal};

    #[test]
    fn the_document_has_all_of_the_rehearsal() {
        let document = serde_json::to_value(Rehearse::from(&rehearsal())).unwrap();
        assert_eq!(
            (&document["kind"], &document["verdict"], &document["lostRevisions"]),
            (&json!("Rehearsal"), &json!("findings"), &json!(70_157))
        );
        assert_eq!(document["sources"][1]["ageSeconds"], json!(93_600.0));
        assert_eq!(document["way"]["bumpRevision"], json!(1_000_000_000));
        let forecast = &document["forecasts"][1];
        assert_eq!((&forecast["chapter"], &forecast["count"]), (&json!("lost"), &json!(41)));
        assert_eq!(
            forecast["affected"][0],
            json!({"by": "alice", "kind": "Deployment", "name": "web", "namespace": "shop", "node": "", "revision": 500_000,
                "says": "spec.replicas 3 → 5", "uid": "uid-of-web"})
        );
    }

    #[test]
    fn scores_are_counted_and_what_was_wrong_is_first() {
        let scored = [answer::Outcome::Right, answer::Outcome::Wrong, answer::Outcome::NotObservable].map(|outcome| answer::Scored {
            kind: answer::ForecastKind::Returns,
            affected: affected("Pod", "a", "b"),
            outcome,
            evidence: "it is there".to_owned(),
        });
        let document = serde_json::to_value(Rehearse::scores(&scored, "live", ketcd_store::Revision(9))).unwrap();
        assert_eq!((&document["right"], &document["wrong"], &document["notObservable"]), (&json!(1), &json!(1), &json!(1)));
        assert_eq!((&document["scores"][0]["outcome"], &document["scores"][0]["forecast"]), (&json!("wrong"), &json!("returns")));
    }
}
