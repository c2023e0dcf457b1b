//! Who wrote an object since another version of it, by what the object records.

use serde_json::Value;

use super::kind::WriterKind;
use super::names;

/// Who wrote an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    pub(crate) kind: WriterKind,
    /// The field manager or the user; empty where nothing says.
    pub(crate) name: String,
}

impl Writer {
    /// Nothing says who.
    pub(crate) fn unknown() -> Self {
        Self { kind: WriterKind::Unknown, name: String::new() }
    }

    pub(crate) fn of_user(user: &str) -> Self {
        Self { kind: names::kind_of_user(user), name: user.to_owned() }
    }

    /// The program that a field manager is named after.
    pub(crate) fn of_manager(manager: &str) -> Self {
        Self { kind: names::kind_of_manager(manager), name: manager.to_owned() }
    }

    /// Who wrote an object since another version of it, or since it was made: of several the one whose work is hardest to make again, of those the last.
    /// `None` where its managers do not say.
    pub(crate) fn since(before: Option<&Value>, after: &Value) -> Option<Self> {
        let known = before.map(entries).unwrap_or_default();
        let is_new = |entry: &&Value| is_writer(entry) && same(known, entry).is_none_or(|known| known["time"] != entry["time"]);
        let found = entries(after).iter().filter(is_new).map(|entry| (Self::of_entry(entry), entry["time"].as_str()));
        let best = found.min_by(|(one, at), (other, then)| one.kind.cmp(&other.kind).then_with(|| then.cmp(at)));
        best.map(|(writer, _)| writer).or_else(|| Self::by_marks(before, after))
    }

    /// The writer of an entry of managedFields. A status that an unknown program keeps is a controller's: nobody else is asked to write one.
    fn of_entry(entry: &Value) -> Self {
        let writer = Self::of_manager(entry["manager"].as_str().unwrap_or_default());
        let is_status = writer.kind == WriterKind::Unknown && entry["subresource"] == "status";
        if is_status { Self { kind: WriterKind::Controller, ..writer } } else { writer }
    }

    /// What tools leave in objects without managers, as API servers before 1.18 stored them.
    fn by_marks(before: Option<&Value>, after: &Value) -> Option<Self> {
        const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
        let metadata = &after["metadata"];
        let applied = metadata["annotations"].get(LAST_APPLIED);
        let was_applied = before.and_then(|before| before["metadata"]["annotations"].get(LAST_APPLIED));
        if !entries(after).is_empty() {
            None
        } else if applied.is_some() && applied != was_applied {
            Some(Self::of_manager("kubectl apply"))
        } else if before.is_none() && metadata["labels"]["app.kubernetes.io/managed-by"] == "Helm" {
            Some(Self::of_manager("helm"))
        } else {
            None
        }
    }
}

/// The entries of managedFields.
fn entries(object: &Value) -> &[Value] {
    object["metadata"]["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Whether an entry is of a writer: one stands for all fields that were there before the first server-side apply (apiserver v0.37,
/// `apimachinery/pkg/util/managedfields/internal/skipnonapplied.go`).
fn is_writer(entry: &Value) -> bool {
    entry["manager"].as_str().is_some_and(|manager| !manager.is_empty() && manager != "before-first-apply")
}

/// The entry of the same manager among others.
fn same<'v>(others: &'v [Value], entry: &Value) -> Option<&'v Value> {
    let is_same = |other: &&Value| ["manager", "operation", "subresource", "apiVersion"].iter().all(|field| other[field] == entry[field]);
    others.iter().find(is_same)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn managed(entries: &[(&str, &str, &str)]) -> Value {
        let entry = |(manager, time, subresource): &(&str, &str, &str)| {
            let mut entry = json!({"manager": manager, "operation": "Update", "apiVersion": "apps/v1", "time": time});
            if !subresource.is_empty() {
                entry["subresource"] = json!(subresource);
            }
            entry
        };
        json!({"metadata": {"managedFields": entries.iter().map(entry).collect::<Vec<_>>()}})
    }

    #[test]
    fn a_person_comes_before_the_controllers_that_wrote_later() {
        let before = managed(&[("kubectl-create", "1", ""), ("kube-controller-manager", "2", "status")]);
        let scaled = managed(&[("kubectl-create", "1", ""), ("kubectl", "3", "scale"), ("kube-controller-manager", "4", "status")]);
        assert_eq!(Writer::since(Some(&before), &scaled), Some(Writer { kind: WriterKind::Person, name: "kubectl".to_owned() }));
        let counted = managed(&[("kubectl-create", "1", ""), ("kube-controller-manager", "4", "status")]);
        assert_eq!(Writer::since(Some(&before), &counted).unwrap().kind, WriterKind::Controller);
        assert_eq!(Writer::since(Some(&before), &before), None);
        assert_eq!(Writer::since(None, &counted).unwrap().name, "kubectl-create");
    }

    #[test]
    fn of_two_of_a_sort_the_last_is_named() {
        let twice = managed(&[("kubectl-edit", "5", ""), ("kubectl-create", "1", "")]);
        assert_eq!(Writer::since(None, &twice).unwrap().name, "kubectl-edit");
    }

    #[test]
    fn an_unknown_program_that_keeps_a_status_is_a_controller() {
        assert_eq!(Writer::since(None, &managed(&[("shopd", "1", "status")])).unwrap().kind, WriterKind::Controller);
        assert_eq!(Writer::since(None, &managed(&[("shopd", "1", "")])).unwrap().kind, WriterKind::Unknown);
        assert_eq!(Writer::since(None, &managed(&[("before-first-apply", "1", "")])), None);
    }

    #[test]
    fn without_managers_the_marks_of_tools_count() {
        let applied = json!({"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}});
        assert_eq!(Writer::since(None, &applied).unwrap().kind, WriterKind::Person);
        assert_eq!(Writer::since(Some(&applied), &applied), None);
        let helm = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "Helm"}}});
        assert_eq!(Writer::since(None, &helm).unwrap().kind, WriterKind::GitOps);
    }
}
