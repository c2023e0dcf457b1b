//! Where in an object a pattern is found: names, values, names of members, managers, messages.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use ketcd_history::diff::{FieldPath, Segment, label};
use ketcd_kube::Object;
use serde_json::Value;

use super::pattern::Pattern;

/// A kind of place in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The object's name and namespace.
    Names,
    /// Values that are neither of the others.
    Values,
    /// Names of members: fields, labels, annotations, keys of a ConfigMap or a Secret.
    Keys,
    /// Field managers.
    Managers,
    /// What controllers say: messages of conditions, container states and Events.
    Messages,
}

impl Place {
    /// Where a search looks if nothing else is asked for: all that an object holds.
    pub const USUAL: [Self; 3] = [Self::Names, Self::Values, Self::Messages];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Names => "names",
            Self::Values => "values",
            Self::Keys => "keys",
            Self::Managers => "managers",
            Self::Messages => "messages",
        }
    }
}

/// A place in an object where a pattern is found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The kind of place.
    pub place: Place,
    /// Its path: `spec.containers[main].image`.
    pub path: String,
    /// The value there; for the name of a member that name.
    pub value: Value,
}

impl Eq for Hit {}

impl Hash for Hit {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.path.hash(state);
    }
}

/// A pattern, and where it is looked for.
#[derive(Clone, Debug)]
pub struct Search {
    /// What is searched for.
    pub pattern: Pattern,
    /// Where.
    pub places: Vec<Place>,
}

impl Search {
    /// What is searched for and where, in words: `"nginx" in names, values and messages`.
    pub fn words(&self) -> String {
        let mut places: Vec<Place> = self.places.clone();
        places.sort_unstable();
        places.dedup();
        let words: Vec<&str> = places.into_iter().map(Place::as_str).collect();
        let places = match &words[..] {
            [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
            words => words.concat(),
        };
        format!("{:?} in {places}", self.pattern.as_str())
    }

    pub(super) fn looks_at(&self, place: Place) -> bool {
        self.places.contains(&place)
    }

    /// Where the pattern is found in an object, each place once. What is masked is not searched.
    pub fn hits(&self, object: &Object) -> Vec<Hit> {
        let value = without_masked(object);
        let mut walk = Walk { search: self, path: Vec::new(), hits: Vec::new(), known: HashSet::new() };
        walk.value(&value);
        walk.hits
    }

    /// Where the pattern is found in what a key says of an object that cannot be decoded.
    pub fn hits_of_key(&self, namespace: &str, name: &str) -> Vec<Hit> {
        let is_wanted = |(_, text): &(&str, &str)| !text.is_empty() && self.looks_at(Place::Names) && self.pattern.is_in(text);
        let named = [("metadata.name", name), ("metadata.namespace", namespace)].into_iter().filter(is_wanted);
        named.map(|(path, text)| Hit { place: Place::Names, path: path.to_owned(), value: text.into() }).collect()
    }
}

/// An object with nothing in the place of what is masked, so that no pattern matches a mask.
fn without_masked(object: &Object) -> Cow<'_, Value> {
    let mut places = object.masked_places().peekable();
    if places.peek().is_none() {
        return Cow::Borrowed(object);
    }
    let mut value = (**object).clone();
    for place in places {
        if let Some(masked) = value.pointer_mut(place.as_str()) {
            *masked = Value::Null;
        }
    }
    Cow::Owned(value)
}

