//! PriorityLevelConfigurations between their versions, which name the shares of a limited one differently.
//!
//! Source: Kubernetes 1.36 `pkg/apis/flowcontrol/{v1beta1,v1beta2,v1beta3}/conversion.go`.

use serde_json::{Map, Value};

/// The annotation that marks zero shares in v1beta3, where zero otherwise means the default.
const ZERO_IS_MEANT: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

/// The first release with v1, where zero can be said.
const WITH_V1: u16 = 29;

fn shares(version: &str) -> &'static str {
    if matches!(version, "v1alpha1" | "v1beta1" | "v1beta2") { "assuredConcurrencyShares" } else { "nominalConcurrencyShares" }
}

pub(super) fn convert(level: &mut Value, from: &str, to: &str, release: u16) {
    let mut is_zero = false;
    if let Some(limited) = level.pointer_mut("/spec/limited").and_then(Value::as_object_mut) {
        let own = limited.remove(shares(from)).unwrap_or_else(|| 0.into());
        is_zero = own == 0;
        limited.insert(shares(to).to_owned(), own);
    }
    let Some(metadata) = level.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    if from == "v1beta3"
        && let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut)
        && annotations.remove(ZERO_IS_MEANT).is_some()
        && annotations.is_empty()
    {
        metadata.remove("annotations");
    }
    if to == "v1beta3" && is_zero && release >= WITH_V1 {
        let annotations = metadata.entry("annotations").or_insert_with(|| Map::new().into());
        annotations[ZERO_IS_MEANT] = "".into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shares_have_the_name_of_the_version() {
        let old = json!({"metadata": {"name": "a"}, "spec": {"type": "Limited", "limited": {"assuredConcurrencyShares": 5}}});
        let mut level = old.clone();
        convert(&mut level, "v1beta2", "v1", 29);
        assert_eq!(level["spec"]["limited"], json!({"nominalConcurrencyShares": 5}));
        convert(&mut level, "v1", "v1beta1", 29);
        assert_eq!(level, old);
        let mut zero = json!({"metadata": {"name": "a"}, "spec": {"limited": {"nominalConcurrencyShares": 0}}});
        convert(&mut zero, "v1", "v1beta3", 30);
        assert_eq!(zero["metadata"]["annotations"], json!({ZERO_IS_MEANT: ""}));
        convert(&mut zero, "v1beta3", "v1", 30);
        assert_eq!(zero, json!({"metadata": {"name": "a"}, "spec": {"limited": {"nominalConcurrencyShares": 0}}}));
    }
}
