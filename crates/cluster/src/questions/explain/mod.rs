//! Why a pod runs where it runs: which pods are asked about, the attempt that decided, and the state that it saw.

mod decisions;
mod explainer;
mod last_decision;
mod pod;
mod pods;
mod since;
mod size_limit;

pub use decisions::{Decided, Decision, Decisions};
pub use explainer::Explainer;
pub use last_decision::{LastDecision, LastDecisions};
pub use pod::Explained;
pub use pods::Pods;
pub use since::{Awaited, SinceRefusal};
