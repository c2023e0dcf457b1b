//! The mark of an object that a bundle holds only as far as a scheduler reads it, so that nobody takes what is missing for what is not there.

use serde_json::{Value, json};

/// The annotation, which no scheduler reads. Its words are among those that redaction takes for nobody's.
const MARK: &str = "ketcd/reduced";

/// Marks an object.
pub(crate) fn mark(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(MARK.to_owned(), "true".into());
    }
}

/// Takes the mark away; returns whether it was there.
pub(crate) fn take_mark(object: &mut Value) -> bool {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return false };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else { return false };
    let was_marked = annotations.remove(MARK).is_some();
    if was_marked && annotations.is_empty() {
        metadata.remove("annotations");
    }
    was_marked
}

/// Whether an object is marked.
pub(crate) fn is_marked(object: &Value) -> bool {
    object["metadata"]["annotations"].get(MARK).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_set_and_taken() {
        let pod = json!({"kind": "Pod", "metadata": {"name": "web-0"}});
        let mut marked = pod.clone();
        mark(&mut marked);
        assert!(is_marked(&marked) && !is_marked(&pod));
        assert!(take_mark(&mut marked));
        assert_eq!(marked, pod);
        assert!(!take_mark(&mut marked));
    }
}
