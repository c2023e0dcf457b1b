//! What applying manifests to a cluster would change, and what stands in the way.

use std::io;

use ketcd_cluster::diff::NamedDifference;
use ketcd_cluster::extract::Plan;
use ketcd_history::diff::{ManagedFields, object_patch};
use ketcd_restore::obstacles::{ApplyObstacle, Effect};

use super::comparison::{self, Showing};
use super::contract::common::KubernetesObject;
use super::contract::extract as contract;
use super::style::{self, StyledWrite, paint};
use super::visible::visible;

/// Writes a plan as text.
///
/// # Errors
/// The stream's.
pub fn write_text(plan: &Plan, showing: Showing, out: &mut dyn StyledWrite) -> io::Result<()> {
    comparison::write_text(&format!("apply to {}", plan.target), &plan.changes, showing, out)?;
    if plan.unchanged > 0 {
        writeln!(out, "{} as they are", plan.unchanged)?;
    }
    if !plan.obstacles.is_empty() {
        writeln!(out, "\n{}", paint(style::STRONG, "in the way"))?;
    }
    for (problem, objects) in &plan.obstacles {
        let names: Vec<String> = objects.iter().map(ToString::to_string).collect();
        let effect = match problem.effect() {
            Effect::Refused => "refused",
            Effect::MayBeRefused => "may be refused",
            Effect::Waits => "without effect",
        };
        writeln!(out, "  {}  {}", paint(style::WARNING, effect), visible(&message(problem)))?;
        writeln!(out, "      {}", visible(&names.join(", ")))?;
    }
    Ok(())
}

/// What a problem is, in a sentence.
fn message(problem: &ApplyObstacle) -> String {
    match problem {
        ApplyObstacle::NotServed { api_version } => format!(
            "{api_version} is not served with this kind: its CustomResourceDefinition is missing (--with crds adds it), or the version was removed (--api-version preferred --release 1.NN)"
        ),
        ApplyObstacle::NamespaceMissing { namespace } => {
            format!("namespace {namespace} does not exist; extract ns/{namespace}, or create it")
        }
        ApplyObstacle::NamespaceTerminating { namespace } => format!("namespace {namespace} is being deleted; wait until it is gone"),
        ApplyObstacle::Immutable { fields } => format!("{} cannot be changed; delete the object first", fields.join(", ")),
        ApplyObstacle::Needed { needed } => {
            format!("{needed} does not exist, and the API server admits no Pod without it (--with config adds it)")
        }
        ApplyObstacle::NodePortTaken { port, by } => format!("node port {port} is taken by {by}; leave out --keep node-port"),
        ApplyObstacle::ClusterIpTaken { address, by } => format!("address {address} is taken by {by}; leave out --keep cluster-ip"),
        ApplyObstacle::QuotaExceeded { quota, resource, hard, used, requested } => {
            format!("{quota} allows {resource} {hard} and {used} is used; these request {requested}")
        }
        ApplyObstacle::WebhookUnreachable { configuration, webhook, service } => {
            format!("the webhook {webhook} of {configuration} must answer, but {service} does not exist")
        }
        ApplyObstacle::Webhook { configuration, webhook, must_answer } => {
            let reach = if *must_answer { ", and must answer" } else { "" };
            format!("the API server calls the webhook {webhook} of {configuration}{reach}")
        }
        ApplyObstacle::Policy { policy } => format!("{policy} is evaluated"),
        ApplyObstacle::LimitRange { limits } => format!("{limits} limits it, and sets the resources that it leaves out"),
        ApplyObstacle::Terminating => "the object is being deleted, and changes to it will be lost; wait until it is gone".to_owned(),
        ApplyObstacle::VolumeReserved { uid } => {
            format!(
                "the volume is Released and reserved for the claim with the uid {uid}; kubectl patch it with {{\"spec\":{{\"claimRef\":{{\"uid\":null}}}}}}"
            )
        }
        ApplyObstacle::Missing { missing } => format!("{missing} is referred to but does not exist; what needs it will wait"),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

/// The JSON of a plan.
pub fn document(plan: &Plan, managed_fields: ManagedFields) -> contract::Plan<'_> {
    let changes = plan.changes.iter().map(|named| change(named, managed_fields)).collect();
    let obstacles = plan.obstacles.iter().map(|(problem, objects)| contract::Obstacle {
        effect: problem.effect().into(),
        message: message(problem),
        objects: objects.iter().map(Into::into).collect(),
        other: problem.other().map(Into::into),
        problem: problem.into(),
    });
    contract::Plan { kind: "Plan", changes, obstacles: obstacles.collect(), unchanged: plan.unchanged }
}

fn change(named: &NamedDifference, managed_fields: ManagedFields) -> contract::PlannedChange<'_> {
    let difference = &named.difference;
    let patch = match (difference.before.whole(), difference.after.whole()) {
        (Some(before), Some(after)) => Some(object_patch(before, after, managed_fields)),
        _ => None,
    };
    contract::PlannedChange {
        kind: difference.kind().into(),
        address: String::from_utf8_lossy(&difference.key),
        object_kind: &named.subject.kind,
        namespace: &named.subject.namespace,
        name: &named.subject.name,
        object: difference.after.object().map(|object| KubernetesObject { object, managed_fields }),
        patch,
    }
}