/// A step into an object, named only where something is found.
#[derive(Clone, Copy)]
enum PathStep<'a> {
    Member(&'a str),
    Item(usize, &'a Value),
}

struct Walk<'s, 'a> {
    search: &'s Search,
    path: Vec<PathStep<'a>>,
    hits: Vec<Hit>,
    /// The same: two items of a list may have one name.
    known: HashSet<Hit>,
}

impl<'a> Walk<'_, 'a> {
    fn value(&mut self, value: &'a Value) {
        match value {
            Value::Null => {}
            Value::Object(members) => {
                for (name, member) in members {
                    self.at(PathStep::Member(name), |walk| walk.member(name, member));
                }
            }
            Value::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    self.at(PathStep::Item(place, item), |walk| walk.value(item));
                }
            }
            Value::String(text) => self.text(text, value),
            Value::Bool(flag) => self.text(if *flag { "true" } else { "false" }, value),
            Value::Number(number) => self.text(&number.to_string(), value),
        }
    }

    fn member(&mut self, name: &'a str, member: &'a Value) {
        match self.path[..] {
            [PathStep::Member("metadata"), PathStep::Member("managedFields")] => self.managers(member),
            // It is the revision, and not a value that the object holds.
            [PathStep::Member("metadata"), PathStep::Member("resourceVersion")] => {}
            _ => {
                if self.search.looks_at(Place::Keys) && self.search.pattern.is_in(name) {
                    self.found(Place::Keys, name.into());
                }
                self.value(member);
            }
        }
    }

    /// The managers alone: what else stands there is about fields, not about what they hold.
    fn managers(&mut self, entries: &'a Value) {
        for (place, entry) in entries.as_array().into_iter().flatten().enumerate() {
            if let Some(manager) = entry.get("manager")
                && self.search.looks_at(Place::Managers)
                && manager.as_str().is_some_and(|name| self.search.pattern.is_in(name))
            {
                self.at(PathStep::Item(place, entry), |walk| {
                    walk.at(PathStep::Member("manager"), |walk| walk.found(Place::Managers, manager.clone()));
                });
            }
        }
    }

    fn text(&mut self, text: &str, value: &Value) {
        let place = match self.path[..] {
            [PathStep::Member("metadata"), PathStep::Member("name" | "namespace" | "generateName")] => Place::Names,
            [.., PathStep::Member("message")] | [PathStep::Member("note")] => Place::Messages,
            _ => Place::Values,
        };
        if self.search.looks_at(place) && self.search.pattern.is_in(text) {
            self.found(place, value.clone());
        }
    }

    fn at(&mut self, step: PathStep<'a>, work: impl FnOnce(&mut Self)) {
        self.path.push(step);
        work(self);
        self.path.pop();
    }

    fn found(&mut self, place: Place, value: Value) {
        let hit = Hit { place, path: self.path().to_string(), value };
        if self.known.insert(hit.clone()) {
            self.hits.push(hit);
        }
    }

    /// The path, with list items named as differences name them.
    fn path(&self) -> FieldPath {
        let mut list = "";
        let segments = self.path.iter().map(|step| match *step {
            PathStep::Member(name) => {
                list = name;
                Segment::Field(name.to_owned())
            }
            PathStep::Item(place, item) => label(list, item).map_or(Segment::Index(place), Segment::Item),
        });
        FieldPath(segments.collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(pattern: &str, places: &[Place], object: Value) -> Vec<String> {
        let search = Search { pattern: Pattern::new(pattern, false, false).unwrap(), places: places.to_vec() };
        search.hits(&object.into()).iter().map(|hit| format!("{} {} {}", hit.place.as_str(), hit.path, hit.value)).collect()
    }

    fn object() -> Value {
        json!({
            "kind": "Pod",
            "metadata": {
                "name": "web-0", "namespace": "web", "resourceVersion": "8080", "labels": {"k8s.io/web": "x"},
                "managedFields": [{"manager": "kubelet-web", "operation": "Update", "fieldsV1": {"f:web": {}}}],
            },
            "spec": {"containers": [{"name": "c", "image": "web:1", "args": ["--web", "x"], "ports": [{"containerPort": 8080, "protocol": "TCP"}]}]},
            "status": {"conditions": [{"type": "Ready", "message": "web is not ready"}], "ready": true},
        })
    }

    #[test]
    fn each_place_is_searched_alone() {
        for (place, wanted) in [
            (Place::Names, &["names metadata.name \"web-0\"", "names metadata.namespace \"web\""][..]),
            (Place::Values, &["values spec.containers[c].args[0] \"--web\"", "values spec.containers[c].image \"web:1\""]),
            (Place::Keys, &["keys metadata.labels[k8s.io/web] \"k8s.io/web\""]),
            (Place::Managers, &["managers metadata.managedFields[kubelet-web/Update].manager \"kubelet-web\""]),
            (Place::Messages, &["messages status.conditions[Ready].message \"web is not ready\""]),
        ] {
            assert_eq!(found("web", &[place], object()), wanted);
        }
        assert_eq!(found("web", &Place::USUAL, object()).len(), 5);
    }

    #[test]
    fn numbers_are_searched_as_they_are_written_and_revisions_are_not() {
        assert_eq!(found("8080", &Place::USUAL, object()), ["values spec.containers[c].ports[8080/TCP].containerPort 8080"]);
        assert_eq!(found("true", &Place::USUAL, object()), ["values status.ready true"]);
    }

    #[test]
    fn a_mask_is_not_searched() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "{\"data\":{}}", "note": "s3cr3t"}}, "data": {"key": "czNjcjN0"}});
        let decoded = ketcd_kube::Decoder::new().decode(b"/registry/secrets/a/s", secret.to_string().as_bytes(), 7);
        let ketcd_kube::Body::Object(object) = decoded.body else { panic!("{:?}", decoded.body) };
        let hits = |pattern: &str, place: Place| {
            Search { pattern: Pattern::new(pattern, true, false).unwrap(), places: vec![place] }.hits(&object)
        };
        assert!(hits(r"\*|\{|czNj|s3cr", Place::Values).is_empty());
        // The names of its values are shown.
        assert_eq!(hits("^key$", Place::Keys)[0].path, "data.key");
    }
}
