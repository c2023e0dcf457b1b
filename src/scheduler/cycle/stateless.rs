//! Filters that a configuration runs without their PreFilter, which would have left them a state to read.

use crate::scheduler::plugin::{Filter, PreFilter, Verdict};
use crate::scheduler::{Profile, Release};

/// What a filter does without its PreFilter.
enum Alone {
    /// It finds out by itself (`getPreFilterState` in `nodeaffinity/node_affinity.go`, `volumezone/volume_zone.go`; those of `nodevolumelimits`
    /// keep no state).
    FindsOut,
    /// It fails on every node with this error, as there is no state to read (the plugin's `getPreFilterState` or `getStateData`).
    Fails(String),
    /// It fails so unless a disk conflicts, which it looks for first (`volumerestrictions/volume_restrictions.go`, since 1.27).
    FailsAfterDisks(String),
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
        "VolumeBinding" => Alone::Fails("not found".to_owned()),
        "VolumeRestrictions" if release.0 >= 27 => Alone::FailsAfterDisks(format!("cannot read \"PreFilter{name}\" from cycleState")),
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
        Alone::Fails(error) | Alone::FailsAfterDisks(error) => Some(error),
        Alone::FindsOut | Alone::Unknown => None,
    }
}

/// What becomes of a filter that runs without its PreFilter, which would have said `prefilter`.
pub fn without_prefilter<'a>(name: &str, prefilter: PreFilter<'a>, profile: &Profile) -> PreFilter<'a> {
    let always = |error: String| -> Filter<'a> { Box::new(move |_| Verdict::Error(error.clone())) };
    match (alone(name, profile.release), prefilter) {
        (Alone::Fails(error), _) | (Alone::FailsAfterDisks(error), PreFilter::Skip | PreFilter::Refuse(_) | PreFilter::Error(_)) => {
            PreFilter::Judge(always(error))
        }
        (Alone::FailsAfterDisks(error), PreFilter::Judge(filter) | PreFilter::Narrow(_, filter)) => {
            PreFilter::Judge(Box::new(move |node| {
                let conflict =
                    |verdict: &Verdict| matches!(verdict, Verdict::Reject(refusal) if refusal.reasons == ["node(s) had no available disk"]);
                Some(filter(node)).filter(conflict).unwrap_or_else(|| Verdict::Error(error.clone()))
            }))
        }
        // Nobody skips the filter or narrows the choice: it is left to look at each node.
        (_, PreFilter::Skip) => PreFilter::Judge(Box::new(|_| Verdict::Pass)),
        (_, PreFilter::Narrow(_, filter)) => PreFilter::Judge(filter),
        (_, other) => other,
    }
}
