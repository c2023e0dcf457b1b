//! `-l` and `--field-selector`: which of the objects addressed count. Where changes are shown, one counts whose object fits on either side of it.

use clap::Args;

use crate::cli::outcome::{Error, Result};
use ketcd_cluster::Selection;
use ketcd_kube::{FieldSelector, LabelSelector, SelectorError};

/// Which objects count.
#[derive(Args, Clone, Debug, Default)]
pub(in crate::cli) struct SelectArgs {
    /// Only objects with these labels: `app=web,tier in (front,back),!canary`.
    #[arg(short = 'l', long, value_name = "SELECTOR", help_heading = "Selection")]
    pub selector: Option<String>,
    /// Only objects with these fields: `status.phase!=Running,spec.nodeName=n1`.
    #[arg(long, value_name = "SELECTOR", hide_short_help = true, help_heading = "Selection")]
    pub field_selector: Option<String>,
}

impl SelectArgs {
    /// Reads the selectors.
    ///
    /// # Errors
    /// One that cannot be read.
    pub(in crate::cli) fn read(&self) -> Result<Selection> {
        let wrong = |flag: &'static str| {
            move |error: SelectorError| {
                Error::new(format!("{flag}: {error}")).hint("write it as kubectl does, for example app=web,tier!=db")
            }
        };
        let labels = self.selector.as_deref().map(LabelSelector::parse).transpose().map_err(wrong("--selector"))?;
        let fields = self.field_selector.as_deref().map(FieldSelector::parse).transpose().map_err(wrong("--field-selector"))?;
        Ok(Selection { labels: labels.unwrap_or_default(), fields: fields.unwrap_or_default(), ever: false })
    }

    pub(in crate::cli) fn typed(&self) -> Vec<String> {
        let labels = self.selector.iter().map(|selector| format!("-l {selector}"));
        labels.chain(self.field_selector.iter().map(|selector| format!("--field-selector {selector}"))).collect()
    }

    pub(in crate::cli) fn is_given(&self) -> bool {
        self.selector.is_some() || self.field_selector.is_some()
    }
}
