//! Kinds: what a resource is called, and where its objects lie in etcd.
//!
//! Built-in kinds come from a table; custom ones from the CustomResourceDefinitions of the same data.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::custom_schemas::CustomSchemas;
use crate::nearest::nearest;
use crate::printer_column::PrinterColumn;
use crate::proto::kinds::{KINDS, KindRow};

type KindText = Cow<'static, str>;

/// One resource: a row of the built-in table, or what a CustomResourceDefinition says.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    /// API group, empty for core.
    pub group: KindText,
    /// Groups that formerly served the same stored objects, such as `extensions` for Deployments.
    pub other_groups: Vec<KindText>,
    /// The preferred version.
    pub version: KindText,
    /// All versions of `group`, the preferred first.
    pub versions: Vec<KindText>,
    /// The kind, as objects spell it.
    pub kind: KindText,
    /// The resource name.
    pub plural: KindText,
    /// The singular of the resource name.
    pub singular: KindText,
    /// Short names, such as `po`.
    pub short_names: Vec<KindText>,
    /// Categories, such as `all`.
    pub categories: Vec<KindText>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// For a custom kind, the columns its CustomResourceDefinition wants printed.
    pub columns: Option<Vec<PrinterColumn>>,
    /// For a custom kind, the schemas of its CustomResourceDefinition.
    pub schemas: Option<Arc<CustomSchemas>>,
    pub(super) path: KindText,
}

impl Kind {
    fn from_row(row: &'static KindRow) -> Self {
        let texts = |list: &'static [&'static str]| list.iter().map(|&text| KindText::Borrowed(text)).collect();
        Self {
            group: row.group.into(),
            other_groups: texts(row.other_groups),
            version: row.versions[0].into(),
            versions: texts(row.versions),
            kind: row.kind.into(),
            plural: row.plural.into(),
            singular: row.singular.into(),
            short_names: texts(row.short_names),
            categories: texts(row.categories),
            namespaced: row.namespaced,
            columns: None,
            schemas: None,
            path: row.path.into(),
        }
    }

    /// Whether a CustomResourceDefinition defines it.
    pub fn is_custom(&self) -> bool {
        self.columns.is_some()
    }

    /// Whether the API server keeps its objects in etcd at all; it stores no reviews and no bindings.
    pub fn is_stored(&self) -> bool {
        !self.path.is_empty()
    }

    /// Returns `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_string() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Returns the resource with its group as kubectl prints it, for example `pods` or `deployments.apps`.
    pub fn resource(&self) -> String {
        qualified(&self.plural, &self.group)
    }

    /// Returns the singular with its group as `-o name` prints it, for example `pod` or `deployment.apps`.
    pub fn singular_resource(&self) -> String {
        qualified(&self.singular, &self.group)
    }

    /// Returns what every key of the kind (of a namespace of it) begins with, the last slash included.
    ///
    /// `prefix` is the API server's `--etcd-prefix`, such as `/registry`. The namespace of a cluster-scoped kind is ignored.
    pub fn key_prefix(&self, prefix: &str, namespace: Option<&str>) -> String {
        let base = if self.path.starts_with('/') { "" } else { prefix };
        let slash = if base.is_empty() && self.path.starts_with('/') { "" } else { "/" };
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => format!("{base}{slash}{}/{namespace}/", self.path),
            None => format!("{base}{slash}{}/", self.path),
        }
    }

    /// Returns the key of one object.
    pub fn key(&self, prefix: &str, namespace: Option<&str>, name: &str) -> String {
        self.key_prefix(prefix, namespace) + name
    }

    /// Whether its objects are served in a group, in which they need not be stored.
    pub fn has_group(&self, group: &str) -> bool {
        self.group == group || self.other_groups.iter().any(|other| other == group)
    }

    fn is_named(&self, word: &str) -> bool {
        self.plural == word || self.singular == word || self.kind.eq_ignore_ascii_case(word)
    }
}

fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

