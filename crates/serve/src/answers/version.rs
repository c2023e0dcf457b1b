//! `/version`: the release of the data, marked as ketcd's.

use ketcd_kube::Release;
use serde_json::{Value, json};

/// Returns the document.
pub(crate) fn document(release: Release) -> Value {
    json!({
        "major": "1", "minor": release.0.to_string(), "gitVersion": format!("v{release}.0+ketcd"), "gitCommit": "", "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "",
    })
}
