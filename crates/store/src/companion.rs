//! Configuration of a cluster's programs that lies next to its database in a folder or an archive.

use std::fmt;

/// A configuration file that was found with the database.
#[derive(Clone, PartialEq, Eq)]
pub struct Companion {
    /// What it configures.
    pub kind: CompanionKind,
    /// Where it lies: a path, or `ARCHIVE::NAME`.
    pub place: String,
    /// The whole file. There may be keys in it.
    pub text: String,
}

/// What a configuration file configures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum CompanionKind {
    /// How kube-apiserver encrypts what it stores: an `EncryptionConfiguration`, up to 1.12 an `EncryptionConfig`.
    Encryption,
    /// kube-scheduler: a `KubeSchedulerConfiguration`.
    Scheduler,
}

/// The configuration found for one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompanionChoice<'a> {
    /// None was found.
    None,
    /// One, or several of the same text.
    One(&'a Companion),
    /// Two that differ, so that none is used.
    Several(&'a Companion, &'a Companion),
}

impl<'a> CompanionChoice<'a> {
    /// Chooses among what was found.
    pub fn of(kind: CompanionKind, found: &'a [Companion]) -> Self {
        let mut of_kind = found.iter().filter(|companion| companion.kind == kind);
        match of_kind.next() {
            None => Self::None,
            Some(first) => of_kind.find(|other| other.text != first.text).map_or(Self::One(first), |other| Self::Several(first, other)),
        }
    }
}

impl fmt::Debug for Companion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Companion").field("kind", &self.kind).field("place", &self.place).finish_non_exhaustive()
    }
}
