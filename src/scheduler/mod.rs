//! Why a pod may, may not, or should run on a node: kube-scheduler's rules of every release, rerun on the state etcd held.

mod arguments;
mod cycle;
mod explanation;
mod fit_error;
mod gates;
mod plugin;
pub mod plugins;
mod preemption;
mod profile;
mod release;
pub mod rules;
mod scoring;

pub use arguments::{Arguments, PodTopologySpreadDefaults, ScoringStrategy};
pub use cycle::{Cycle, Judgement, NodeJudgement, WholePod};
pub use explanation::{Attempt, Explanation, Outcome, VersionFrom};
pub use gates::Gates;
pub use plugin::{Candidate, Filter, Normalize, Plugin, PreFilter, PreScore, RawScore, Refusal, Score, Verdict};
pub use profile::{FilterEntry, FilterMode, Profile, ScoreEntry};
pub use release::{Release, UnknownRelease};
pub use rules::Rules;
pub use scoring::{PluginScore, Scores};