impl KindRow {
    /// Returns the row, among those of a group, that `is_it` accepts.
    pub(super) fn in_group(group: &str, is_it: impl Fn(&Self) -> bool) -> Option<&'static Self> {
        KINDS.iter().find(|row| (row.group == group || row.other_groups.contains(&group)) && is_it(row))
    }

    /// Returns the row of Kubernetes' own kind of that name, as objects spell it; in a constant, a wrong name does not compile.
    ///
    /// # Panics
    /// No built-in kind has the name.
    pub const fn of(kind: &str) -> &'static Self {
        let mut at = 0;
        while at < KINDS.len() {
            if is_equal(KINDS[at].kind.as_bytes(), kind.as_bytes()) {
                return &KINDS[at];
            }
            at += 1;
        }
        panic!("no built-in kind has this name")
    }
}

/// Compares bytes in a constant, where `==` cannot be used.
const fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// All kinds of one cluster.
#[derive(Clone, Debug)]
pub struct Kinds {
    kinds: Vec<Arc<Kind>>,
    by_path: HashMap<KindText, usize>,
}

/// Why a word does not name a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum UnknownKind {
    /// No kind has this name.
    Unknown {
        /// The word.
        word: String,
        /// Names of kinds that look like it, the nearest first.
        nearest: Vec<String>,
    },
    /// Several kinds have this name.
    Ambiguous {
        /// The word.
        word: String,
        /// Their full names.
        candidates: Vec<String>,
    },
    /// The kind exists, but the API server never stores it.
    NeverStored {
        /// The resource.
        resource: String,
    },
}

impl UnknownKind {
    /// Returns what to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { nearest, .. } if nearest.is_empty() => "`ketcd ls` lists the kinds".to_owned(),
            Self::Unknown { nearest, .. } => format!("did you mean {}?", nearest.join(" or ")),
            Self::Ambiguous { candidates, .. } => format!("say {}", candidates.join(" or ")),
            Self::NeverStored { .. } => "the API server answers them, and etcd keeps no trace of them".to_owned(),
        }
    }
}

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { word, .. } => write!(f, "no kind is called \"{word}\""),
            Self::Ambiguous { word, candidates } => write!(f, "\"{word}\" names {} kinds", candidates.len()),
            Self::NeverStored { resource } => write!(f, "{resource} are never stored"),
        }
    }
}

impl std::error::Error for UnknownKind {}

impl Kinds {
    /// Returns the kinds of Kubernetes itself.
    pub fn builtin() -> Self {
        let mut kinds = Self { kinds: Vec::with_capacity(KINDS.len()), by_path: HashMap::with_capacity(KINDS.len()) };
        KINDS.iter().filter(|row| !row.path.starts_with('/')).for_each(|row| kinds.push(Kind::from_row(row)));
        kinds
    }

    /// Adds the kinds that OpenShift's own API servers store under `/openshift.io`.
    pub fn add_openshift(&mut self) {
        KINDS.iter().filter(|row| row.path.starts_with('/')).for_each(|row| self.push(Kind::from_row(row)));
    }

    /// Adds a kind; one stored at the same place is replaced.
    pub fn push(&mut self, kind: Kind) {
        match self.by_path.get(&kind.path) {
            Some(&index) => self.kinds[index] = Arc::new(kind),
            None => {
                if kind.is_stored() {
                    self.by_path.insert(kind.path.clone(), self.kinds.len());
                }
                self.kinds.push(Arc::new(kind));
            }
        }
    }

