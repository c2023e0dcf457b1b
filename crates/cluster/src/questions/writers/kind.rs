//! Which sort of writer wrote an object.

/// Which sort of writer it is, those first whose work nothing makes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum WriterKind {
    /// A person, by a tool that people call.
    Person,
    /// What keeps a cluster as a repository or a plan says.
    GitOps,
    /// Nothing known.
    Unknown,
    /// A program that reacts to other objects.
    Controller,
    Kubelet,
}

impl WriterKind {
    pub(crate) const ALL: [Self; 5] = [Self::Person, Self::GitOps, Self::Unknown, Self::Controller, Self::Kubelet];

    /// Whether what it writes is written again where it is lost.
    pub(crate) fn writes_again(self) -> bool {
        self >= Self::Controller
    }
}
