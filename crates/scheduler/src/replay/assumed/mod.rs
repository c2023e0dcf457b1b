//! The scheduler's cache against etcd's history: which pods it counts on nodes before their bindings are written.
//!
//! A pod is assumed (`assume`, `AssumePod` of `backend/cache/cache.go`) from the decision about it until its binding is written, or until it is
//! forgotten (`ForgetPod`: PreBind failed, Permit refused it or timed out). None of this is in etcd. What is: the first write that only the
//! decision can have caused, the outcome, and how pods are taken from the queue.
//!
//! [`Ledger`] keeps the decisions that the history shows; [`Neighbours`] is what they mean for one attempt.

mod evidence;
mod guess;
mod ledger;
mod members;
mod neighbours;
mod order;
mod relisted;

pub(crate) use evidence::{is_written_for, shown_by, undone_by};
pub(crate) use ledger::{End, Ledger};
pub(crate) use neighbours::{MAX_SWAP_REVISIONS, Neighbour, Neighbours};
pub(crate) use order::{Order, Subject};
