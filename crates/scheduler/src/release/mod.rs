//! What each release of kube-scheduler is: its rules, its feature gates and their defaults, its default plugins, and which release wrote the data.
//! Only this layer compares releases; every difference between two of them has a name here.

#[macro_use]
mod rows;

mod affinity_rules;
mod arguments;
mod claim_rules;
mod config_rules;
mod cycle_rules;
mod default_plugins;
mod device_pool_rules;
mod device_rules;
mod device_words;
mod extension_points;
mod formulas;
mod gate_lifecycle;
mod gates;
mod known_releases;
mod node_rules;
mod policy_rules;
mod predicate_affinity_rules;
mod predicate_rules;
mod preemption_rules;
mod rules;
mod span;
mod validation_words;
mod version;
mod volume_limit_rules;
mod volume_plugin_rules;
mod volume_rules;

pub(crate) use affinity_rules::{SiblingRule, UnparsedAffinity, UnparsedTerms};
pub use arguments::{Arguments, PodTopologySpreadDefaults, ScoringStrategy};
pub(crate) use config_rules::ConfigRules;
pub(crate) use cycle_rules::{Listing, Sampling};
pub(crate) use default_plugins::{DEFAULT_FILTERS, DEFAULT_SCORES, PREFILTER_ORDER, added_scores, row, takes_part};
pub(crate) use device_rules::DeviceRules;
pub(crate) use extension_points::{Point, extends, is_in_tree, was_in_tree};
pub(crate) use formulas::{
    AffinityOrder, BalancedFormula, FitErrorFormat, ImageFormula, MultiPointOrder, PreemptionCandidates, SpreadFormula, WithoutConstraints,
};
pub use gate_lifecycle::refusals as gate_refusals;
pub use gates::Gates;
pub use known_releases::{NEWEST_SCHEDULER, OLDEST_SCHEDULER, UnknownRelease, applied_release, scheduler_patch, scheduler_release};
pub(crate) use policy_rules::PolicyRules;
pub(crate) use predicate_affinity_rules::TermGrouping;
pub(crate) use predicate_rules::runs_predicates_as_plugins;
pub(crate) use preemption_rules::BudgetCount;
pub use rules::Rules;
pub(crate) use span::{Span, between, since};
pub(crate) use validation_words::ValidationWords;
pub use version::{VersionEvidence, VersionFrom, detect};
pub(crate) use volume_limit_rules::MissingClaim;
pub(crate) use volume_plugin_rules::VolumeScore;
pub(crate) use volume_rules::VolumeRules;
