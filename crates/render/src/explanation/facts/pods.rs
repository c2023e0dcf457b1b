//! Checks on other pods, in words.

use ketcd_kube::Operator;
use ketcd_scheduler::cluster::Requirement;
use ketcd_scheduler::{FoundPod, PodCheck, SelectedNamespaces, SelectedPods, SpreadCheck, TopologyDomain};

use super::{first, list, pod};

/// What was checked. If there are several pods, the first is named.
pub(super) fn text(check: &PodCheck) -> String {
    match check {
        PodCheck::Nominated(pods) => {
            format!("nominated to it, and counted as if there: {}", pods.iter().map(pod).collect::<Vec<_>>().join(", "))
        }
        PodCheck::Affinity { selected, domain, found } => format!("the pod seeks {}, and {}", selection(selected), those(found, domain)),
        PodCheck::FirstOfItsKind => "no pod anywhere matches its affinity, but it does itself: it is the first of its kind".to_owned(),
        PodCheck::AntiAffinity { selected, domain, found } => {
            let selected: Vec<String> = selected.iter().map(selection).collect();
            format!("the pod avoids {}, and {}", selected.join(" that is at once "), those(found, domain))
        }
        PodCheck::OutsideTopology { key } => format!("it has no label {key}, so no pod is near by that term"),
        PodCheck::ExistingAntiAffinity { domain, found } => {
            format!("the pod is avoided {} by {}", place(domain), first(&names(found, domain), 1))
        }
        PodCheck::NoExistingAntiAffinity => "no pod in its domains avoids the pod".to_owned(),
        PodCheck::Spread(spread) => skew(spread),
        PodCheck::NoSpreadConstraints => "the pod has no spread constraint that must hold".to_owned(),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

pub(super) fn who(check: &PodCheck) -> Option<String> {
    const MAX_PODS_NAMED: usize = 3;
    match check {
        PodCheck::Affinity { domain, found, .. }
        | PodCheck::AntiAffinity { domain, found, .. }
        | PodCheck::ExistingAntiAffinity { domain, found } => {
            let others = names(found.get(1..).filter(|others| !others.is_empty())?, domain);
            Some(format!("also {}", first(&others, MAX_PODS_NAMED)))
        }
        _ => None,
    }
}

fn those(found: &[FoundPod], domain: &TopologyDomain) -> String {
    match (found, domain) {
        ([], _) => format!("none is {}", place(domain)),
        (_, TopologyDomain::AbsentNodes) => format!("the node of {} is gone", first(&names(found, domain), 1)),
        _ => format!("{} is {}", place(domain), first(&names(found, domain), 1)),
    }
}

fn place(domain: &TopologyDomain) -> String {
    match domain {
        TopologyDomain::Label { key, value } => format!("within {key}={value}"),
        TopologyDomain::Node => "on this node".to_owned(),
        TopologyDomain::EveryTerm => "near by".to_owned(),
        TopologyDomain::AbsentNodes => "on a node that is gone".to_owned(),
    }
}

/// Pods, each with its node if that is another node that exists.
fn names(found: &[FoundPod], domain: &TopologyDomain) -> Vec<String> {
    let name = |FoundPod { pod: key, node }: &FoundPod| match node {
        Some(node) if *domain != TopologyDomain::AbsentNodes => format!("{} on {node}", pod(key)),
        _ => pod(key),
    };
    found.iter().map(name).collect()
}

/// The pods a term selects, in a selector's notation, and their namespaces where these are not the pod's own.
fn selection(SelectedPods { labels, namespaces }: &SelectedPods) -> String {
    let labels = match labels.as_deref() {
        None => "a missing selector, which matches none".to_owned(),
        Some([]) => "any labels".to_owned(),
        Some(all) => all.iter().map(requirement).collect::<Vec<_>>().join(","),
    };
    match namespaces {
        SelectedNamespaces::Own => labels,
        SelectedNamespaces::BySelector => format!("{labels} (in namespaces by selector)"),
        SelectedNamespaces::Listed(namespaces) => format!("{labels} (in {})", namespaces.join(", ")),
    }
}

fn requirement(requirement: &Requirement) -> String {
    match requirement.operator {
        Operator::In if requirement.values.len() > 1 => format!("{} in ({})", requirement.key, requirement.values.join(",")),
        Operator::In => format!("{}={}", requirement.key, requirement.values.join("")),
        Operator::NotIn => format!("{} notin ({})", requirement.key, requirement.values.join(",")),
        Operator::Exists => requirement.key.to_string(),
        _ => format!("!{}", requirement.key),
    }
}

fn skew(of: &SpreadCheck) -> String {
    const MAX_DOMAINS_NAMED: usize = 6;
    let pods = if of.count == 1 { "pod" } else { "pods" };
    let one_more = if of.own > 0 { " and this one" } else { "" };
    let least = if of.few {
        format!("the emptiest counts as 0, as there are fewer than minDomains ({})", of.min_domains)
    } else {
        format!("the emptiest domain {}", of.least)
    };
    let domains = list(of.domains.iter().map(|(value, count)| format!("{value} {count}")), MAX_DOMAINS_NAMED);
    let (key, value, count, max_skew) = (&of.key, &of.value, of.count, of.max_skew);
    format!("{key}={value} holds {count} matching {pods}{one_more}, {least}: skew {}, maxSkew {max_skew} ({domains})", of.skew())
}
