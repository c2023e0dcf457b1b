//! Whether a change of something that a finding depends on can have caused the trouble: which fields bear on which trouble. What is only near in
//! time explains nothing.
//!
//! The rules are Kubernetes' own: a container reads data of ConfigMaps and Secrets when it starts; a pod is made from a template and never changed by
//! it; a claim's class, and what it demands of nodes, count where a volume is made or a pod is placed.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use ketcd_history::diff::{FieldChange, Segment};
use ketcd_history::trouble::{Trouble, TroubleKind};
use ketcd_history::{AttributedChange, Intervention, intervention};

use super::reads::ConfigReader;

/// Creation times are whole seconds, cut off.
const CREATION_TIME_PRECISION: SignedDuration = SignedDuration::from_secs(1);

/// How a change concerns a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// A pod that has the trouble.
pub(super) struct Afflicted {
    /// Its spec; for a workload, the spec of its pods.
    pub spec: Value,
    /// When it was made; `None` for a workload, which changes.
    pub created: Option<Timestamp>,
}

/// The trouble that changes may have caused.
pub(super) struct Effect<'t> {
    pub trouble: &'t Trouble,
    /// Some of the pods that have it, or the workload.
    pub afflicted: Vec<Afflicted>,
}

impl Effect<'_> {
    /// Whether a change of an object that concerns the trouble like this bears on it.
    pub(super) fn may_come_of(&self, change: &AttributedChange, relation: Relation, (kind, name): (&str, &str)) -> bool {
        let Some(done) = intervention(change) else { return false };
        match relation {
            Relation::Object => object_bears(self.trouble.kind, &done),
            Relation::Owner => self.owner_bears(change, &done),
            Relation::Configuration => self.configuration_bears(change, &done, (kind, name)),
            Relation::Claim | Relation::Class => waits_for_storage(self.trouble.kind) && takes_away(&done),
            // Which nodes were taken away is known by their labels and taints.
            Relation::Node => true,
        }
    }

    /// A pod is made from its owner's template as it is then; how many there are bears on where they find room.
    fn owner_bears(&self, change: &AttributedChange, done: &Intervention<'_>) -> bool {
        let kind = self.trouble.kind;
        let made_since =
            || self.afflicted.is_empty() || self.afflicted.iter().any(|one| one.created.is_none_or(|made| !is_before(made, change)));
        match done {
            Intervention::Deleted => kind == TroubleKind::Terminating,
            Intervention::Created => kind != TroubleKind::Terminating && made_since(),
            Intervention::Changed(fields) => fields.iter().any(|field| match template_field(field) {
                _ if is_deletion(field) => kind == TroubleKind::Terminating,
                true => kind == TroubleKind::Terminating || made_since(),
                false => match replicas(field) {
                    Some(grew) if grew => takes_room(kind) && made_since(),
                    Some(_) => kind == TroubleKind::Terminating,
                    None => false,
                },
            }),
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }

    fn configuration_bears(&self, change: &AttributedChange, done: &Intervention<'_>, (kind, name): (&str, &str)) -> bool {
        match kind {
            "ConfigMap" | "Secret" => self.data_bears(change, done, (kind, name)),
            // What webhooks and aggregated APIs call.
            "Service" => match (self.trouble.kind, done) {
                (TroubleKind::WebhookUnreachable | TroubleKind::WebhookIgnored | TroubleKind::ApiUnavailable, done) => match done {
                    Intervention::Created => false,
                    Intervention::Deleted => true,
                    Intervention::Changed(fields) => fields.iter().any(|field| field.path.starts_with(&["spec"]) || is_deletion(field)),
                    #[cfg(not(ketcd_exhaustive))]
                    _ => unreachable!("of another version"),
                },
                _ => false,
            },
            "PriorityClass" | "RuntimeClass" | "ServiceAccount" => {
                self.trouble.kind == TroubleKind::PodsRefused && *done == Intervention::Deleted
            }
            _ => false,
        }
    }

    /// The data that containers read when they start.
    fn data_bears(&self, change: &AttributedChange, done: &Intervention<'_>, (kind, name): (&str, &str)) -> bool {
        let of = self.trouble.kind;
        // An image is pulled with the Secret that the pod names for it, whatever its containers read.
        let is_of_containers = starts_containers(of) && (of != TroubleKind::ImageNotPulled || kind == "Secret");
        let takes = |key: Option<&str>| {
            let reader = |one: &Afflicted| ConfigReader::of(&one.spec, &self.trouble.about).takes(kind, name, key);
            self.afflicted.is_empty() || self.afflicted.iter().any(reader)
        };
        let is_of_new = || self.afflicted.iter().any(|one| one.created.is_some_and(|made| is_before(made, change)));
        is_of_containers
            && match done {
                Intervention::Deleted => takes(None),
                // What a pod was made with is no change for it.
                Intervention::Created => is_of_new() && takes(None),
                Intervention::Changed(fields) => fields.iter().any(|field| data_key(field).is_some_and(&takes)),
                #[cfg(not(ketcd_exhaustive))]
                _ => unreachable!("of another version"),
            }
    }
}

