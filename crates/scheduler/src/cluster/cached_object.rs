//! Objects as the state holds them, and on their way there: parsed, compiled, and listed by kind. All of it is made of the rows of
//! [`watched_kinds`].

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::core::{Namespace, PersistentVolume, PersistentVolumeClaim};
use crate::api::meta::LabelSelector;
use crate::api::policy::PodDisruptionBudget;
use crate::api::storage::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};

use super::compiler::{Compiler, namespace_labels, with_resource_version};
use super::node::fields::parse_node;
use super::owner::OwnerFields;
use super::pod::template::ParsedPod;
use super::raw_object::{FromRaw, ParseError};
use super::unreadable::Encounters;
use super::watched_kind::watched_kinds;
use super::{
    Claim, Class, DeviceTaintRule, ImageState, Labels, Lister, Node, NodeFields, ObjectKey, Owner, PodGroup, PodInfo, RawObject, Slice,
    Unreadable, WatchedKind, Workload,
};

macro_rules! objects {
    ($($(#[$doc:meta])* $kind:ident = $name:literal: $parsed:ty => $lister:ident: $cached:ty $(= $compile:path)?;)*) => {
        /// An object parsed into the type of its kind.
        pub(crate) enum ParsedObject<'a> {
            Pod(Box<ParsedPod<'a>>),
            Node(Box<NodeFields<'a>>),
            $($kind(Box<$parsed>),)*
        }

        impl<'a> ParsedObject<'a> {
            /// Parses an object.
            ///
            /// # Errors
            /// Why it cannot be read.
            pub(super) fn parse(raw: RawObject<'a>, kind: WatchedKind) -> Result<Self, ParseError> {
                Ok(match kind {
                    WatchedKind::Pod => Self::Pod(Box::new(ParsedPod::parse(raw)?)),
                    WatchedKind::Node => Self::Node(Box::new(parse_node(raw)?)),
                    $(WatchedKind::$kind => Self::$kind(Box::new(<$parsed>::from_raw(raw)?)),)*
                })
            }

            /// Compiles the object; parts that cannot be read are added to the compiler's problems.
            ///
            /// # Errors
            /// Why none of it can be read.
            pub(super) fn compile(self, compiler: &mut Compiler<'_>) -> Result<CachedObject, ParseError> {
                Ok(match self {
                    Self::Pod(pod) => CachedObject::Pod(compiler.pod(*pod)?),
                    Self::Node(node) => CachedObject::Node(Arc::new(compiler.node(&node)), None),
                    $(Self::$kind(object) => CachedObject::$kind(objects!(@compile object, compiler $(, $compile)?)),)*
                })
            }
        }

        #[derive(Clone, Debug)]
        pub(crate) enum CachedObject {
            Pod(Arc<PodInfo>),
            /// With the image counts as of its write; `None`: counted when it is set.
            Node(Arc<Node>, Option<Arc<[ImageState]>>),
            $($kind(Arc<$cached>),)*
            /// An object of any kind that exists but cannot be read.
            Unreadable(Arc<Unreadable>),
        }

        /// One lister per kind but pods and nodes.
        #[derive(Clone, Debug, Default)]
        pub(crate) struct Listers {
            $($(#[$doc])* pub(crate) $lister: Lister<$cached>,)*
        }

        impl Listers {
            /// Reports lookups there from now on.
            pub(super) fn report_to(&mut self, encounters: &Arc<Encounters>) {
                $(self.$lister.report_to(encounters);)*
            }

            /// Looks up an object and lists all, in every lister and every way.
            #[cfg(test)]
            fn look_up_everywhere(&self, namespace: &str, name: &str) -> usize {
                let mut found = 0;
                $(found += self.$lister.get(namespace, name).iter().count()
                    + self.$lister.in_namespace(namespace).count()
                    + self.$lister.iter().count();)*
                found
            }

            /// Sets an object, or marks it as unreadable, or deletes both; returns what was there before.
            pub(super) fn set(
                &mut self,
                key: &ObjectKey,
                object: Option<CachedObject>,
                mark: Option<Arc<Unreadable>>,
            ) -> (Option<CachedObject>, Option<Arc<Unreadable>>) {
                match key.kind {
                    // The state itself holds these.
                    WatchedKind::Pod | WatchedKind::Node => (None, None),
                    $(WatchedKind::$kind => {
                        let object = if let Some(CachedObject::$kind(object)) = object { Some(object) } else { None };
                        let (before, marked) = self.$lister.set(key.namespaced_name(), object, mark);
                        (before.map(CachedObject::$kind), marked)
                    })*
                }
            }
        }
    };
    (@compile $object:ident, $compiler:ident) => { Arc::from($object) };
    (@compile $object:ident, $compiler:ident, $compile:path) => { Arc::new($compile(*$object, $compiler)) };
}

watched_kinds!(objects);

/// An object on its way into the state.
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum IncomingObject<'a> {
    /// As it was read.
    Raw(RawObject<'a>),
    /// Parsed in advance.
    Parsed(Preparsed<'a>),
}

/// An object parsed in advance, which needs no state and can be done on another core; or why it cannot be read.
pub struct Preparsed<'a>(Result<ParsedObject<'a>, ParseError>);

impl<'a> RawObject<'a> {
    /// Parses it as an object of `kind`, in advance.
    pub fn parsed(self, kind: WatchedKind) -> Preparsed<'a> {
        Preparsed(ParsedObject::parse(self, kind))
    }
}

impl<'a> From<&'a [u8]> for IncomingObject<'a> {
    fn from(text: &'a [u8]) -> Self {
        Self::Raw(text.into())
    }
}

impl<'a> From<&'a Vec<u8>> for IncomingObject<'a> {
    fn from(text: &'a Vec<u8>) -> Self {
        Self::Raw(text.into())
    }
}

impl<'a> From<RawObject<'a>> for IncomingObject<'a> {
    fn from(raw: RawObject<'a>) -> Self {
        Self::Raw(raw)
    }
}

impl<'a> From<Preparsed<'a>> for IncomingObject<'a> {
    fn from(parsed: Preparsed<'a>) -> Self {
        Self::Parsed(parsed)
    }
}

