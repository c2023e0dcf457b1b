//! Words for caveats about the cycle of a pod group.

use ketcd_scheduler::cluster::PodKey;
use ketcd_scheduler::{GroupCaveat, PlacementDoubt};

/// A caveat in one sentence without its full stop.
pub(super) fn group_caveat(caveat: &GroupCaveat) -> String {
    let full_name = |(namespace, name): &PodKey| format!("{namespace}/{name}");
    match caveat {
        GroupCaveat::KeptAside { error } => {
            format!("the scheduler does not try the pod yet ({error}): it is evaluated as if it had no group")
        }
        GroupCaveat::PreemptionNotTried { victims, nodes } => format!(
            "whether preemption would make room for the group was not computed: {victims} possible victims on {nodes} nodes are too many to try"
        ),
        GroupCaveat::MemberTied { pod, node, tied } => {
            let more = if tied.len() > 1 { format!(" and {} more", tied.len() - 1) } else { String::new() };
            let (pod, first) = (full_name(pod), tied.first().map_or("", |first| &**first));
            format!(
                "{pod} of its group could have got {first}{more} as well as {node}: one is chosen at random, and the pods after it depend on it"
            )
        }
        GroupCaveat::MemberUncertain { pod, doubt } => {
            format!("the node of {} of its group is uncertain: {}", full_name(pod), placement_doubt(doubt))
        }
        GroupCaveat::PlacementTied { chosen, tied } => {
            format!("placement {} is as good as {chosen}: one is chosen at random", tied.first().map_or("", |first| &**first))
        }
        GroupCaveat::MismatchDrawn => "several pods differ from their group; which one is reported is random".to_owned(),
        GroupCaveat::VictimsDrawn => "other pods may be the group's victims: the scheduler's choice is random".to_owned(),
        GroupCaveat::ErrorDrawn => "which node or pod the error names is random".to_owned(),
        GroupCaveat::TriedTogether { pods, composite, order } => tried_together(*pods, composite.as_deref(), *order),
        GroupCaveat::HeldBack(gated) => {
            let Some((name, plugin)) = gated.first() else { return String::new() };
            let more = if gated.len() > 1 { format!("and {} more are", gated.len() - 1) } else { "is".to_owned() };
            format!("{name} of its group {more} kept out of the queue by {plugin}: since 1.37 the others are not tried until it enters")
        }
        GroupCaveat::PlacementReported { name, tried } => {
            format!("the scheduler reports the first of {tried} placements it tries, in random order: here {name}")
        }
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

fn placement_doubt(doubt: &PlacementDoubt) -> String {
    match doubt {
        PlacementDoubt::VolumesDrawn => "which of several volumes its claims get is random".to_owned(),
        PlacementDoubt::Filter { node, missing } => format!("{node}: {missing}"),
        PlacementDoubt::Score { plugin, missing } => format!("the score of {plugin} is unknown: {missing}"),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

fn tried_together(pods: usize, composite: Option<&str>, order: bool) -> String {
    let whose = composite.map_or_else(|| format!("group's {pods} pods"), |name| format!("{pods} pods of {name}"));
    let order = if order {
        "; the order of pods of one priority is not in etcd: here those refused before come first, then the older, then by name"
    } else {
        ""
    };
    format!("that the {whose} without a node were tried together is inferred from the state{order}")
}
