//! What plugins and those who run them have in common, named as in upstream's `framework` package: the plugin's interface, the cycle that asks
//! it, the profile that lists it and the judgement that comes of it. It knows no single plugin.

mod cycle;
mod fact;
mod group;
mod group_cycle;
mod judgement;
mod plugin;
mod profile;
mod sample;
mod scores;
mod shape;

pub use cycle::Cycle;
pub use fact::Fact;
pub use group::{Listed, PostFilters, Scope};
pub use group_cycle::{CompositeTried, GroupCycle, GroupOutcome, MemberTried, PlacementTried};
pub use judgement::{DriverWait, Judgement, NodeJudgement, WholePod};
pub use plugin::{
    Candidate, Feasible, Filter, Normalize, Plugin, PostFilter, PreFilter, PreScore, RawScore, Refusal, Score, Verdict, WithoutState,
};
pub(crate) use profile::Gang;
pub use profile::{FilterEntry, FilterMode, Profile, ScoreEntry};
pub use sample::Sample;
pub use scores::{PluginScore, Scores};
pub(crate) use shape::{on_shape, part};
