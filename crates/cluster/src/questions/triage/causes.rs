//! Which change explains a finding: the nearest one before it began that can have caused it, of each object that the finding depends on.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::TroubleKind;
use ketcd_history::trouble::triage::Finding;
use ketcd_history::{AttributedChange, ChangeKind};
use ketcd_restore::ObjectId;
use ketcd_restore::references::{Related as Sort, references};
use ketcd_scheduler::suitability;
use ketcd_store::{KeyRange, Want};

use super::bearing::{Afflicted, Effect, Relation};
use super::node_needs::Settled;
use super::rules::Named;
use crate::cluster::{Cluster, built_in};
use crate::error::Result;
use crate::related::owners::owners;
use crate::rights::refused::unless_denied;

/// How many findings are explained, and how many objects of each are read.
const MAX_FINDINGS_EXPLAINED: usize = 40;
const MAX_OBJECTS_PER_FINDING: usize = 3;
/// How many changes explain one finding at most.
const MAX_CHANGES_PER_FINDING: usize = 4;
/// Kubernetes writes down when something turned in whole seconds, cut off.
const CONDITION_TIME_PRECISION: SignedDuration = SignedDuration::from_secs(1);

/// A change that explains a finding.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    let changed: Vec<Option<Named>> =
        changes.iter().map(|change| change.change.object().map(|object| named(&Subject::of(object)))).collect();
    let mut causes = Vec::new();
    for (place, finding) in findings.iter().enumerate() {
        let is_explained = place < MAX_FINDINGS_EXPLAINED && !changes.is_empty();
        causes.push(if is_explained {
            Dependencies::of(cluster, finding).await?.causes(finding.since(), changes, &changed)
        } else {
            Vec::new()
        });
    }
    Ok(causes)
}

/// What a finding's objects depend on.
struct Dependencies<'f> {
    named: BTreeMap<Named, Relation>,
    effect: Effect<'f>,
    /// The specs of pods that find no node.
    homeless: Vec<Value>,
    /// Nodes that may have made the trouble of pods on them, with the specs of those.
    hosts: Vec<(String, Value)>,
}

impl<'f> Dependencies<'f> {
    /// Reads the first objects of a finding, what controls them and the claims that they name.
    async fn of(cluster: &Cluster, finding: &'f Finding) -> Result<Self> {
        let effect = Effect { trouble: &finding.trouble, afflicted: Vec::new() };
        let mut found = Self { named: BTreeMap::new(), effect, homeless: Vec::new(), hosts: Vec::new() };
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
        for subject in finding.subjects.iter().take(MAX_OBJECTS_PER_FINDING) {
            if let Some(object) = read(cluster, &named(subject)).await? {
                if finding.trouble.kind == TroubleKind::ApiUnavailable {
                    found.call(&object["spec"]["service"]);
                }
                found.take_in(cluster, finding.trouble.kind, &object).await?;
            }
        }
        Ok(found)
    }

    /// Adds the Service that an aggregated API is served by.
    fn call(&mut self, service: &Value) {
        if let (Some(namespace), Some(name)) = (service["namespace"].as_str(), service["name"].as_str()) {
            self.add(("Service".to_owned(), namespace.to_owned(), name.to_owned()), Relation::Configuration);
        }
    }

    fn add(&mut self, object: Named, relation: Relation) {
        self.named.entry(object).or_insert(relation);
    }

