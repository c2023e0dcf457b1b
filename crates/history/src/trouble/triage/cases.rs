//! Pods and workloads that have a trouble, and what relates them to other objects.

use jiff::Timestamp;
use serde_json::Value;

use super::finding::Finding;
use crate::timeline::Subject;
use crate::trouble::{Trouble, TroubleKind, text, time};

/// A kind, a namespace and a name.
pub(super) type Named = (String, String, String);

pub(super) struct PodCase {
    pub subject: Subject,
    pub trouble: Trouble,
    /// Whether the trouble has lasted long enough to count by itself.
    pub is_due: bool,
    pub created: Option<Timestamp>,
    pub node: Option<String>,
    /// The node that it is to be bound to, or on which others make room.
    pub nominated: String,
    pub controller: Option<Named>,
    /// What its controller is of: the Deployment behind a ReplicaSet.
    pub workload: Option<Subject>,
    pub claims: Vec<String>,
}

impl PodCase {
    pub(super) fn new(subject: Subject, pod: &Value, trouble: Trouble, is_due: bool) -> Self {
        let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
        let claims = volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str()).map(str::to_owned).collect();
        Self {
            trouble,
            is_due,
            created: time(&pod["metadata"]["creationTimestamp"]),
            node: pod["spec"]["nodeName"].as_str().map(str::to_owned),
            nominated: text(&pod["status"]["nominatedNodeName"]).unwrap_or_default(),
            controller: controller_of(pod),
            workload: None,
            claims,
            subject,
        }
    }

    /// Whether it waits for a node or to start.
    pub(super) fn waits(&self) -> bool {
        matches!(self.trouble.kind, TroubleKind::Unschedulable | TroubleKind::NotScheduled | TroubleKind::NotStarting)
    }

    /// Takes note that a node was chosen for it, for which its volume is to be made: what the scheduler said before is over.
    pub(super) fn await_volume(&mut self, node: &str, provisioner: &str) {
        self.await_binding(TroubleKind::VolumeAwaited, vec![node.to_owned(), provisioner.to_owned()]);
    }

    /// The same for a device of a claim, which its driver has to make ready.
    pub(super) fn await_device(&mut self, [claim, driver]: &[String; 2]) {
        self.await_binding(TroubleKind::DeviceAwaited, vec![self.nominated.clone(), claim.clone(), driver.clone()]);
    }

    fn await_binding(&mut self, kind: TroubleKind, about: Vec<String>) {
        if matches!(self.trouble.kind, TroubleKind::Unschedulable | TroubleKind::NotScheduled) {
            self.trouble = Trouble { since: self.trouble.since, about, ..Trouble::new(kind) };
        }
    }

    /// Whether its trouble is one that pods get when their node is gone.
    pub(super) fn is_lost_with_node(&self) -> bool {
        matches!(self.trouble.kind, TroubleKind::Terminating | TroubleKind::NotReady | TroubleKind::NotStarting)
    }
}

pub(super) struct WorkloadCase {
    pub subject: Subject,
    /// The gravest first.
    pub troubles: Vec<Trouble>,
    /// Whether it is part of a finding.
    pub is_used: bool,
}

impl WorkloadCase {
    /// What is wrong with it, as a finding: the first trouble that `counts`.
    pub(super) fn finding(&self, counts: impl Fn(&Trouble) -> bool) -> Option<Finding> {
        let trouble = self.troubles.iter().find(|trouble| counts(trouble))?;
        let missing = trouble.numbers.map_or(0, |(ready, wanted)| usize::try_from(wanted - ready).unwrap_or(0));
        Some(Finding::new(self.subject.clone(), trouble.clone(), missing))
    }
}

pub(super) fn controller_of(object: &Value) -> Option<Named> {
    let metadata = &object["metadata"];
    let owner = metadata["ownerReferences"].as_array()?.iter().find(|owner| owner["controller"] == true)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Some((text(&owner["kind"]), text(&metadata["namespace"]), text(&owner["name"])))
}