/// Whether a time is before a change, as far as both are known.
fn is_before(time: Timestamp, change: &AttributedChange) -> bool {
    let Some(dated) = change.dated else { return false };
    let error = SignedDuration::try_from_secs_f64(dated.error).unwrap_or_default();
    dated.time.checked_sub(error + CREATION_TIME_PRECISION).is_ok_and(|earliest| time < earliest)
}

/// The key of data that a field is or lies in: `Some(None)` where it is all data.
#[allow(clippy::option_option)]
fn data_key<'f>(field: &'f FieldChange<'_>) -> Option<Option<&'f str>> {
    let is_data = ["data", "binaryData", "stringData"].iter().any(|of| field.path.starts_with(&[*of]));
    is_data.then(|| match field.path.0.get(1) {
        Some(Segment::Field(key)) => Some(key.as_str()),
        _ => None,
    })
}

fn template_field(field: &FieldChange<'_>) -> bool {
    ["template", "jobTemplate", "volumeClaimTemplates"].iter().any(|of| field.path.starts_with(&["spec", *of]))
}

/// Whether there are more replicas, where the field is their number.
fn replicas(field: &FieldChange<'_>) -> Option<bool> {
    let number = |value: Option<&Value>| value.and_then(Value::as_i64).unwrap_or(1);
    let is_number = ["replicas", "parallelism", "completions"].iter().any(|of| field.path.starts_with(&["spec", *of]));
    is_number.then(|| number(field.field.after()) > number(field.field.before()))
}

fn is_deletion(field: &FieldChange<'_>) -> bool {
    field.path.starts_with(&["metadata", "deletionTimestamp"])
}

/// Whether something is no longer there, or demands something else: that it was made holds nobody up.
fn takes_away(done: &Intervention<'_>) -> bool {
    match done {
        Intervention::Created => false,
        Intervention::Deleted => true,
        Intervention::Changed(fields) => fields.iter().any(|field| !field.path.starts_with(&["metadata"]) || is_deletion(field)),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

/// Whether what a container reads when it starts can be why.
fn starts_containers(kind: TroubleKind) -> bool {
    matches!(
        kind,
        TroubleKind::CrashLooping
            | TroubleKind::OutOfMemory
            | TroubleKind::ImageNotPulled
            | TroubleKind::ContainerNotStarted
            | TroubleKind::NotStarting
            | TroubleKind::NotReady
            | TroubleKind::PodFailed
            | TroubleKind::JobFailed
            | TroubleKind::Short
            | TroubleKind::RolloutStuck
            | TroubleKind::RolloutUnfinished
    )
}

/// Whether a volume or a device that cannot be had can be why.
fn waits_for_storage(kind: TroubleKind) -> bool {
    matches!(
        kind,
        TroubleKind::Unschedulable
            | TroubleKind::VolumeAwaited
            | TroubleKind::DeviceAwaited
            | TroubleKind::NotStarting
            | TroubleKind::ContainerNotStarted
            | TroubleKind::ClaimPending
            | TroubleKind::ClaimLost
    )
}

/// Whether more pods can be why.
fn takes_room(kind: TroubleKind) -> bool {
    matches!(
        kind,
        TroubleKind::Unschedulable
            | TroubleKind::NotScheduled
            | TroubleKind::VolumeAwaited
            | TroubleKind::DeviceAwaited
            | TroubleKind::NotStarting
            | TroubleKind::QuotaExhausted
            | TroubleKind::PodsRefused
            | TroubleKind::Short
    )
}

/// Whether what was done to the object that has the trouble can be why.
fn object_bears(kind: TroubleKind, done: &Intervention<'_>) -> bool {
    match kind {
        // Nobody's write makes a node silent or short of memory, or a component lose its lease; a write past the API server is the trouble itself.
        TroubleKind::NodeSilent
        | TroubleKind::NodeNotReady
        | TroubleKind::NodePressure
        | TroubleKind::ComponentSilent
        | TroubleKind::LeaseReleased
        | TroubleKind::ChangeUnexplained => false,
        TroubleKind::NamespaceStuck | TroubleKind::FinalizersStuck | TroubleKind::Terminating => match done {
            Intervention::Changed(fields) => {
                let is_finalizer = |field: &FieldChange<'_>| {
                    field.path.starts_with(&["metadata", "finalizers"]) || field.path.starts_with(&["spec", "finalizers"])
                };
                fields.iter().any(|field| is_deletion(field) || is_finalizer(field) && field.field.after().is_some())
            }
            _ => false,
        },
        _ => match done {
            Intervention::Created => true,
            Intervention::Deleted => false,
            Intervention::Changed(fields) => fields.iter().any(|field| match replicas(field) {
                Some(grew) => grew && takes_room(kind),
                None => !field.path.starts_with(&["metadata"]) && !field.path.starts_with(&["spec", "revisionHistoryLimit"]),
            }),
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        },
    }
}
