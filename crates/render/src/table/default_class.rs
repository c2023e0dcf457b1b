//! Which StorageClass a table marks as the default: up to 1.36 each that says so, since 1.37 the one of a list that counts.

use jiff::Timestamp;
use ketcd_kube::{Kind, Release};
use serde_json::Value;

use super::fields::{at, name, time};

/// The first release that marks one class of a list, and none that is asked for by name.
const ONE_OF_LIST: Release = Release(37);

/// The StorageClass of a list that is the default: of those marked so, the one created last, then the first by name.
///
/// Source: Kubernetes 1.37 `pkg/printers/internalversion/printers.go`.
#[derive(Debug, Default)]
pub struct DefaultClass(Option<(Option<Timestamp>, String)>);

impl DefaultClass {
    /// The mark after the name of a default class.
    pub const MARK: &str = " (default)";

    /// Returns what finds the default in lists of a kind; `None` where no row depends on the others.
    pub fn of(kind: &Kind, release: Release) -> Option<Self> {
        let is_class = kind.group == "storage.k8s.io" && kind.kind == "StorageClass" && !kind.is_custom();
        (is_class && release >= ONE_OF_LIST).then(Self::default)
    }

    /// Whether the row of an object is marked whatever others there are.
    pub(super) fn is_marked_alone(object: &Value, release: Release) -> bool {
        release < ONE_OF_LIST && is_annotated(object)
    }

    /// Adds an object of the list.
    pub fn see(&mut self, object: &Value) {
        if !is_annotated(object) {
            return;
        }
        let (created, name) = (time(at(object, "metadata.creationTimestamp")), name(object));
        let is_older = |(known, known_name): &(_, String)| *known < created || *known == created && name < *known_name;
        if self.0.as_ref().is_none_or(is_older) {
            self.0 = Some((created, name));
        }
    }

    /// Whether it is the class of this name.
    pub fn is(&self, name: &str) -> bool {
        self.0.as_ref().is_some_and(|(_, own)| own == name)
    }
}

fn is_annotated(object: &Value) -> bool {
    let marks = ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    marks.iter().any(|mark| object["metadata"]["annotations"].get(mark).and_then(Value::as_str) == Some("true"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(classes: &[(&str, &str, &str)], wanted: Option<&str>) {
        let mut default = DefaultClass::default();
        for (name, created, value) in classes {
            let annotations = json!({"storageclass.kubernetes.io/is-default-class": value});
            default.see(&json!({"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}}));
        }
        let found: Vec<&str> = classes.iter().map(|(name, ..)| *name).filter(|name| default.is(name)).collect();
        assert_eq!(found, Vec::from_iter(wanted), "{classes:?}");
    }

    #[test]
    fn the_newest_that_says_so_is_the_default() {
        let (early, late) = ("2026-11-24T10:00:00Z", "2026-11-24T11:00:00Z");
        check(&[("a", early, "false"), ("b", late, "")], None);
        check(&[("a", early, "true"), ("b", late, "true")], Some("b"));
        check(&[("a", late, "true"), ("b", early, "true")], Some("a"));
        check(&[("b", late, "true"), ("a", late, "true"), ("c", late, "false")], Some("a"));
    }
}
