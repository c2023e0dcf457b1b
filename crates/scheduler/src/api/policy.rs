//! Types of `policy/v1`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{meta, or_default};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PodDisruptionBudget {
    #[serde(deserialize_with = "or_default")]
    pub(crate) metadata: meta::ObjectMeta,
    pub(crate) spec: Option<PodDisruptionBudgetSpec>,
    pub(crate) status: Option<PodDisruptionBudgetStatus>,
}

/// A budget's `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodDisruptionBudgetSpec {
    pub(crate) selector: Option<meta::LabelSelector>,
}

/// A budget's `status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodDisruptionBudgetStatus {
    pub(crate) disrupted_pods: Option<BTreeMap<String, meta::Time>>,
    pub(crate) disruptions_allowed: Option<i32>,
}
