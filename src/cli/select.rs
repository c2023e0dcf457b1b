//! `-l` and `--field-selector` on changes: a change counts where the object fits on either side of it.

use clap::Args;
use serde_json::Value;

use super::{Error, Result};
use ketcd_history::Change;
use ketcd_kube::{FieldSelector, LabelSelector};

/// Which objects' changes are shown.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct SelectArgs {
    /// Show only objects whose labels match, as in `app=web,tier in (front,back),!canary`.
    #[arg(short = 'l', long, value_name = "SELECTOR", help_heading = "Selection")]
    pub selector: Option<String>,
    /// Show only objects whose fields match, as in `status.phase!=Running,spec.nodeName=n1`.
    #[arg(long, value_name = "SELECTOR", help_heading = "Selection")]
    pub field_selector: Option<String>,
}

/// The selectors, read.
pub(super) struct Select {
    labels: LabelSelector,
    fields: FieldSelector,
}

impl SelectArgs {
    /// Reads the selectors.
    ///
    /// # Errors
    /// One that cannot be read.
    pub(super) fn read(&self) -> Result<Select> {
        let wrong = |flag: &str, error: &dyn std::fmt::Display| Error::new(format!("{flag}: {error}"));
        let labels = self.selector.as_deref().map(LabelSelector::parse).transpose().map_err(|error| wrong("--selector", &error))?;
        let fields =
            self.field_selector.as_deref().map(FieldSelector::parse).transpose().map_err(|error| wrong("--field-selector", &error))?;
        Ok(Select { labels: labels.unwrap_or_default(), fields: fields.unwrap_or_default() })
    }
}

impl Select {
    /// Whether the change is of an object that fits, before or after it. Values that are no objects fit only where nothing is selected.
    pub(super) fn takes(&self, change: &Change) -> bool {
        self.takes_all()
            || [&change.before, &change.after].into_iter().filter_map(|version| version.object()).any(|object| self.fits(object))
    }

    /// Whether nothing is selected, so that every change fits.
    pub(super) fn takes_all(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an object fits.
    pub(super) fn fits(&self, object: &Value) -> bool {
        self.labels.matches(&object["metadata"]["labels"].as_object()) && self.fields.matches(object)
    }
}
