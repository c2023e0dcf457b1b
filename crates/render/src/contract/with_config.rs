//! The JSON of `get --with-config`.

use json_patch::Patch;
use schemars::JsonSchema;
use serde::Serialize;

use super::common::{KubernetesObject, PatchOperation, Time};

/// A pod with the configuration that its containers started with.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodWithConfig<'a> {
    /// The ConfigMaps and Secrets that the pod uses.
    pub config: Vec<Config<'a>>,
    /// `PodWithConfig`.
    #[schemars(extend("const" = "PodWithConfig"))]
    pub kind: &'static str,
    /// The pod.
    pub pod: KubernetesObject<'a>,
    /// The revision that shows the last start of its containers; null where none is in the readable history.
    pub started_revision: Option<i64>,
    /// When that revision was written; null where nothing dates it.
    pub started_time: Option<Time>,
    /// How far `startedTime` may be off, in seconds; null where it is.
    pub time_error_seconds: Option<f64>,
}

/// A ConfigMap or Secret of the pod.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Config<'a> {
    /// The object as it was when the containers started; null where there was none, or where it cannot be read any more.
    pub at_start: Option<KubernetesObject<'a>>,
    /// What changed since, as a JSON Patch (RFC 6902); null where the object is missing at either time.
    #[schemars(with = "Option<Vec<PatchOperation>>")]
    pub changed_since: Option<Patch>,
    /// Whether it was deleted since.
    pub deleted_since: bool,
    /// What it is.
    pub kind: ConfigKind,
    /// Its name; the namespace is the pod's.
    pub name: &'a str,
    /// Why `atStart` is not known; null where it is.
    pub problem: Option<&'a str>,
    /// The containers that take variables from it.
    pub variables_of: &'a [String],
    /// The volumes that hold it as files.
    pub volumes: &'a [String],
}

/// What holds configuration.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub enum ConfigKind {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
}

impl From<ketcd_history::config::ConfigKind> for ConfigKind {
    fn from(kind: ketcd_history::config::ConfigKind) -> Self {
        match kind {
            ketcd_history::config::ConfigKind::ConfigMap => Self::ConfigMap,
            ketcd_history::config::ConfigKind::Secret => Self::Secret,
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }
}