    /// Returns every kind: built-in ones by group (core first) and name, then custom ones in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.iter()
    }

    /// Returns the kind stored at `path` below the prefix, such as `services/specs`.
    pub fn at_path(&self, path: &str) -> Option<&Arc<Kind>> {
        self.by_path.get(path).map(|&index| &self.kinds[index])
    }

    /// Returns the kind of an object's `apiVersion` and `kind`.
    pub fn of_object(&self, api_version: &str, kind: &str) -> Option<&Arc<Kind>> {
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        self.kinds.iter().find(|known| known.kind == kind && known.has_group(group))
    }

    /// Finds the kind that `word` names: singular, plural, kind or short name, in any case, alone or followed by `.group` or
    /// `.version.group`; as in kubectl the beginning of a group suffices, and a name goes before a short name.
    ///
    /// # Errors
    /// The word names nothing (with the nearest names), several custom kinds, or a kind that is never stored.
    pub fn find(&self, word: &str) -> Result<&Arc<Kind>, UnknownKind> {
        let lower = word.to_ascii_lowercase();
        let (name, group) = lower.split_once('.').map_or((lower.as_str(), None), |(name, group)| (name, Some(group)));
        for short in [false, true] {
            let called =
                self.kinds.iter().filter(|kind| if short { kind.short_names.iter().any(|own| own == name) } else { kind.is_named(name) });
            let found = pick(called.collect(), group);
            match found[..] {
                [] => {}
                [kind] if kind.is_stored() => return Ok(kind),
                [kind] => return Err(UnknownKind::NeverStored { resource: kind.resource() }),
                _ => {
                    return Err(UnknownKind::Ambiguous {
                        word: word.to_owned(),
                        candidates: found.iter().map(|kind| kind.resource()).collect(),
                    });
                }
            }
        }
        Err(UnknownKind::Unknown { word: word.to_owned(), nearest: self.nearest(&lower) })
    }

    /// Finds the kinds that `word` names: as [`Kinds::find`], or all kinds of a category such as `all`.
    ///
    /// # Errors
    /// As [`Kinds::find`].
    pub fn find_all(&self, word: &str) -> Result<Vec<&Arc<Kind>>, UnknownKind> {
        self.find(word).map(|kind| vec![kind]).or_else(|error| {
            let category: Vec<&Arc<Kind>> = self
                .kinds
                .iter()
                .filter(|kind| kind.is_stored() && kind.categories.iter().any(|own| own.eq_ignore_ascii_case(word)))
                .collect();
            if category.is_empty() { Err(error) } else { Ok(category) }
        })
    }

    fn nearest(&self, word: &str) -> Vec<String> {
        let (name, has_group) = word.split_once('.').map_or((word, false), |(name, _)| (name, true));
        let names = self.kinds.iter().filter(|kind| kind.is_stored()).flat_map(|kind| {
            let names = [&kind.plural, &kind.singular].into_iter().chain(&kind.short_names);
            names.map(move |own| (own.as_ref(), kind))
        });
        nearest(name, names).into_iter().map(|kind| if has_group { kind.resource() } else { kind.plural.to_string() }).collect()
    }
}

