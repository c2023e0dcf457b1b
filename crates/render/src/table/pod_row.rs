//! The members of a pod that its row shows, read without the rest of it: a large cluster has hundreds of thousands of pods.

use jiff::Timestamp;
use ketcd_kube::Text;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The members of a pod that its row shows.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodRow<'a> {
    #[serde(borrow)]
    pub(super) metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    pub(super) spec: Option<Spec<'a>>,
    #[serde(borrow)]
    pub(super) status: Option<PodStatus<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Metadata<'a> {
    #[serde(borrow)]
    pub(super) creation_timestamp: Option<Text<'a>>,
    pub(super) deletion_timestamp: Option<IgnoredAny>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) namespace: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Spec<'a> {
    #[serde(borrow)]
    pub(super) containers: Option<Vec<Container<'a>>>,
    #[serde(borrow)]
    pub(super) init_containers: Option<Vec<Container<'a>>>,
    #[serde(borrow)]
    pub(super) node_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) readiness_gates: Option<Vec<Gate<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Container<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) restart_policy: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Gate<'a> {
    #[serde(borrow)]
    pub(super) condition_type: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PodStatus<'a> {
    #[serde(borrow)]
    pub(super) conditions: Option<Vec<Condition<'a>>>,
    #[serde(borrow)]
    pub(super) container_statuses: Option<Vec<ContainerStatus<'a>>>,
    #[serde(borrow)]
    pub(super) init_container_statuses: Option<Vec<ContainerStatus<'a>>>,
    #[serde(borrow)]
    pub(super) nominated_node_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) phase: Option<Text<'a>>,
    #[serde(borrow, rename = "podIP")]
    pub(super) pod_ip: Option<Text<'a>>,
    #[serde(borrow, rename = "podIPs")]
    pub(super) pod_ips: Option<Vec<Address<'a>>>,
    #[serde(borrow)]
    pub(super) reason: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Condition<'a> {
    #[serde(borrow)]
    pub(super) reason: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) status: Option<Text<'a>>,
    #[serde(borrow, rename = "type")]
    pub(super) type_: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Address<'a> {
    #[serde(borrow)]
    pub(super) ip: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ContainerStatus<'a> {
    #[serde(borrow)]
    pub(super) last_state: Option<LastState<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    pub(super) ready: Option<bool>,
    pub(super) restart_count: Option<i64>,
    pub(super) started: Option<bool>,
    #[serde(borrow)]
    pub(super) state: Option<ContainerState<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LastState<'a> {
    #[serde(borrow)]
    pub(super) terminated: Option<Ended<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Ended<'a> {
    #[serde(borrow)]
    pub(super) finished_at: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ContainerState<'a> {
    pub(super) running: Option<Running>,
    #[serde(borrow)]
    pub(super) terminated: Option<Terminated<'a>>,
    #[serde(borrow)]
    pub(super) waiting: Option<WaitingState<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Running {
    /// Not shown; without a field the message would not be checked.
    pub(super) started_at: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Terminated<'a> {
    pub(super) exit_code: Option<i64>,
    #[serde(borrow)]
    pub(super) reason: Option<Text<'a>>,
    pub(super) signal: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WaitingState<'a> {
    #[serde(borrow)]
    pub(super) reason: Option<Text<'a>>,
}

/// The text of a field; empty where it is absent.
pub(super) fn text<'r>(field: &'r Option<Text<'_>>) -> &'r str {
    field.as_deref().unwrap_or_default()
}

/// The text of a field, or `otherwise` where it is absent or empty.
pub(super) fn text_or(field: &Option<Text<'_>>, otherwise: &str) -> String {
    field.as_deref().filter(|text| !text.is_empty()).unwrap_or(otherwise).to_owned()
}

pub(super) fn list<T>(field: &Option<Vec<T>>) -> &[T] {
    field.as_deref().unwrap_or_default()
}

pub(super) fn time(field: &Option<Text<'_>>) -> Option<Timestamp> {
    field.as_deref()?.parse().ok()
}

impl PodStatus<'_> {
    pub(super) fn is_true(&self, condition_type: &str) -> bool {
        let condition = list(&self.conditions).iter().find(|condition| text(&condition.type_) == condition_type);
        condition.is_some_and(|condition| text(&condition.status) == "True")
    }
}

impl ContainerStatus<'_> {
    pub(super) fn restarts(&self) -> i64 {
        self.restart_count.unwrap_or(0)
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready.unwrap_or(false)
    }

    pub(super) fn terminated(&self) -> Option<&Terminated<'_>> {
        self.state.as_ref()?.terminated.as_ref()
    }

    /// Why it waits; empty where it does not or does not say.
    pub(super) fn waiting(&self) -> &str {
        self.state.as_ref().and_then(|state| state.waiting.as_ref()).map_or("", |waiting| text(&waiting.reason))
    }

    /// When the life before its present one ended.
    pub(super) fn last_end(&self) -> Option<Timestamp> {
        time(&self.last_state.as_ref()?.terminated.as_ref()?.finished_at)
    }
}

impl Terminated<'_> {
    pub(super) fn exit_code(&self) -> i64 {
        self.exit_code.unwrap_or(0)
    }

    pub(super) fn ending(&self) -> String {
        match (text(&self.reason), self.signal.unwrap_or(0)) {
            ("", 0) => format!("ExitCode:{}", self.exit_code()),
            ("", signal) => format!("Signal:{signal}"),
            (reason, _) => reason.to_owned(),
        }
    }
}
