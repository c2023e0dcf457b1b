//! Which change explains a finding: the nearest one before it began, of each object that the finding depends on.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use ketcd_history::AttributedChange;
use ketcd_history::timeline::Subject;
use ketcd_history::trouble::TroubleKind;
use ketcd_history::trouble::triage::Finding;
use ketcd_restore::ObjectId;
use ketcd_restore::references::{Related as Sort, references};
use ketcd_store::{KeyRange, Want};

use super::node_needs::Settled;
use crate::cluster::{Cluster, built_in};
use crate::error::Result;
use crate::related::owners::owners;
use crate::rights::refused::unless_denied;

/// How many findings are explained, and how many objects of each are read.
const FINDINGS: usize = 40;
const OBJECTS: usize = 3;
/// How many changes explain one finding at most.
const MOST: usize = 4;
/// Kubernetes writes down when something turned in whole seconds, cut off.
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// How a change concerns a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Relation {
    /// The change is of an object that has the trouble.
    Object,
    /// The change is of what controls that object, or of a workload that the trouble holds up.
    Owner,
    /// The change is of its node, or of a node that the pod could have used before.
    Node,
    /// The change is of what its pods read (ConfigMaps, Secrets, priority classes), or of the Service that a webhook calls.
    Configuration,
    /// The change is of a claim of its pods.
    Claim,
    /// The change is of the class of such a claim.
    Class,
}

impl Relation {
    /// Returns the word for machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Object => "Object",
            Self::Owner => "Owner",
            Self::Node => "Node",
            Self::Configuration => "Configuration",
            Self::Claim => "Claim",
            Self::Class => "Class",
        }
    }
}

/// A change that explains a finding.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct Cause {
    /// Its place among the changes.
    pub change: usize,
    /// How it concerns the finding.
    pub relation: Relation,
    /// How long before the finding began; `None` where that is not known.
    pub before: Option<SignedDuration>,
}

/// Returns the causes of each finding among `changes`, which are oldest first.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn causes(cluster: &Cluster, findings: &[Finding], changes: &[AttributedChange]) -> Result<Vec<Vec<Cause>>> {
    let mut causes = Vec::new();
    for (place, finding) in findings.iter().enumerate() {
        let is_explained = place < FINDINGS && !changes.is_empty();
        causes.push(if is_explained { Dependencies::of(cluster, finding).await?.causes(finding.since(), changes) } else { Vec::new() });
    }
    Ok(causes)
}

/// A kind, a namespace and a name.
type Named = (String, String, String);

/// What a finding's objects depend on.
#[derive(Default)]
struct Dependencies {
    named: BTreeMap<Named, Relation>,
    /// The specs of pods that find no node.
    homeless: Vec<Value>,
}

impl Dependencies {
    /// Reads the first objects of a finding, what controls them and the claims that they name.
    async fn of(cluster: &Cluster, finding: &Finding) -> Result<Self> {
        let mut found = Self::default();
        finding.subjects.iter().for_each(|subject| found.add(named(subject), Relation::Object));
        finding.owner.iter().for_each(|owner| found.add(named(owner), Relation::Owner));
        match finding.trouble.kind {
            // What a quota is used up by.
            TroubleKind::QuotaExhausted => {
                finding.effects.iter().flat_map(|effect| &effect.subjects).for_each(|held| found.add(named(held), Relation::Owner));
            }
            TroubleKind::WebhookUnreachable | TroubleKind::WebhookIgnored => {
                let service = finding.trouble.about.get(1).and_then(|service| service.split_once('/'));
                let service = service.map(|(namespace, name)| ("Service".to_owned(), namespace.to_owned(), name.to_owned()));
                service.into_iter().for_each(|service| found.add(service, Relation::Configuration));
            }
            _ => {}
        }
        for subject in finding.subjects.iter().take(OBJECTS) {
            if let Some(object) = read(cluster, &named(subject)).await? {
                found.take_in(cluster, finding.trouble.kind, &object).await?;
            }
        }
        Ok(found)
    }

    fn add(&mut self, object: Named, relation: Relation) {
        self.named.entry(object).or_insert(relation);
    }

