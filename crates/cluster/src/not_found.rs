//! The report that an object was not found, and where it is instead.

use std::fmt;

use ketcd_kube::Address;
use ketcd_store::{Revision, RevisionSpan};

/// The one object that an address names is not there.
#[derive(Clone, Debug)]
pub struct NotFound {
    /// What names it.
    pub address: Address,
    /// Its key, or what its key would begin with.
    pub key: String,
    /// Where it was looked for.
    pub looked: Looked,
    /// The readable revisions.
    pub span: RevisionSpan,
    /// Whether the newest revision was asked for, whichever that is.
    pub is_newest: bool,
    /// Where it is.
    pub elsewhere: Whereabouts,
}

/// Whether an object is anywhere else.
#[derive(Clone, Debug, PartialEq)]
pub enum Whereabouts {
    /// It is nowhere, as far as was looked.
    Nowhere,
    /// The user may not read whether it is.
    Unknown,
    /// It is, or something of its name.
    Elsewhere(Elsewhere),
}

/// The revisions that were looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    /// One.
    At(Revision),
    /// All that are readable up to one.
    UpTo(Revision),
    /// Two, to compare them.
    Between(Revision, Revision),
}

impl Looked {
    /// The last of them.
    pub fn last(self) -> Revision {
        match self {
            Self::At(revision) | Self::UpTo(revision) | Self::Between(_, revision) => revision,
        }
    }
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Objects { kind, namespace, name: Some(name) } => {
                write!(f, "{} \"{name}\" not found", kind.singular_resource())?;
                namespace.as_ref().map_or(Ok(()), |namespace| write!(f, " in namespace \"{namespace}\""))?;
            }
            _ => write!(f, "key {} not found", self.key)?,
        }
        match self.looked {
            Looked::At(revision) => write!(f, " at revision {revision}"),
            Looked::UpTo(last) => write!(f, " at any readable revision, {} to {last}", self.span.oldest),
            Looked::Between(first, last) => write!(f, " at revisions {first} and {last}"),
        }
    }
}

/// Where an object is that was not found, the nearest first.
#[derive(Clone, Debug, PartialEq)]
pub enum Elsewhere {
    /// Itself, deleted since; it was last there at this revision.
    Earlier(ObjectElsewhere, Revision),
    /// Itself, created at this revision, later than was looked.
    Later(ObjectElsewhere, Revision),
    /// The object that is there if the namespace and the name change places.
    Swapped(ObjectElsewhere),
    /// Objects of the same kind and name in other namespaces.
    Namespaces(Vec<ObjectElsewhere>),
    /// Objects of other kinds with the same name, those of the same namespace first.
    Kinds(Vec<ObjectElsewhere>),
    /// Objects of the same kind whose names are nearest to it, in the same namespace.
    Similar(Vec<ObjectElsewhere>),
    /// Objects of the same kind and name in other namespaces, all at other revisions; the first was there at this one.
    Once(Vec<ObjectElsewhere>, Revision),
}

/// A word that names no kind, with what it may mean instead.
#[derive(Clone, Debug, PartialEq)]
pub struct WithoutKind {
    /// What was taken for a kind.
    pub kind: String,
    /// The whole word as it was typed.
    pub word: String,
    /// What is called so.
    pub called: Called,
}

impl fmt::Display for WithoutKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no kind is called \"{}\"", self.kind)
    }
}

/// The objects that a word without a kind may mean.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Called {
    /// The objects, the likeliest first.
    pub places: Vec<ObjectElsewhere>,
    /// Whether their names are only near to the word.
    pub is_near: bool,
    /// The revision at which they were there, where they are not at the one looked at.
    pub revision: Option<Revision>,
}

/// One object.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectElsewhere {
    /// Its kind as addresses name it.
    pub kind: String,
    /// Its namespace, if it has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl ObjectElsewhere {
    /// The address that names it, whatever `-n` says.
    pub fn address(&self) -> String {
        let Self { kind, namespace, name } = self;
        match namespace {
            // A raw key, which is kept as its own name.
            _ if kind.is_empty() => name.clone(),
            Some(namespace) => format!("{kind}/{namespace}/{name}"),
            None => format!("{kind}/{name}"),
        }
    }
}

impl Elsewhere {
    /// The nearest.
    pub fn first(&self) -> &ObjectElsewhere {
        match self {
            Self::Earlier(place, _) | Self::Later(place, _) | Self::Swapped(place) => place,
            Self::Namespaces(places) | Self::Kinds(places) | Self::Similar(places) | Self::Once(places, _) => &places[0],
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        match self {
            Self::Earlier(..) | Self::Later(..) | Self::Swapped(..) => 1,
            Self::Namespaces(places) | Self::Kinds(places) | Self::Similar(places) | Self::Once(places, _) => places.len(),
        }
    }
}
