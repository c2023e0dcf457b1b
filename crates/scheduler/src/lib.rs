#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod api;
mod cel;
pub mod cluster;
mod config;
mod cycle;
mod devices;
mod dra;
mod evidence;
mod explain;
mod explanation;
mod framework;
#[doc(hidden)]
pub mod fuzz;
mod groups;
mod legacy;
mod plugins;
mod pod_groups;
mod preemption;
mod profile;
pub mod queue;
pub mod registry;
mod release;
mod remedies;
mod replay;
mod reservation;
mod suitability;
mod validation;
mod volumes;

pub use config::{LeaderLock, SchedulerConfiguration};
pub use devices::{ClaimDevices, NodeDevices, RecordedDevices, chosen as chosen_devices};
pub use dra::Allocation;
pub use evidence::compared;
pub use explanation::{
    Agreement, AssumedPod, Assumption, Attempt, AttemptOutcome, Caveat, DecidedBy, Depth, Evidence, Explanation, Help, Hopeless,
    NeighbourDoubt, Remedy, StateSeen, UnreadObject, UnseenEnd,
};
pub use framework::{
    AllocatedDevice, Candidate, ChangeOf, ClassRequest, CompositeGroupResult, CountedVolume, Cycle, DeviceCheck, Fact, Feasible, Filter,
    FilterCheck, FilterEntry, FilterMode, Fix, FoundPod, GroupCaveat, GroupCycle, GroupOutcome, GroupScope, Judgement, LabelCheck,
    ListedNodes, MOST_CHANGES, MemberResult, Need, NodeCheck, NodeJudgement, Normalize, Obstacle, PlacementDoubt, PlacementResult, Plugin,
    PluginScore, PodCheck, PostFilter, PostFilters, PreFilter, PreFilterExtensions, PreScore, Profile, RawScore, Refusal, ResourceCheck,
    Sample, Score, ScoreEntry, Scores, SelectedNamespaces, SelectedPods, SpreadCheck, TermCheck, TopologyDomain, Touches, Unverifiable,
    Verdict, VolumeCheck, VolumeRequest, WantedLabel, WholePod, WithoutState,
};
pub use groups::{PlayedGroup, PlayedMember, play_group};
pub use ketcd_kube::Release;
pub use preemption::victims::{PreemptionCandidate, Victim, candidates};
pub use profile::scheduler::Scheduler;
pub use release::{
    Arguments, Gates, NEWEST_SCHEDULER, OLDEST_SCHEDULER, PodTopologySpreadDefaults, Rules, ScoringStrategy, UnknownRelease,
    VersionEvidence, VersionFrom, applied_release, detect, gate_refusals, scheduler_patch, scheduler_release,
};
pub use replay::{LOOK_AHEAD, OpenAttempts, Replay, RestartedSchedulers};
pub use reservation::{Reservation, reservation};
pub use suitability::{Suitability, Suitor, suitability};
