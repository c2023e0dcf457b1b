//! Why a pod may, may not, or should run on a node: kube-scheduler's rules of every release, rerun on the state etcd held.

mod caveats;
mod cel;
pub mod cluster;
mod config;
mod cycle;
mod devices;
#[doc(hidden)]
pub mod door;
mod dra;
mod evidence;
mod explanation;
mod groups;
mod legacy;
mod plugin;
pub mod plugins;
mod preemption;
mod profile;
mod remedies;
mod replay;
mod volumes;

pub use config::SchedulerConfiguration;
pub use cycle::Cycle;
pub use cycle::judgement::{Judgement, NodeJudgement, WholePod};
pub use cycle::sampling::Sample;
pub use cycle::scoring::{PluginScore, Scores};
pub use devices::{ClaimDevices, NodeDevices, RecordedDevices, chosen as chosen_devices};
pub use dra::Allocation;
pub use dra::driver::DriverWait;
pub use evidence::compared;
pub use explanation::{Agreement, Attempt, Depth, Evidence, Explanation, Fact, Help, Hopeless, Outcome, Remedy, VersionFrom};
pub use groups::{CompositeTried, GroupCycle, GroupOutcome, MemberTried, PlacementTried, PostFilters, Scope};
pub use ketcd_kube::Release;
pub use plugin::{Candidate, Feasible, Filter, Normalize, Plugin, PreFilter, PreScore, RawScore, Refusal, Score, Verdict};
pub use preemption::victims::{PreemptionCandidate, Victim, candidates};
pub use profile::arguments::{Arguments, PodTopologySpreadDefaults, ScoringStrategy};
pub use profile::gate_lives::refusals as gate_refusals;
pub use profile::gates::Gates;
pub use profile::release::{NEWEST_SCHEDULER, OLDEST_SCHEDULER, UnknownRelease, judged_as, scheduler_patch, scheduler_release};
pub use profile::rules::Rules;
pub use profile::scheduler::Scheduler;
pub use profile::version::detect;
pub use profile::{FilterEntry, FilterMode, Profile, ScoreEntry};
pub use replay::Replay;
pub use replay::origin::DecidedBy;
