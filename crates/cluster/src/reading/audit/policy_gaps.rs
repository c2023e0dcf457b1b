//! What the policy of audit logs hides of the state that a scheduler saw, where the source is made of them.

use ketcd_scheduler::cluster::{ObjectProblem, WatchedKind};
use ketcd_scheduler::{Agreement, Caveat, Explanation, UnreadObject};

use crate::cluster::{Cluster, built_in};
use crate::notice::Notice;

/// Resources of kinds that a scheduler watches, each with what the logs leave out.
pub(super) fn of_scheduler(notices: &[Notice]) -> Vec<(String, &'static str)> {
    let parts = notices.iter().filter_map(|notice| match notice {
        Notice::AuditWithoutBodies { resources } => Some((resources, "bodies")),
        Notice::AuditWithoutAnswers { resources } => Some((resources, "answers")),
        _ => None,
    });
    let all = parts.flat_map(|(resources, what)| resources.iter().map(move |(resource, _)| (resource.clone(), what)));
    all.filter(|(resource, _)| is_watched(resource)).collect()
}

/// Whether a scheduler watches objects of a resource, which may have a group and a subresource.
fn is_watched(resource: &str) -> bool {
    let plural = resource.split(['.', '/']).next().unwrap_or_default();
    let mut kinds = built_in().iter().filter(|kind| kind.plural == *plural);
    kinds.any(|kind| WatchedKind::ALL.iter().any(|watched| watched.name() == kind.kind))
}

impl Cluster {
    /// Leaves open an answer that differs from what was recorded where the logs hide a part of the state, and says which.
    pub(crate) fn mark_hidden(&self, explanation: &mut Explanation) {
        if explanation.agreement != Agreement::Disagrees || self.audit.hidden.is_empty() {
            return;
        }
        explanation.agreement = Agreement::Unverifiable;
        let problem = |(resource, what): &(String, &str)| {
            let what = format!(
                "by their policy, the audit logs hold its changes without {what}: the evaluated state may lack some of them, or have them in another order"
            );
            UnreadObject::Problem(ObjectProblem { object: resource.clone(), what })
        };
        explanation.caveats.insert(0, Caveat::Unread(self.audit.hidden.iter().map(problem).collect()));
    }
}
