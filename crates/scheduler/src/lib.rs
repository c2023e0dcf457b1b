#![doc = include_str!("../README.md")]

mod cel;
pub mod cluster;
mod config;
mod cycle;
mod devices;
#[doc(hidden)]
pub mod door;
mod dra;
mod evidence;
mod explain;
mod explanation;
mod framework;
mod groups;
mod legacy;
mod plugins;
mod pod_groups;
mod preemption;
mod profile;
pub mod registry;
mod release;
mod remedies;
mod replay;
mod validation;
mod volumes;

pub use config::SchedulerConfiguration;
pub use devices::{ClaimDevices, NodeDevices, RecordedDevices, chosen as chosen_devices};
pub use dra::Allocation;
pub use evidence::compared;
pub use explanation::{
    Agreement, Assumption, Attempt, Caveat, DecidedBy, Depth, Evidence, Explanation, Help, Hopeless, Outcome, Remedy, StateSeen,
    UnreadObject,
};
pub use framework::{
    Candidate, ChangeOf, CompositeTried, Cycle, DriverWait, Fact, Feasible, Filter, FilterEntry, FilterMode, Fix, GroupCaveat, GroupCycle,
    GroupOutcome, Judgement, Listed, MOST_CHANGES, MemberTried, Need, NodeJudgement, Normalize, Obstacle, PlacementDoubt, PlacementTried,
    Plugin, PluginScore, PostFilter, PostFilters, PreFilter, PreFilterExtensions, PreScore, Profile, RawScore, Refusal, Sample, Scope,
    Score, ScoreEntry, Scores, Touches, Unverifiable, Verdict, VolumeRequest, WholePod, WithoutState,
};
pub use ketcd_kube::Release;
pub use preemption::victims::{PreemptionCandidate, Victim, candidates};
pub use profile::scheduler::Scheduler;
pub use release::{
    Arguments, Gates, NEWEST_SCHEDULER, OLDEST_SCHEDULER, PodTopologySpreadDefaults, Rules, ScoringStrategy, UnknownRelease,
    VersionEvidence, VersionFrom, detect, gate_refusals, judged_as, scheduler_patch, scheduler_release,
};
pub use replay::Replay;
