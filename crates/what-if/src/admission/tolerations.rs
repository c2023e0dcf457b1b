//! DefaultTolerationSeconds: a pod stays five minutes on a node that is not ready or does not answer.
//! Source: `plugin/pkg/admission/defaulttolerationseconds/admission.go` (1.37).

use serde_json::{Value, json};

use crate::json::{list, member, text};

/// Adds the two tolerations, unless the pod has others that cover them.
pub(super) fn add(pod: &mut Value) {
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let covers = |toleration: &Value| {
            matches!(text(toleration, "/key"), known if known == key || known.is_empty())
                && matches!(text(toleration, "/effect"), "NoExecute" | "")
        };
        if !list(pod, "/spec/tolerations").iter().any(covers) {
            let added = json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
            let tolerations = member(pod, "spec").entry("tolerations").or_insert_with(|| json!([]));
            tolerations.as_array_mut().into_iter().for_each(|tolerations| tolerations.push(added.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_added_once() {
        let mut pod =
            json!({"spec": {"tolerations": [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "tolerationSeconds": 5}]}});
        add(&mut pod);
        add(&mut pod);
        assert_eq!(list(&pod, "/spec/tolerations").len(), 2);
        let mut all = json!({"spec": {"tolerations": [{"operator": "Exists"}]}});
        add(&mut all);
        assert_eq!(list(&all, "/spec/tolerations").len(), 1);
    }
}
