//! Filters that a configuration runs without their PreFilter, which would have left them a state to read.

use crate::scheduler::plugin::{PreFilter, Verdict};
use crate::scheduler::plugins::volume_restrictions;
use crate::scheduler::{Cycle, Profile, Release};

/// What a filter does without its PreFilter.
enum Alone {
    /// It finds out by itself (`getPreFilterState` in `nodeaffinity/node_affinity.go`, `volumezone/volume_zone.go`; those of `nodevolumelimits`
    /// keep no state).
    FindsOut,
    /// It fails on every node with this error, as there is no state to read (the plugin's `getPreFilterState` or `getStateData`).
    Fails(String),
    /// It looks for conflicting disks, which needs no state, and then fails with this error, if it goes on to claims at all
    /// (`volumerestrictions/volume_restrictions.go`, since 1.27).
    AfterDisks(Option<String>),
    /// Not modelled.
    Unknown,
}

fn alone(name: &str, release: Release) -> Alone {
    let newer = if release.0 >= 20 { "" } else { "error " };
    match name {
        "NodeAffinity" | "VolumeZone" | "NodeVolumeLimits" | "EBSLimits" | "GCEPDLimits" | "AzureDiskLimits" | "CinderLimits" => {
            Alone::FindsOut
        }
        "NodePorts" | "PodTopologySpread" => Alone::Fails(format!("{newer}reading \"PreFilter{name}\" from cycleState: not found")),
        "NodeResourcesFit" | "InterPodAffinity" => Alone::Fails(format!("error reading \"PreFilter{name}\" from cycleState: not found")),
        "VolumeBinding" | "DynamicResources" => Alone::Fails("not found".to_owned()),
        "VolumeRestrictions" => Alone::AfterDisks((release.0 >= 27).then(|| format!("cannot read \"PreFilter{name}\" from cycleState"))),
        "NodeDeclaredFeatures" => Alone::Fails(format!("error reading \"PreFilter{name}\" from cycle-state: not found")),
        _ => Alone::Unknown,
    }
}

/// Whether it is known here what the filter does without its PreFilter.
pub fn is_known(name: &str, release: Release) -> bool {
    !matches!(alone(name, release), Alone::Unknown)
}

/// What a plugin's function fails with that needs the state its PreFilter did not leave.
pub fn error(name: &str, release: Release) -> Option<String> {
    match alone(name, release) {
        Alone::Fails(error) => Some(error),
        Alone::AfterDisks(error) => error,
        Alone::FindsOut | Alone::Unknown => None,
    }
}

/// The gate without which a plugin does nothing, or no more than look for disks.
fn is_on(name: &str, profile: &Profile) -> bool {
    let gate = match name {
        "DynamicResources" => "DynamicResourceAllocation",
        "NodeDeclaredFeatures" => "NodeDeclaredFeatures",
        "VolumeRestrictions" => "ReadWriteOncePod",
        _ => return true,
    };
    profile.gates.on(gate)
}

/// What becomes of a filter that runs without its PreFilter, which would have said `prefilter`.
pub fn without_prefilter<'a>(name: &str, prefilter: PreFilter<'a>, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
    let on = is_on(name, cycle.profile);
    match (alone(name, cycle.profile.release), prefilter) {
        (Alone::Fails(error), _) if on => PreFilter::Judge(Box::new(move |_| Verdict::Error(error.clone()))),
        (Alone::Fails(_), _) => PreFilter::Judge(Box::new(|_| Verdict::Pass)),
        (Alone::AfterDisks(error), _) => {
            let (disks, error) = (volume_restrictions::disks(cycle.pod), error.filter(|_| on));
            PreFilter::Judge(Box::new(move |node| match (disks(node), &error) {
                (Verdict::Pass, Some(error)) => Verdict::Error(error.clone()),
                (verdict, _) => verdict,
            }))
        }
        // Nobody skips the filter or narrows the choice: it is left to look at each node.
        (_, PreFilter::Skip) => PreFilter::Judge(Box::new(|_| Verdict::Pass)),
        (_, PreFilter::Narrow(_, filter)) => PreFilter::Judge(filter),
        (_, other) => other,
    }
}
