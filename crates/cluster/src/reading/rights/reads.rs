//! Which keys each command cannot do without.

use ketcd_kube::{Address, AddressError, Kinds, Scope, UnknownKind};
use ketcd_scheduler::cluster::WatchedKind;
use ketcd_store::KeyRange;

use crate::cluster::{CRD_PATH, Cluster};
use crate::kinds::joined;
use crate::triage::kinds as troubles;

/// What a command cannot do without; whatever else it reads is only nice to have.
#[derive(Clone, Copy, Debug)]
pub struct Reads<'a> {
    /// The objects addressed.
    pub(super) words: &'a [String],
    /// Whether words that are kinds alone are several kinds, in all namespaces where none is looked at.
    pub(super) takes_kinds: bool,
    /// What is read where none is.
    pub(super) unless: Unaddressed,
    pub(super) beside: RelatedReads,
    /// Whether what many objects went through is read, not only their states.
    pub(super) past: bool,
    /// Whether a live history is read once for all that the command asks: a command that follows it must see what comes.
    pub(super) once: bool,
}

/// What a command reads where no object is addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unaddressed {
    /// All keys, or with `-n` the objects of a namespace.
    NamespaceOrAll,
    All,
    /// All objects, or with `-n` those of a namespace.
    NamespaceOrObjects,
    Objects,
    /// Nodes and pods.
    Troubles,
    /// Nothing.
    Nothing,
}

/// What a command reads in addition to the objects addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelatedReads {
    /// Nothing.
    Nothing,
    /// The ConfigMaps and Secrets of their namespaces.
    Configuration,
    /// What a scheduler watches, and Events.
    Scheduling,
    /// The Events about them, in their place.
    Events,
}

impl<'a> Reads<'a> {
    /// The state of what is addressed; without an address, all keys.
    pub(super) fn of(words: &'a [String]) -> Self {
        Self { words, takes_kinds: false, unless: Unaddressed::All, beside: RelatedReads::Nothing, past: false, once: false }
    }

    /// The keys, as far as they are known beforehand: of kinds that are not among `kinds`, their definitions have to be read.
    pub(super) fn keys(&self, cluster: &Cluster, prefix: &str, kinds: &Kinds) -> Vec<KeyRange> {
        let scope = cluster.scope();
        let below = |path: &str| KeyRange::prefix(format!("{prefix}/{path}/"));
        let mut keys = Vec::new();
        let range = |address: &Address| match self.beside {
            RelatedReads::Events => events_of(address, prefix),
            _ => range_of(address, prefix),
        };
        let (words, scope_of_words) = self.words_in(cluster, kinds);
        for word in words {
            match Address::parse(&word, kinds, &scope_of_words) {
                Ok(found) => keys.extend(found.iter().map(range)),
                Err(AddressError::Kind(UnknownKind::Unknown { word: kind, .. })) => {
                    keys.push(below(CRD_PATH));
                    keys.extend(
                        kind.split_once('.')
                            .filter(|(_, group)| group.contains('.'))
                            .map(|(plural, group)| below(&format!("{group}/{plural}"))),
                    );
                }
                Err(_) => {}
            }
        }
        match (self.unless, &scope) {
            _ if !self.words.is_empty() => {}
            (Unaddressed::NamespaceOrAll | Unaddressed::NamespaceOrObjects, Scope::Namespace(namespace))
                if cluster.options.namespace.is_some() =>
            {
                let namespaced = kinds.iter().filter(|kind| kind.is_stored() && kind.namespaced);
                keys.extend(namespaced.map(|kind| KeyRange::prefix(kind.key_prefix(prefix, Some(namespace)))));
                keys.push(KeyRange::key(format!("{prefix}/namespaces/{namespace}")));
            }
            (Unaddressed::Nothing, _) => {}
            (Unaddressed::Troubles, _) => keys.extend(troubles::reads(prefix)),
            (Unaddressed::Objects | Unaddressed::NamespaceOrObjects, _) => keys.push(KeyRange::prefix(format!("{prefix}/"))),
            (Unaddressed::All | Unaddressed::NamespaceOrAll, _) => keys.push(KeyRange::all()),
        }
        match self.beside {
            RelatedReads::Nothing => {}
            RelatedReads::Events if !self.words.is_empty() => {}
            RelatedReads::Events => keys.push(match &scope {
                Scope::Namespace(namespace) => below(&format!("events/{namespace}")),
                Scope::All => below("events"),
            }),
            RelatedReads::Configuration => {
                let in_namespace = |path: &str| below(&format!("{path}/{}", self.namespace(cluster)));
                keys.extend(["configmaps", "secrets"].map(in_namespace));
            }
            RelatedReads::Scheduling => keys.extend(scheduling(prefix)),
        }
        keys
    }

    /// The words as they are read, and where objects without a namespace of their own are looked for.
    fn words_in(&self, cluster: &Cluster, kinds: &Kinds) -> (Vec<String>, Scope) {
        let scope = cluster.scope();
        let is_kind = |word: &String| !word.contains('/') && Address::parse(word, kinds, &scope).is_ok();
        if !self.takes_kinds || !self.words.iter().all(is_kind) {
            return (joined(self.words), scope);
        }
        (self.words.to_vec(), if cluster.options.namespace.is_some() { scope } else { Scope::All })
    }

    /// The namespace of the one object addressed.
    fn namespace(&self, cluster: &Cluster) -> String {
        let parts: Option<Vec<&str>> = self.words.first().map(|word| word.split('/').collect());
        match parts.as_deref() {
            Some([_, namespace, _]) => (*namespace).to_owned(),
            _ => cluster.namespace().to_owned(),
        }
    }
}

fn range_of(address: &Address, prefix: &str) -> KeyRange {
    let (key, is_whole) = address.key(prefix);
    if is_whole { KeyRange::key(key) } else { KeyRange::prefix(key) }
}

/// The keys of the Events about what an address names; those of objects without a namespace are in the one that client-go's recorders take.
fn events_of(address: &Address, prefix: &str) -> KeyRange {
    let path = match address {
        Address::Objects { namespace, name: Some(name), .. } => format!("{}/{name}.", namespace.as_deref().unwrap_or("default")),
        Address::Objects { kind, namespace: None, .. } if kind.namespaced => String::new(),
        Address::Objects { namespace, .. } => format!("{}/", namespace.as_deref().unwrap_or("default")),
        Address::Key(_) => String::new(),
    };
    KeyRange::prefix(format!("{prefix}/events/{path}"))
}

/// What a scheduler watches, and Events.
pub fn scheduling(prefix: &str) -> Vec<KeyRange> {
    let watched = WatchedKind::ALL.iter().map(|kind| kind.storage_path());
    watched.chain(["events"]).map(|path| KeyRange::prefix(format!("{prefix}/{path}/"))).collect()
}