    async fn take_in(&mut self, cluster: &Cluster, kind: TroubleKind, object: &Value) -> Result<()> {
        self.refer(object);
        for owner in owners(cluster, object, cluster.at).await? {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let namespace = text(&object["metadata"]["namespace"]);
            self.add((text(&owner.reference["kind"]), namespace, text(&owner.reference["name"])), Relation::Owner);
            owner.found.iter().for_each(|found| self.refer(&found.object));
        }
        let node = object["spec"]["nodeName"].as_str();
        match node {
            Some(node) if is_of_node(kind) => self.add(("Node".to_owned(), String::new(), node.to_owned()), Relation::Node),
            None if matches!(kind, TroubleKind::Unschedulable | TroubleKind::NotScheduled) => self.homeless.push(object["spec"].clone()),
            _ => {}
        }
        let claims: Vec<Named> =
            self.named.iter().filter(|(_, relation)| **relation == Relation::Claim).map(|(name, _)| name.clone()).collect();
        for claim in claims.iter().take(OBJECTS) {
            read(cluster, claim).await?.iter().for_each(|claim| self.refer(claim));
        }
        Ok(())
    }

    /// Adds what an object refers to.
    fn refer(&mut self, object: &Value) {
        for ObjectId { kind, namespace, name, .. } in references(object, Sort::Config).into_iter().chain(references(object, Sort::Storage))
        {
            let relation = match kind.as_str() {
                "PersistentVolumeClaim" | "PersistentVolume" | "ResourceClaim" | "ResourceClaimTemplate" => Relation::Claim,
                "StorageClass" | "DeviceClass" => Relation::Class,
                _ => Relation::Configuration,
            };
            self.add((kind, namespace.unwrap_or_default(), name), relation);
        }
    }

    /// The nearest change before `since` of each object, oldest first.
    fn causes(&self, since: Option<Timestamp>, changes: &[AttributedChange]) -> Vec<Cause> {
        let mut found = Vec::new();
        let mut settled: Vec<Settled> = self.homeless.iter().map(|_| Settled::default()).collect();
        let mut of_any_pod = Settled::default();
        let mut known: BTreeSet<Named> = BTreeSet::new();
        for (place, change) in changes.iter().enumerate().rev() {
            let Some(before) = before(since, change) else { continue };
            let Some(subject) = change.change.object().map(Subject::of) else { continue };
            let is_harm = subject.kind == "Node"
                && self.homeless.iter().zip(&mut settled).fold(false, |harms, (spec, settled)| settled.is_harm(change, spec) || harms);
            // Nothing that makes a node suit more pods, and no label, does it harm.
            if subject.kind == "Node" && !of_any_pod.is_harm(change, &Value::Null) && !is_harm {
                continue;
            }
            let relation = if is_harm { Some(Relation::Node) } else { self.named.get(&named(&subject)).copied() };
            let Some(relation) = relation.filter(|_| is_harm || known.insert(named(&subject))) else { continue };
            found.push(Cause { change: place, relation, before });
        }
        found.truncate(MOST);
        found.reverse();
        found
    }
}

/// How long before `since` a change was made, `Some(None)` where nothing says since when; `None` where it came later or nothing dates it.
#[allow(clippy::option_option)]
fn before(since: Option<Timestamp>, change: &AttributedChange) -> Option<Option<SignedDuration>> {
    let Some(since) = since else { return Some(None) };
    let dated = change.dated?;
    let earliest = SignedDuration::try_from_secs_f64(dated.error).ok().and_then(|error| dated.time.checked_sub(error).ok())?;
    let is_before = earliest.duration_since(since) < SECOND;
    is_before.then(|| Some(since.duration_since(dated.time).max(SignedDuration::ZERO)))
}

/// Whether a trouble of a bound pod may come from its node.
fn is_of_node(kind: TroubleKind) -> bool {
    matches!(kind, TroubleKind::Terminating | TroubleKind::Evicted | TroubleKind::NotReady | TroubleKind::NotStarting)
}

fn named(subject: &Subject) -> Named {
    (subject.kind.clone(), subject.namespace.clone(), subject.name.clone())
}

/// An object of one of Kubernetes' own kinds as it is at the moment looked at; `None` where it is not there or may not be read.
async fn read(cluster: &Cluster, (kind, namespace, name): &Named) -> Result<Option<Value>> {
    let Ok(kind) = built_in().find(&kind.to_lowercase()) else { return Ok(None) };
    let key = kind.key(cluster.prefix().await?, Some(namespace.as_str()).filter(|_| kind.namespaced), name);
    let found = unless_denied(cluster.source.first(KeyRange::key(key), cluster.at, Want::Values, 1).await)?;
    let Some(entry) = found.and_then(|mut found| found.pop()) else { return Ok(None) };
    Ok(cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).object().cloned())
}
