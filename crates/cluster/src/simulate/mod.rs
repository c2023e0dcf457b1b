//! What if: a cluster's state played on, after a drain, a failure, new nodes, another number of replicas, with the exact scheduler.
//!
//! The scheduler's crate evaluates each attempt and keeps the queue. What else decides is here: the objects and a clock (`world`), what an API
//! server makes of a pod (`admission`), controllers, one file a kind (`controllers`), the eviction API and kubectl's drain.

mod action;
mod admission;
mod amounts;
mod answer;
mod attempt;
mod caveats;
mod choice;
mod controllers;
mod course;
mod decisions;
mod drain;
mod equals;
mod eviction;
mod fit;
mod follow;
mod futures;
mod gangs;
mod held;
mod json;
mod loads;
mod losses;
mod model;
mod node_templates;
mod perform;
mod question;
mod quota_shapes;
mod read;
mod remedied_claims;
mod remedied_pod;
pub(crate) mod remedies;
mod sampling;
mod scheduling;
mod settle;
mod spare;
mod spare_room;
mod volumes;
mod waiting;
mod walk;
mod world;

pub use action::{NodeChoice, WhatIfAction};
pub use answer::{
    Fit, Future, Futures, GroupDoubt, Happening, Loads, Loss, NodeLoad, SimulatedEvent, SimulatedPod, Spare, Unmodelled, WhatIf,
};
pub use decisions::{DecisionVerdict, JudgedDecision};
pub use follow::Follow;
pub use question::{FitOf, WhatIfQuestion};
