//! An actor: its name, what it acts for, and how it is known.

use std::fmt;

use serde_json::Value;

/// How an actor is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActorFrom {
    /// The API server recorded it: a managedFields entry appeared or got a new time, or the object names its writer (Events, leases).
    Recorded,
    /// We conclude it from what changed.
    Inferred,
    /// An audit log has the request: the name is the user that it acted as.
    Audited,
}

impl ActorFrom {
    /// The word for machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Inferred => "inferred",
            Self::Audited => "audited",
        }
    }
}

/// Who made a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The field manager or component, for example `kubelet`.
    pub name: String,
    /// The node or object that it acts for, if that adds something to the name.
    pub on: Option<String>,
    /// Recorded or inferred.
    pub from: ActorFrom,
}

impl Actor {
    pub(super) fn recorded(name: impl Into<String>) -> Self {
        Self { name: name.into(), on: None, from: ActorFrom::Recorded }
    }

    pub(super) fn inferred(name: impl Into<String>) -> Self {
        Self { name: name.into(), on: None, from: ActorFrom::Inferred }
    }

    pub(crate) fn audited(user: &str) -> Self {
        Self { name: user.to_owned(), on: None, from: ActorFrom::Audited }
    }

    pub(super) fn on(mut self, name: Option<&str>) -> Self {
        self.on = name.map(str::to_owned);
        self
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.on.iter().try_for_each(|on| write!(f, " {on}"))
    }
}

/// The component that runs the controllers of Kubernetes itself.
pub(crate) const CONTROLLER_MANAGER: &str = "kube-controller-manager";
/// The scheduler of pods that name no other.
pub(super) const DEFAULT_SCHEDULER: &str = "kube-scheduler";

/// The program behind `spec.schedulerName`: the default one is kube-scheduler, others go by their own names.
pub(super) fn scheduler_of(pod: &Value) -> &str {
    pod["spec"]["schedulerName"].as_str().filter(|name| *name != "default-scheduler").unwrap_or(DEFAULT_SCHEDULER)
}
