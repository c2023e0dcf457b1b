//! Gathers the steps of one object, each with its time and its actor.

use serde_json::Value;

use super::managed::{self, StatusField};
use super::timed_step::{TimedStep, time};
use crate::timeline::{Step, StepDetail, StepKind, items};

/// Gathers the steps of one object.
pub(super) struct StepCollector<'o> {
    pub(super) object: &'o Value,
    pub(super) steps: Vec<TimedStep>,
}

impl<'o> StepCollector<'o> {
    /// Adds a step at the time written in `at`, by the manager of `field` in status; nothing if there is no time.
    pub(super) fn add(&mut self, phase: StepKind, detail: impl Into<StepDetail>, at: &Value, field: StatusField<'_>) {
        let Some(at) = time(at) else { return };
        let by = managed::setter(self.object, field);
        self.steps.push(TimedStep { step: Step::new(phase, detail), at, by });
    }

    /// Adds a step for each condition for which `phase` returns one; it gets the type, the status and the condition.
    pub(super) fn conditions(&mut self, phase: impl Fn(&str, &str, &Value) -> Option<(StepKind, StepDetail)>) {
        for condition in items(Some(self.object), ["status", "conditions"]) {
            let text = |field: &str| condition[field].as_str().unwrap_or_default();
            if let Some((phase, detail)) = phase(text("type"), text("status"), condition) {
                // The binding writes a condition that others may have managed before, and leaves no trace of its own.
                let field = if phase == StepKind::Scheduled { StatusField::Elsewhere } else { StatusField::Condition(text("type")) };
                self.add(phase, detail, &condition["lastTransitionTime"], field);
            }
        }
    }
}