    async fn take_in(&mut self, cluster: &Cluster, kind: TroubleKind, object: &Value) -> Result<()> {
        self.refer(object);
        self.effect.afflicted.extend(afflicted(object));
        for owner in owners(cluster, object, cluster.at).await? {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let namespace = text(&object["metadata"]["namespace"]);
            self.add((text(&owner.reference["kind"]), namespace, text(&owner.reference["name"])), Relation::Owner);
            owner.found.iter().for_each(|found| self.refer(&found.object));
        }
        let node = object["spec"]["nodeName"].as_str();
        match node {
            Some(node) if is_of_node(kind) => self.hosts.push((node.to_owned(), object["spec"].clone())),
            None if matches!(kind, TroubleKind::Unschedulable | TroubleKind::NotScheduled) => self.homeless.push(object["spec"].clone()),
            _ => {}
        }
        let claims: Vec<Named> =
            self.named.iter().filter(|(_, relation)| **relation == Relation::Claim).map(|(name, _)| name.clone()).collect();
        for claim in claims.iter().take(MAX_OBJECTS_PER_FINDING) {
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

    /// The nearest change before `since` of each object that can be why, oldest first.
    fn causes(&self, since: Option<Timestamp>, changes: &[AttributedChange], changed: &[Option<Named>]) -> Vec<Cause> {
        let mut found = Vec::new();
        let mut settled: Vec<Settled> = self.homeless.iter().map(|_| Settled::default()).collect();
        let mut known: BTreeSet<&Named> = BTreeSet::new();
        for (place, (change, object)) in changes.iter().zip(changed).enumerate().rev() {
            let Some(before) = before(since, change) else { continue };
            let Some(object) = object else { continue };
            let (kind, _, name) = object;
            if kind == "Node" {
                let is_harm =
                    self.homeless.iter().zip(&mut settled).fold(false, |harms, (spec, settled)| settled.is_harm(change, spec) || harms);
                if is_harm || self.drives_out(change, name) && known.insert(object) {
                    found.push(Cause { change: place, relation: Relation::Node, before });
                }
                continue;
            }
            let Some(relation) = self.named.get(object).copied() else { continue };
            if self.effect.may_come_of(change, relation, (kind, name)) && known.insert(object) {
                found.push(Cause { change: place, relation, before });
            }
        }
        found.truncate(MAX_CHANGES_PER_FINDING);
        found.reverse();
        found
    }

    /// Whether a change of a node drove a pod out of it: it is gone, or has a taint of effect `NoExecute` that the pod does not tolerate.
    fn drives_out(&self, change: &AttributedChange, node: &str) -> bool {
        let change = &change.change;
        self.hosts.iter().filter(|(host, _)| host == node).any(|(_, spec)| {
            let (Some(before), Some(after)) = (change.before.object(), change.after.object()) else {
                return change.kind == ChangeKind::Deleted;
            };
            let stays = |node: &Value| suitability(spec, node).ok().map(|suits| suits.stays);
            is_driven_out(self.effect.trouble.kind) && stays(before) == Some(true) && stays(after) == Some(false)
        })
    }
}

/// A pod, or the pods that a workload makes; `None` for an object without any.
fn afflicted(object: &Value) -> Option<Afflicted> {
    let created = || object["metadata"]["creationTimestamp"].as_str()?.parse::<Timestamp>().ok();
    match object["kind"].as_str()? {
        "Pod" => Some(Afflicted { spec: object["spec"].clone(), created: created() }),
        _ => Some(Afflicted { spec: object.pointer("/spec/template/spec")?.clone(), created: None }),
    }
}

/// How long before `since` a change was made, `Some(None)` where nothing says since when; `None` where it came later or nothing dates it.
#[allow(clippy::option_option)]
fn before(since: Option<Timestamp>, change: &AttributedChange) -> Option<Option<SignedDuration>> {
    let Some(since) = since else { return Some(None) };
    let dated = change.dated?;
    let earliest = SignedDuration::try_from_secs_f64(dated.error).ok().and_then(|error| dated.time.checked_sub(error).ok())?;
    let is_before = earliest.duration_since(since) < CONDITION_TIME_PRECISION;
    is_before.then(|| Some(since.duration_since(dated.time).max(SignedDuration::ZERO)))
}

/// Whether a taint may be why a pod ends.
fn is_driven_out(kind: TroubleKind) -> bool {
    matches!(kind, TroubleKind::Terminating | TroubleKind::Evicted)
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
