//! What differs between releases in the messages of upstream's validation (`apimachinery/pkg/util/validation`).

use ketcd_kube::LabelWords;

use crate::Release;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ValidationWords {
    minor: u16,
}

impl ValidationWords {
    pub(crate) fn of(release: Release) -> Self {
        Self { minor: release.0 }
    }
}

rules_of! {
    ValidationWords, self, minor = self.minor;

    /// The messages for label keys and values.
    labels: LabelWords = LabelWords::of(Release(minor));
    /// Whether the message for an invalid selector operator lists the valid ones (`apimachinery/pkg/labels/selector.go`, since 1.28).
    lists_selector_operators: bool = minor >= 28;
    /// Whether an invalid value that is a struct or a list is shown as JSON, not as Go prints it (`field/errors.go`, since 1.34).
    shows_values_as_json: bool = minor >= 34;
}
