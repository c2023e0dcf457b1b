//! What `verify` found wrong: evidence with its weight, never an accusation.

use std::fmt;

use ketcd_store::Revision;

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum FindingKind {
    /// The SHA-256 at a snapshot's end does not hold.
    Checksum,
    /// Pages, rows or records that cannot be read.
    Damage,
    /// A member's log and its database do not fit together.
    Log,
    /// Something an API server would not have written.
    Tampering,
    /// A stored value that cannot be decoded.
    Unreadable,
    /// A custom resource that violates the schema of its definition.
    Schema,
    /// A reference to an object that does not exist.
    Reference,
    /// An object in a namespace that does not exist.
    Namespace,
    /// A quota that disagrees with what it counts.
    Quota,
    /// An allocator that disagrees with what it allocates.
    Allocator,
    /// What a newer release no longer serves or reads.
    Upgrade,
    /// The newest write is older than was allowed.
    Age,
    /// Less than in the file that it was compared with.
    Comparison,
    /// History that is no longer compacted.
    Compaction,
    /// Members, alarms, sizes.
    Member,
    /// Objects that are not encrypted as the others of their kind are.
    Encryption,
}

impl FindingKind {
    /// Every kind.
    pub const ALL: [Self; 16] = [
        Self::Checksum,
        Self::Damage,
        Self::Log,
        Self::Tampering,
        Self::Unreadable,
        Self::Schema,
        Self::Reference,
        Self::Namespace,
        Self::Quota,
        Self::Allocator,
        Self::Upgrade,
        Self::Age,
        Self::Comparison,
        Self::Compaction,
        Self::Member,
        Self::Encryption,
    ];

    /// Returns the name that machine output has for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Checksum => "checksum",
            Self::Damage => "damage",
            Self::Log => "log",
            Self::Tampering => "tampering",
            Self::Unreadable => "unreadable",
            Self::Schema => "schema",
            Self::Reference => "reference",
            Self::Namespace => "namespace",
            Self::Quota => "quota",
            Self::Allocator => "allocator",
            Self::Upgrade => "upgrade",
            Self::Age => "age",
            Self::Comparison => "comparison",
            Self::Compaction => "compaction",
            Self::Member => "member",
            Self::Encryption => "encryption",
        }
    }
}

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weight {
    /// Healthy clusters have it too, or a known recipe makes it.
    Low,
    /// It needs an explanation.
    Medium,
    /// There is hardly a lawful way to it; of damage: the file cannot be restored as it is.
    High,
}

impl Weight {
    /// Returns the name that machine output has for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One thing that is wrong, or may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub kind: FindingKind,
    /// The revision that shows it; `None` where it is not about one.
    pub revision: Option<Revision>,
    /// The key, as text; `None` where it is not about one.
    pub key: Option<String>,
    /// What is wrong: a sentence without its full stop.
    pub says: String,
    /// What shows it, one fact per item.
    pub evidence: Vec<String>,
    /// How much it weighs.
    pub weight: Weight,
}

impl Finding {
    /// A finding about no key.
    pub fn new(kind: FindingKind, weight: Weight, says: impl Into<String>) -> Self {
        Self { kind, revision: None, key: None, says: says.into(), evidence: Vec::new(), weight }
    }

    /// The same about a key.
    #[must_use]
    pub fn of_key(self, key: &[u8]) -> Self {
        Self { key: Some(String::from_utf8_lossy(key).into_owned()), ..self }
    }

    /// The same at a revision.
    #[must_use]
    pub fn at(self, revision: Revision) -> Self {
        Self { revision: Some(revision), ..self }
    }

    /// The same with a fact that shows it.
    #[must_use]
    pub fn because(mut self, fact: impl Into<String>) -> Self {
        self.evidence.push(fact.into());
        self
    }

    /// Whether the verdict can be good all the same: it weighs little and is not about tampering.
    pub fn is_remark(&self) -> bool {
        self.weight == Weight::Low && self.kind != FindingKind::Tampering
    }

    /// Whether the source cannot be restored as it is.
    pub fn is_fatal(&self) -> bool {
        self.weight == Weight::High && matches!(self.kind, FindingKind::Checksum | FindingKind::Damage | FindingKind::Log)
    }
}
