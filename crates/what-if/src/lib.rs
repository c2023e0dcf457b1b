#![doc = include_str!("../README.md")]

mod action;
mod admission;
mod amounts;
mod answer;
mod attempt;
mod caveats;
mod control_loop;
mod controllers;
mod decisions;
mod drain;
mod drainable_nodes;
mod eviction;
mod fit;
mod follow;
mod futures;
mod gangs;
mod in_memory_state;
mod json;
mod model;
mod node_failures;
mod node_templates;
mod question;
mod quota_shapes;
mod read;
mod remedied_claims;
mod remedied_pod;
mod remedies;
mod run_actions;
mod sampling;
mod scheduling;
mod seed;
mod simulated_cluster;
mod volumes;
mod waiting_pods;

pub use action::{NodeChoice, WhatIfAction};
pub use answer::{
    Fit, Future, Futures, GroupDoubt, Happening, Loads, Loss, NodeLoad, SimulatedEvent, SimulatedPod, Spare, Unmodelled, WhatIf,
};
pub use decisions::{DecisionVerdict, JudgedDecision, judged_decisions};
pub use follow::Follow;
pub use question::{FitOf, WhatIfQuestion, what_if};
pub use remedies::explain_pod;