impl IncomingObject<'_> {
    /// Parses the object, unless it is parsed already, and compiles it.
    ///
    /// # Errors
    /// Why none of it can be read.
    pub(super) fn compile(self, kind: WatchedKind, compiler: &mut Compiler<'_>) -> Result<CachedObject, ParseError> {
        let parsed = match self {
            Self::Raw(raw) => ParsedObject::parse(raw, kind),
            Self::Parsed(Preparsed(parsed)) => parsed,
        };
        parsed?.compile(compiler)
    }
}

impl CachedObject {
    /// Returns the mark of an object that cannot be read.
    pub(crate) fn unreadable(&self) -> Option<&Arc<Unreadable>> {
        if let Self::Unreadable(unreadable) = self { Some(unreadable) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use ketcd_kube::proto::kinds::KINDS;

    use super::*;
    use crate::cluster::{ClusterState, ObjectKey, RequestRules};

    #[test]
    fn every_kind_is_added_found_and_deleted() {
        for &kind in WatchedKind::ALL {
            let rows = KINDS.iter().filter(|row| row.kind == kind.name());
            assert_eq!(rows.count(), 1, "{kind:?} is not the only kind of its name");
            let path = format!("{}/{}", kind.storage_path(), if kind.row().namespaced { "ns/a" } else { "a" });
            let key = ObjectKey::parse(&path).unwrap_or_else(|| panic!("{path} is not parsed"));
            assert_eq!(key.kind, kind);
            let mut state = ClusterState::new(RequestRules::FOR_TESTS);
            let object = format!(r#"{{"kind": "{}", "metadata": {{"namespace": "{}", "name": "a"}}}}"#, kind.name(), key.namespace);
            for (object, readable) in [(object.as_bytes(), true), (b"7", false)] {
                let added = state.apply(&key, Some(object), 1);
                assert_eq!(added.after.as_ref().is_some_and(|after| after.unreadable().is_none()), readable, "{kind:?}");
                assert_eq!((added.before.is_none(), state.has_unreadable()), (true, !readable), "{kind:?}");
                let (found, met) = state.collect(|| {
                    let own = state.node("a").iter().count() + state.nodes().count();
                    let pods = state.pod(&key.namespace, "a").iter().count() + state.pods().count();
                    own + pods + state.listers().look_up_everywhere(&key.namespace, "a")
                });
                let ways = if matches!(kind, WatchedKind::Pod | WatchedKind::Node) { 2 } else { 3 };
                assert_eq!((found, met.len()), if readable { (ways, 0) } else { (0, 1) }, "{kind:?}");
                let wanted = format!("{} \"{}a\" cannot be read: ", kind.name(), if kind.row().namespaced { "ns/" } else { "" });
                assert!(met.iter().all(|met| met.to_string().starts_with(&wanted)), "{met:?}");
                let removed = state.apply(&key, None::<&[u8]>, 2);
                assert_eq!(removed.before.is_some_and(|before| before.unreadable().is_none()), readable, "{kind:?}");
                assert!(!state.has_unreadable(), "{kind:?}");
            }
        }
    }
}
