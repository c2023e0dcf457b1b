//! The redactor: what it learns of objects, and how it rewrites them.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use ketcd_kube::{Kinds, RegistryKey, is_secret_key};
use serde_json::Value;

use crate::choice::{Choice, Class};
use crate::fields::has_public_names;
use crate::leaks::{self, Leak, SearchedTokens};
use crate::mask::Mask;
use crate::report::{ClassReport, PathCount, Report};
use crate::walk;

/// Rewrites objects, keys and text, each original value to the same pseudonym.
pub struct Redactor {
    mask: Mask,
    kinds: Kinds,
    /// What keys of resources begin with, and whether a namespace follows.
    resources: HashMap<String, bool>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("choice", &self.mask.choice).finish_non_exhaustive()
    }
}

impl Redactor {
    /// Makes a redactor. The same salt gives the same pseudonyms; `own_words` go wherever they stand.
    pub fn new(choice: Choice, salt: &[u8], own_words: &[String]) -> Self {
        let mut kinds = Kinds::builtin();
        kinds.add_openshift();
        Self { mask: Mask::new(choice, salt, own_words), kinds, resources: HashMap::new() }
    }

    /// Learns the names and values of an object, so that they are found wherever else they stand. Learn every object before the first is rewritten.
    pub fn learn(&mut self, key: &str, object: &Value) {
        self.learn_of(key, object.clone());
    }

    /// The same, of an object that nobody needs any more.
    pub fn learn_of(&mut self, key: &str, mut object: Value) {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let namespace = object["metadata"]["namespace"].as_str();
        let below = namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"));
        if let Some(resource) = key.strip_suffix(&*below).filter(|resource| resource.ends_with('/') && !name.is_empty()) {
            self.resources.insert(resource.to_owned(), namespace.is_some());
        }
        self.mask.is_learning = true;
        self.rewrite(key, &mut object);
        self.mask.is_learning = false;
    }

    /// Rewrites the object that is stored under `key`.
    pub fn object(&mut self, key: &str, object: &mut Value) {
        self.mask.tally.objects += 1;
        self.rewrite(key, object);
    }

    fn rewrite(&mut self, key: &str, object: &mut Value) {
        let kinds = &self.kinds;
        let is_builtin = |version: &str, kind: &str| kinds.of_object(version, kind).is_some();
        let is_custom = object["apiVersion"].as_str().is_some_and(|version| version.contains('.'));
        let is_secret = is_secret_key(key.as_bytes()) && !is_custom;
        walk::rewrite(&mut self.mask, &is_builtin, is_secret, object);
    }

    /// Returns the key of the rewritten object.
    pub fn key(&mut self, key: &str) -> String {
        self.mask.path = "key".to_owned();
        self.mask.context.clear();
        let mut rewritten = match self.split(key) {
            Some((resource, namespace, name)) => {
                // As in the object itself.
                self.mask.context.extend(namespace.into_iter().chain([name]).map(str::to_owned));
                let plural = resource.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                let name = match plural {
                    plural if has_public_names(plural) => name.to_owned(),
                    "namespaces" if namespace.is_none() => self.mask.name(Class::Namespaces, name),
                    _ => self.mask.name(Class::Names, name),
                };
                let namespace = namespace.map(|namespace| self.mask.name(Class::Namespaces, namespace) + "/");
                format!("{resource}{}{name}", namespace.unwrap_or_default())
            }
            None => self.mask.text(key),
        };
        self.mask.own(&mut rewritten);
        rewritten
    }

    /// The resource with its last slash, the namespace and the name of a key.
    fn split<'k>(&self, key: &'k str) -> Option<(&'k str, Option<&'k str>, &'k str)> {
        let last = key.rfind('/')?;
        let before = key[..last].rfind('/').map_or(0, |at| at + 1);
        if self.resources.get(&key[..before]) == Some(&true) {
            return Some((&key[..before], Some(&key[before..last]), &key[last + 1..]));
        }
        if self.resources.get(&key[..=last]) == Some(&false) {
            return Some((&key[..=last], None, &key[last + 1..]));
        }
        // Its kind was not learned.
        let prefix = ["/registry", "/kubernetes.io"]
            .into_iter()
            .find(|prefix| key.starts_with(prefix))
            .or_else(|| Some(&key[..key.get(1..)?.find('/')? + 1]))?;
        let path = RegistryKey::parse(prefix, key.as_bytes(), &self.kinds).object()?;
        match path.namespace {
            Some(_) => Some((&key[..before], Some(&key[before..last]), &key[last + 1..])),
            None => Some((&key[..=last], None, &key[last + 1..])),
        }
    }

    /// Rewrites text that is not part of an object.
    pub fn text(&mut self, text: &str) -> String {
        self.mask.path = "text".to_owned();
        self.mask.context.clear();
        let mut rewritten = self.mask.text(text);
        self.mask.own(&mut rewritten);
        rewritten
    }

    /// Returns what was replaced so far.
    pub fn report(&self) -> Report {
        let tally = &self.mask.tally;
        let classes = Class::ALL.map(|class| {
            let paths = self.shown(tally.paths(class));
            let replaced = paths.iter().map(|path| path.count).sum();
            ClassReport { chosen: self.mask.choice.has(class), class, distinct: tally.distinct(class), paths, replaced }
        });
        Report { classes: classes.into(), objects: tally.objects }
    }

    /// Paths as they may be shown: a field that is named like an original has a star for a name.
    fn shown(&self, paths: Vec<PathCount>) -> Vec<PathCount> {
        let mut counts = BTreeMap::<String, u64>::new();
        for PathCount { count, path } in paths {
            let path = if self.leaks(path.as_bytes()).is_empty() {
                path
            } else {
                let fields = path.split('.').map(|field| if self.leaks(field.as_bytes()).is_empty() { field } else { "*" });
                let starred = fields.collect::<Vec<_>>().join(".");
                if self.leaks(starred.as_bytes()).is_empty() { starred } else { "*".to_owned() }
            };
            *counts.entry(path).or_default() += count;
        }
        counts.into_iter().map(|(path, count)| PathCount { count, path }).collect()
    }

    /// Returns the original values that are in `bytes`, in whatever encoding.
    pub fn leaks(&self, bytes: &[u8]) -> Vec<Leak> {
        leaks::find(&self.mask, &mut SearchedTokens::default(), bytes)
    }

    /// The same, without looking again into what this redactor found nothing in before, if it has learned nothing since.
    pub fn leaks_but(&self, searched: &mut SearchedTokens, bytes: &[u8]) -> Vec<Leak> {
        leaks::find(&self.mask, searched, bytes)
    }
}
