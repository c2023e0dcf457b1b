//! What plugins and the code that runs them share, named as in upstream's `framework` package: the plugin's interface, the cycle passed to it, the
//! profile that lists it, and the judgement. It knows no single plugin.

mod check;
mod cycle;
mod fact;
mod fix;
mod group;
mod group_caveat;
mod group_cycle;
mod judgement;
mod need;
mod plugin;
mod profile;
mod score;
mod scores;
mod shape;
mod unverifiable;
mod verdict;

pub use check::{
    AllocatedDevice, ClassRequest, CountedVolume, DeviceCheck, FilterCheck, FoundPod, LabelCheck, NodeCheck, PodCheck, ResourceCheck,
    SelectedNamespaces, SelectedPods, SpreadCheck, TermCheck, TopologyDomain, VolumeCheck, WantedLabel,
};
pub use cycle::Cycle;
pub use fact::Fact;
pub(crate) use fix::is_free_label;
pub use fix::{Fix, VolumeRequest};
pub use group::{GroupScope, ListedNodes, PostFilters};
pub use group_caveat::{GroupCaveat, PlacementDoubt};
pub use group_cycle::{CompositeGroupResult, GroupCycle, GroupOutcome, MemberResult, PlacementResult};
pub use judgement::{Judgement, NodeJudgement, Sample, WholePod};
pub use need::{ChangeOf, MOST_CHANGES, Need, Obstacle, Touches};
pub use plugin::{Plugin, PostFilter, PreFilterExtensions, WithoutState};
pub(crate) use profile::GangPoints;
pub use profile::{FilterEntry, FilterMode, Profile, ScoreEntry};
pub use score::{Feasible, Normalize, PreScore, RawScore, Score};
pub use scores::{PluginScore, Scores};
pub(crate) use shape::{on_shape, part};
pub use unverifiable::Unverifiable;
pub use verdict::{Candidate, Filter, PreFilter, Refusal, Verdict};
