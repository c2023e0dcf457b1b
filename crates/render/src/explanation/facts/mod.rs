//! What filters checked on a node, in words: a fragment without a full stop, and in brackets who is behind the numbers.

mod devices;
mod labels;
mod node;
mod pods;
mod resources;
mod volumes;

use ketcd_scheduler::cluster::PodKey;
use ketcd_scheduler::{Fact, FilterCheck};

pub(super) use node::key_value_effect;

/// What was checked.
pub(super) fn text(fact: &Fact) -> String {
    let holds = fact.holds;
    match &fact.check {
        FilterCheck::Node(check) => node::text(check, holds),
        FilterCheck::Labels(check) => labels::text(check),
        FilterCheck::Resources(check) => resources::text(check),
        FilterCheck::Pods(check) => pods::text(check),
        FilterCheck::Volumes(check) => volumes::text(check, holds),
        FilterCheck::Devices(check) => devices::text(check, holds),
        FilterCheck::Upstream(reasons) => reasons.join(", "),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

/// The same, with the pods behind it: `cpu: 1 asked, 800m free; 3.2 of 4 taken (by shop/web-0 3.2)`.
pub(super) fn whole(fact: &Fact) -> String {
    let text = text(fact);
    let who = match &fact.check {
        FilterCheck::Resources(check) => resources::who(check),
        FilterCheck::Pods(check) => pods::who(check),
        _ => None,
    };
    match who {
        Some(who) => format!("{text} ({who})"),
        None => text,
    }
}

/// The first of several names, and how many more there are.
fn first(names: &[String], shown: usize) -> String {
    let more = names.len().saturating_sub(shown);
    let first = names[..names.len() - more].join(", ");
    if more > 0 { format!("{first} and {more} more") } else { first }
}

/// Some of a list, and how many more there are as its last item.
fn list(items: impl ExactSizeIterator<Item = String>, shown: usize) -> String {
    let more = items.len().saturating_sub(shown);
    let items = items.take(shown).chain((more > 0).then(|| format!("{more} more")));
    items.collect::<Vec<_>>().join(", ")
}

fn pod((namespace, name): &PodKey) -> String {
    format!("{namespace}/{name}")
}

#[cfg(test)]
mod tests {
    use ketcd_scheduler::{CountedVolume, FoundPod, PodCheck, ResourceCheck, TopologyDomain, VolumeCheck};

    use super::*;

    fn key(name: &str) -> PodKey {
        ("shop".into(), name.into())
    }

    #[test]
    fn long_lists_are_cut() {
        let pods = [("a", 2000), ("b", 1500), ("c", 250), ("d", 1)].map(|(name, requested)| (key(name), requested)).into();
        let cpu = ResourceCheck::Requested { resource: "cpu".into(), requested: 1500, used: 3751, allocatable: 4000, pods };
        assert_eq!(
            whole(&Fact::refusing(cpu)),
            "cpu: 1.5 asked, 249m free; 3.75 of 4 taken (by shop/a 2, shop/b 1.5, shop/c 250m, 1 more)"
        );
        let attached = ["d1", "d2", "d3", "d4"].map(|id| CountedVolume::Handle(id.to_owned())).into();
        let disks = VolumeCheck::InTreeLimit { attached, added: vec![CountedVolume::Claim("shop/data".to_owned())], limit: 4 };
        assert_eq!(whole(&Fact::refusing(disks)), "4 attached (d1, d2, d3, d4), 1 more asked (claim shop/data), limit 4");
        let found = ["a", "b", "c", "d", "e"].map(|name| FoundPod { pod: key(name), node: Some("n2".into()) }).into();
        let domain = TopologyDomain::Label { key: "zone".into(), value: "z1".into() };
        let avoided = Fact::refusing(PodCheck::ExistingAntiAffinity { domain, found });
        assert_eq!(text(&avoided), "the pod is avoided within zone=z1 by shop/a on n2 and 4 more");
        assert!(whole(&avoided).ends_with(" (also shop/b on n2, shop/c on n2, shop/d on n2 and 1 more)"), "{}", whole(&avoided));
    }

    #[test]
    fn amounts_are_written_in_the_units_of_their_resource() {
        let with_devices = |resource: &str, requested, used, allocatable| {
            text(&Fact::refusing(ResourceCheck::WithDevices { resource: resource.into(), requested, used, allocatable }))
        };
        assert_eq!(with_devices("cpu", 1250, 999, 2000), "cpu: 1.25 asked with what the devices take, 999m of 2 taken");
        let memory = with_devices("hugepages-2Mi", 3 << 29, 512, 1 << 40);
        assert_eq!(memory, "hugepages-2Mi: 1.5Gi asked with what the devices take, 512 of 1Ti taken");
        assert_eq!(with_devices("example.com/gpu", 2048, 1, 2), "example.com/gpu: 2048 asked with what the devices take, 1 of 2 taken");
    }
}
