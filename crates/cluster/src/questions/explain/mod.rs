//! Why a pod runs where it runs: which pods are asked about, the attempt that decided, and the state that it saw.

mod decisions;
mod explainer;
mod large;
mod last;
mod pod;
mod pods;
mod since;

pub use decisions::{Decided, Decision, Decisions};
pub use explainer::Explainer;
pub use last::{LastDecision, LastDecisions};
pub use pod::Explained;
pub use pods::Pods;
pub use since::{Awaited, SinceRefusal};
