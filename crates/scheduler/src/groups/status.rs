//! The status of a group's cycle, and its wording.

/// The part of upstream's `fwk.Status` that a group's cycle needs (`staging/src/k8s.io/kube-scheduler/framework/interface.go`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Success,
    /// The group does not fit; `marked`: with the error that says so before the reasons.
    Rejected {
        /// Whether "pod group is unschedulable" comes first.
        marked: bool,
        reasons: Vec<String>,
    },
    /// The cycle ends with this error.
    Error(String),
}

pub(super) const UNSCHEDULABLE_REASON: &str = "pod group is unschedulable";

impl Status {
    /// A rejection with the error that marks it.
    pub(crate) fn marked(reasons: &[&str]) -> Self {
        Self::Rejected { marked: true, reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect() }
    }

    /// A rejection without it.
    pub(crate) fn plain(reason: impl Into<String>) -> Self {
        Self::Rejected { marked: false, reasons: vec![reason.into()] }
    }

    /// `Status.Message`.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Success => String::new(),
            Self::Rejected { marked, reasons } => {
                let first = marked.then_some(UNSCHEDULABLE_REASON).into_iter();
                first.chain(reasons.iter().map(String::as_str)).collect::<Vec<_>>().join(", ")
            }
            Self::Error(error) => error.clone(),
        }
    }

    /// `Status.AsError`, as text.
    pub(crate) fn as_error(&self) -> String {
        match self {
            Self::Rejected { marked: true, .. } => UNSCHEDULABLE_REASON.to_owned(),
            other => other.message(),
        }
    }

    /// `Status.AppendReason`.
    pub(crate) fn append(&mut self, reason: String) {
        if let Self::Rejected { reasons, .. } = self {
            reasons.push(reason);
        }
    }
}
