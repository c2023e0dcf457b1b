//! What differs between releases in the messages of upstream's validation (`apimachinery/pkg/util/validation`).

use ketcd_kube::LabelWords;

use crate::Release;

/// The messages of one release.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValidationWords {
    minor: u16,
}

impl ValidationWords {
    /// Those of a release.
    pub(crate) fn of(release: Release) -> Self {
        Self { minor: release.0 }
    }

    /// The messages for label keys and values.
    pub(crate) fn labels(self) -> LabelWords {
        LabelWords::of(Release(self.minor))
    }

    /// Whether the message for an invalid selector operator lists the valid ones (`apimachinery/pkg/labels/selector.go`, since 1.28).
    pub(crate) fn lists_selector_operators(self) -> bool {
        self.minor >= 28
    }

    /// Whether an invalid value that is a struct or a list is shown as JSON, not as Go prints it (`field/errors.go`, since 1.34).
    pub(crate) fn shows_values_as_json(self) -> bool {
        self.minor >= 34
    }
}
