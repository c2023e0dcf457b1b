//! Why a pod may, may not, or should run on a node: kube-scheduler's rules of every release, rerun on the state etcd held.

mod agreement;
mod arguments;
mod attempt;
mod caveats;
mod cel;
mod cycle;
mod dra;
mod evidence;
mod explanation;
mod fit_error;
mod gates;
mod legacy;
mod own_writes;
mod plugin;
pub mod plugins;
mod preemption;
mod profile;
mod release;
mod replay;
pub mod rules;
mod sampling;
mod scoring;
mod version;
mod volumes;

pub use arguments::{Arguments, PodTopologySpreadDefaults, ScoringStrategy};
pub use cycle::{Cycle, Judgement, NodeJudgement, WholePod};
pub use explanation::{Agreement, Attempt, Depth, Evidence, Explanation, Outcome, Remedy, VersionFrom};
pub use gates::Gates;
pub use plugin::{Candidate, Filter, Normalize, Plugin, PreFilter, PreScore, RawScore, Refusal, Score, Verdict};
pub use profile::{FilterEntry, FilterMode, Profile, ScoreEntry};
pub use release::{Release, UnknownRelease};
pub use replay::{Replay, Scheduler};
pub use rules::Rules;
pub use sampling::enough as enough_nodes;
pub use scoring::{PluginScore, Scores};
pub use version::detect;