/// Returns the kinds of this name in the group requested; without a group the first built-in kind, else every custom kind.
fn pick<'a>(called: Vec<&'a Arc<Kind>>, group: Option<&str>) -> Vec<&'a Arc<Kind>> {
    let Some(group) = group else {
        let builtin = called.iter().find(|kind| !kind.is_custom()).copied();
        return builtin.map_or(called, |kind| vec![kind]);
    };
    let matches = |group: &str, exact: bool| -> Vec<&'a Arc<Kind>> {
        let fits = |own: &KindText| if exact { own == group } else { !group.is_empty() && own.starts_with(group) };
        called.iter().filter(|kind| fits(&kind.group) || kind.other_groups.iter().any(fits)).copied().collect()
    };
    let exact = matches(group, true);
    if !exact.is_empty() {
        return exact;
    }
    if let Some((version, rest)) = group.split_once('.') {
        let versioned: Vec<&Arc<Kind>> =
            matches(rest, true).into_iter().filter(|kind| kind.versions.iter().any(|own| own == version)).collect();
        if !versioned.is_empty() {
            return versioned;
        }
    }
    matches(group, false)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kinds() -> Kinds {
        let mut kinds = Kinds::builtin();
        for (group, plural, kind, short) in [
            ("stable.example.com", "crontabs", "CronTab", "ct"),
            ("a.example.com", "widgets", "Widget", "wd"),
            ("b.example.com", "widgets", "Widget", "po"),
            ("serving.example.com", "services", "Service", "ksvc"),
        ] {
            kinds.add_crd(&json!({"spec": {"group": group, "scope": "Namespaced",
                "names": {"plural": plural, "kind": kind, "shortNames": [short], "categories": ["tools"]},
                "versions": [{"name": "v1", "served": true, "storage": true}]}}));
        }
        kinds
    }

    fn check(word: &str, wanted: &str) {
        let found = match kinds().find(word) {
            Ok(kind) => kind.resource(),
            Err(error) => format!("{error}; {}", error.hint()),
        };
        assert_eq!(found, wanted, "{word}");
    }

    #[test]
    fn finds_every_spelling() {
        for word in ["pods", "pod", "po", "Pod", "PODS", "pods.v1."] {
            check(word, "pods");
        }
        for word in
            ["deploy", "deployments.apps", "Deployment.apps", "deployments.extensions", "deployment.v1.apps", "deployments.v1beta1.apps"]
        {
            check(word, "deployments.apps");
        }
        check("ingresses.networking", "ingresses.networking.k8s.io");
        check("ev", "events");
        check("events.events.k8s.io", "events");
        check("crds", "customresourcedefinitions.apiextensions.k8s.io");
    }

    #[test]
    fn custom_kinds_yield_to_builtin_ones() {
        check("ct", "crontabs.stable.example.com");
        check("CronTab", "crontabs.stable.example.com");
        check("services", "services");
        check("services.serving.example.com", "services.serving.example.com");
        check("ksvc", "services.serving.example.com");
        check("widgets.b", "widgets.b.example.com");
    }

    #[test]
    fn says_why_not() {
        check("widgets", "\"widgets\" names 2 kinds; say widgets.a.example.com or widgets.b.example.com");
        check("pdos", "no kind is called \"pdos\"; did you mean pods?");
        check("deploymnet", "no kind is called \"deploymnet\"; did you mean deployments?");
        check(
            "crontbas.stable.example.com",
            "no kind is called \"crontbas.stable.example.com\"; did you mean crontabs.stable.example.com?",
        );
        check("qqqqqqq", "no kind is called \"qqqqqqq\"; `ketcd ls` lists the kinds");
        check(
            "tokenreviews",
            "tokenreviews.authentication.k8s.io are never stored; the API server answers them, and etcd keeps no trace of them",
        );
    }

    #[test]
    fn categories_name_many() {
        let found: Vec<String> = kinds().find_all("all").unwrap().iter().map(|kind| kind.plural.to_string()).collect();
        let all =
            "pods replicationcontrollers services daemonsets deployments replicasets statefulsets horizontalpodautoscalers cronjobs jobs";
        assert_eq!(found.join(" "), all);
        assert_eq!(kinds().find_all("tools").unwrap().len(), 4);
    }

    #[test]
    fn keys_have_all_exceptions() {
        let kinds = kinds();
        let key = |word: &str| kinds.find(word).unwrap().key("/registry", Some("ns"), "x");
        assert_eq!(key("nodes"), "/registry/minions/x");
        assert_eq!(key("svc"), "/registry/services/specs/ns/x");
        assert_eq!(key("endpoints"), "/registry/services/endpoints/ns/x");
        assert_eq!(key("rc"), "/registry/controllers/ns/x");
        assert_eq!(key("ing"), "/registry/ingress/ns/x");
        assert_eq!(key("psp"), "/registry/podsecuritypolicy/x");
        assert_eq!(key("apiservices"), "/registry/apiregistration.k8s.io/apiservices/x");
        assert_eq!(key("crd"), "/registry/apiextensions.k8s.io/customresourcedefinitions/x");
        assert_eq!(key("ct"), "/registry/stable.example.com/crontabs/ns/x");
    }
}
