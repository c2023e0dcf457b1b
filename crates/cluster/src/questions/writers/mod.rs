//! Who wrote an object, as far as its field managers and audit logs say: a person, GitOps, a controller, a kubelet.

mod kind;
mod names;
mod writer;

pub(crate) use kind::WriterKind;
pub(crate) use writer::Writer;
