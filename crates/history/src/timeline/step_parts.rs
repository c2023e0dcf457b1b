//! Parts of step details.

use std::fmt;

use serde_json::Value;

/// The `reason` and `message` of a condition, a container's state or the status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatusReason {
    /// A word in CamelCase.
    pub reason: Option<String>,
    /// A sentence.
    pub message: Option<String>,
}

impl fmt::Display for StatusReason {
    /// `Reason: message`, or the one of them that is present.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.reason, &self.message) {
            (Some(reason), Some(message)) => write!(f, "{reason}: {message}"),
            (Some(only), None) | (None, Some(only)) => f.write_str(only),
            (None, None) => Ok(()),
        }
    }
}

/// What a created object does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum CreatedAs {
    /// No detail.
    #[default]
    Plain,
    /// A workload with these images.
    Images(Vec<String>),
    /// A CronJob.
    Schedule {
        /// Its `schedule`.
        schedule: String,
        /// Its `timeZone`.
        zone: Option<String>,
    },
    /// A PersistentVolumeClaim.
    Claim {
        /// The storage requested.
        size: Option<String>,
        /// Its storage class.
        class: Option<String>,
    },
    /// A PersistentVolume.
    Volume {
        /// Its capacity.
        size: Option<String>,
        /// Who made it.
        provisioner: Option<String>,
    },
    /// A VolumeAttachment.
    Attachment {
        /// The volume.
        volume: String,
        /// The node.
        node: String,
    },
    /// A Service.
    Service {
        /// Its type.
        kind: String,
        /// Its cluster IP, or its external name.
        address: String,
        /// Its ports, each with its protocol.
        ports: Vec<(Value, String)>,
    },
    /// A HorizontalPodAutoscaler.
    Autoscaler {
        /// Kind and name of what it scales.
        target: (String, String),
        /// `minReplicas`.
        least: i64,
        /// `maxReplicas`.
        most: Value,
    },
}

/// A field that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldEdit {
    /// Its path: `spec.maxReplicas`.
    pub path: String,
    /// What became of it.
    pub edit: Edit,
}

/// What became of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// It has another value, which is short; `None`: there was or is none.
    Replaced {
        /// The old value.
        before: Option<Value>,
        /// The new value.
        after: Option<Value>,
    },
    /// Its items are in another order.
    Reordered,
    /// It was added.
    Added,
    /// It was removed.
    Removed,
    /// It changed; its values are long, have parts or are secret.
    Changed,
}

/// How a container ended, as its status says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContainerExit {
    /// The reason: `OOMKilled`.
    pub reason: Option<String>,
    /// The exit code.
    pub code: Option<i64>,
    /// The signal that ended it.
    pub signal: Option<i64>,
}

/// A resource with another quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceChange {
    /// The resource: `cpu`.
    pub resource: String,
    /// Whether it is about the limit, not the request.
    pub limit: bool,
    /// The old quantity; `None` where there was none.
    pub before: Option<String>,
    /// The new one; `None` if there is none.
    pub after: Option<String>,
}

/// A taint of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeTaint {
    /// Its key.
    pub key: String,
    /// Its value; may be empty.
    pub value: String,
    /// Its effect: `NoExecute`.
    pub effect: String,
}

impl fmt::Display for NodeTaint {
    /// As kubectl writes it: `key=value:Effect`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let equals = if self.value.is_empty() { "" } else { "=" };
        write!(f, "{}{equals}{}:{}", self.key, self.value, self.effect)
    }
}

/// What differs in a pod template.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum TemplateChange {
    /// It is the first: its images.
    Images(Vec<String>),
    /// Fields that differ from the template before.
    Fields(Vec<TemplateEdit>),
}

/// A field of a pod template that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TemplateEdit {
    /// Its path, below `spec` where it is there: `containers[main].image`.
    pub path: String,
    /// The old value; `None` where there was none.
    pub before: Option<Value>,
    /// The new value; `None` if there is none.
    pub after: Option<Value>,
}

/// How much of a resource pods use, in percent of what they request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Utilization {
    /// The resource: `cpu`.
    pub resource: String,
    /// The average.
    pub current: i64,
    /// The target.
    pub target: Option<i64>,
}

/// A device by its driver, its pool and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceName {
    /// The driver.
    pub driver: String,
    /// The pool.
    pub pool: String,
    /// The device.
    pub device: String,
}
