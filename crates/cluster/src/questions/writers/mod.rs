//! Who wrote an object, as far as its field managers and audit logs say: a person, GitOps, a controller, a kubelet.

mod kind;
mod last_managers;
mod names;
mod writer;

pub(crate) use kind::WriterKind;
pub(crate) use last_managers::LastManagers;
pub(crate) use writer::Writer;
