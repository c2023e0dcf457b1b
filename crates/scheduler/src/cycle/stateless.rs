//! Filters and scores that a configuration runs without their PreFilter or PreScore, which would have left them a state to read.

use crate::plugin::{PreFilter, PreScore, Verdict};
use crate::plugins::volume_restrictions;
use crate::{Cycle, Profile, Release};

/// What a plugin does without its PreFilter or PreScore.
enum Alone {
    /// It finds out by itself (its `Score`; `getPreFilterState` in `nodeaffinity/node_affinity.go`, `volumezone/volume_zone.go`; those of
    /// `nodevolumelimits` keep no state).
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
        "ServiceAffinity" => Alone::Fails(format!("error reading \"PreFilter{name}\" from cycleState: not found")),
        "NodeDeclaredFeatures" => Alone::Fails(format!("error reading \"PreFilter{name}\" from cycle-state: not found")),
        _ => Alone::Unknown,
    }
}

/// Whether it is known here what the filter does without its PreFilter.
pub(crate) fn is_known(name: &str, release: Release) -> bool {
    !matches!(alone(name, release), Alone::Unknown)
}

/// What a plugin's function fails with that needs the state its PreFilter did not leave.
pub(crate) fn error(name: &str, release: Release) -> Option<String> {
    match alone(name, release) {
        Alone::Fails(error) => Some(error),
        Alone::AfterDisks(error) => error,
        Alone::FindsOut | Alone::Unknown => None,
    }
}

/// The same of a score without its PreScore.
fn alone_scoring(name: &str, release: Release) -> Alone {
    let reading = |words: &str| Alone::Fails(format!("{words} \"PreScore{name}\" from cycleState: not found"));
    match name {
        "NodeAffinity" | "NodeResourcesFit" | "NodeResourcesBalancedAllocation" | "VolumeBinding" => Alone::FindsOut,
        "PodTopologySpread" => reading("error reading"),
        "TaintToleration" | "InterPodAffinity" | "SelectorSpread" | "DefaultPodTopologySpread" | "NodeResourceLimits"
            if release.0 <= 19 =>
        {
            reading("Error reading")
        }
        "TaintToleration" | "InterPodAffinity" => reading("failed to read"),
        "SelectorSpread" => reading("reading"),
        _ => Alone::Unknown,
    }
}

/// Whether it is known here what the score does without its PreScore.
pub(crate) fn is_known_scoring(name: &str, release: Release) -> bool {
    !matches!(alone_scoring(name, release), Alone::Unknown)
}

/// What becomes of a score that runs without its PreScore, which would have said `prescore`.
pub(crate) fn without_prescore<'a>(name: &str, prescore: PreScore<'a>, cycle: &Cycle) -> PreScore<'a> {
    let release = cycle.profile.release;
    // Pods with constraints of their own are not spread by selectors, and no state is asked for.
    let spread = matches!(name, "SelectorSpread" | "DefaultPodTopologySpread") && !cycle.pod.spec.spread.is_empty();
    match (alone_scoring(name, release), prescore) {
        (Alone::Fails(error), _) if !spread && release.0 <= 19 => {
            PreScore::Error(format!("error while running score plugin for pod {:?}: {error}", &*cycle.pod.name))
        }
        (Alone::Fails(error), _) if !spread => PreScore::Error(format!("running Score plugins: plugin {name:?} failed with: {error}")),
        (_, PreScore::Skip) => PreScore::plain(|_| 0),
        (_, other) => other,
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
pub(crate) fn without_prefilter<'a>(name: &str, prefilter: PreFilter<'a>, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
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
