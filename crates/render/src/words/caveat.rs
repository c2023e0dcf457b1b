//! What `what-if` does not take into account.

use ketcd_what_if::{GroupDoubt, Unmodelled};

/// The most names in a sentence.
const MAX_NAMES_SHOWN: usize = 5;

pub(crate) fn some<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let (shown, left) = (names.len().min(MAX_NAMES_SHOWN), names.len().saturating_sub(MAX_NAMES_SHOWN));
    let more = if left == 0 { String::new() } else { format!(" and {left} more") };
    format!("{}{more}", names[..shown].join(", "))
}

/// What the answer does not take into account, in a sentence.
pub fn caveat(unknown: &Unmodelled) -> String {
    match unknown {
        Unmodelled::Bare { pod } => format!("pod {pod} has no controller: nothing recreates it, and kubectl drain needs --force"),
        Unmodelled::Webhooks { configurations } => {
            format!("admission webhooks for pods ({configurations} configurations) may change or refuse what is created")
        }
        Unmodelled::DrainGoesOn { node, pods } => {
            format!(
                "kubectl drain tries again what a budget held back: once the others have left {node}, the budgets would let {pods} more go"
            )
        }
        Unmodelled::Controller { kind, name } => format!("ketcd does not know what {kind} {name} does when its pods are gone"),
        Unmodelled::NeverEnds { node } => {
            format!("node {node} does not answer, so its pods stay there, being deleted, until the node or the pods are removed")
        }
        Unmodelled::NoEvictions { zone } => {
            let place = zone.as_ref().map_or_else(|| "the cluster".to_owned(), |zone| format!("zone {zone}"));
            format!("most nodes of {place} do not answer, so kube-controller-manager evicts no pods there; its flags may say otherwise")
        }
        Unmodelled::OtherScheduler { name } => format!("pods of the scheduler {name} are not scheduled"),
        Unmodelled::Autoscaled { workload } => format!("an autoscaler may change the number of pods of {workload}"),
        Unmodelled::NodesAutoscaled { by } => format!("{by} may add nodes for the pods that find no place"),
        Unmodelled::Order { owners } => {
            format!("pods of {} are created at once; chance decides their order (--seeds plays others)", owners.join(", "))
        }
        Unmodelled::Rollout { workload } => {
            format!("ketcd does not know how fast pods of {workload} start and stop: other nodes may be chosen during its rollout")
        }
        Unmodelled::DeletedByChance { workload } => {
            format!("chance decides which pods of {workload} are deleted: some that go and some that stay are equal (--seeds plays others)")
        }
        Unmodelled::ImagePulls { pods: 1 } => "1 pod gets a node without its images: pulling takes time, and may fail".to_owned(),
        Unmodelled::ImagePulls { pods } => format!("{pods} pods get nodes without their images: pulling takes time, and may fail"),
        Unmodelled::PodGroup { group, doubt } => of_group(group, *doubt),
        Unmodelled::Provisioned { claim } => format!("a volume is assumed to be provided for claim {claim}"),
        Unmodelled::Extension { name } => format!("the scheduler also asks {name}, whose answers ketcd does not know"),
        Unmodelled::UnknownFit { pod, missing } => format!("whether pod {pod} fits the node that it got is unknown: {missing}"),
        Unmodelled::Unreadable { object } => format!("{object} cannot be read, so what depends on it is left out"),
        Unmodelled::PreemptionNode { pod, nodes } => format!(
            "chance decides on which node room is made for pod {pod}: {} are equally good (--seeds plays others)",
            some(nodes.iter().map(String::as_str))
        ),
        Unmodelled::Victims { pod, node } => {
            format!("chance decides which pods of node {node} make room for pod {pod}: some that go and some that stay are equal")
        }
        Unmodelled::PodsBounded { workload, most } => {
            format!(
                "{workload} wants more pods: one run adds no more than {most} to those that are there, so ketcd does not know what becomes of the rest"
            )
        }
        Unmodelled::NodesBounded { wanted, added } => {
            format!("{added} of {wanted} nodes are added: one run adds no more")
        }
        Unmodelled::Endless { steps } => format!("the cluster did not come to rest within {steps} steps"),
    }
}

/// What the answer does not take into account of a group of pods.
fn of_group(group: &str, doubt: GroupDoubt) -> String {
    match doubt {
        GroupDoubt::GateOff => format!(
            "pods of the group {group} are tried one by one: the scheduler is assumed to have its default gates (--feature-gates gives others)"
        ),
        GroupDoubt::Order => {
            format!("pods of the group {group} differ, and etcd does not hold the order in which they are tried: here by age")
        }
        GroupDoubt::Placement => {
            format!("several sets of nodes are equally good for the group {group}; chance decides which one the scheduler takes")
        }
        GroupDoubt::Preemption => {
            format!("ketcd cannot tell whether preemption makes room for the group {group}: there are too many combinations")
        }
        GroupDoubt::Victims => format!("chance partly decides which pods make room for the group {group}"),
        GroupDoubt::OfNewJob => {
            format!("the Job controller may make a group for the pods of Job {group}, as it did for other Jobs (its gate WorkloadWithJob)")
        }
        GroupDoubt::Sampled => {
            format!("ketcd evaluates every node for pods of the group {group}; the scheduler stops once it has found enough that fit")
        }
    }
}
