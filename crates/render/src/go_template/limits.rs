//! What one run of a template may take, whatever it does: templates are the user's, and may be copied from anywhere.

use super::GoTemplateError;
use super::value::Value;

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// How many actions, texts and rounds of a range there may be.
    pub steps: u64,
    /// The bytes that are written, and those that values take that are passed on.
    pub bytes: u64,
    /// The bytes of the texts that one function gets.
    pub longest: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 50_000_000, bytes: 2 << 30, longest: 16 << 20 }
    }
}

impl Limits {
    /// Counts a step.
    ///
    /// # Errors
    ///
    /// There were too many.
    pub(super) fn step(&mut self) -> Result<(), GoTemplateError> {
        self.steps(1)
    }

    /// Counts steps.
    ///
    /// # Errors
    ///
    /// There were too many.
    pub(super) fn steps(&mut self, count: usize) -> Result<(), GoTemplateError> {
        let left = self.steps.checked_sub(count as u64);
        self.steps = left.ok_or_else(|| GoTemplateError::new("the template has too many steps, and is stopped"))?;
        Ok(())
    }

    /// Counts bytes.
    ///
    /// # Errors
    ///
    /// There were too many.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), GoTemplateError> {
        let left = self.bytes.checked_sub(bytes as u64);
        self.bytes = left.ok_or_else(|| GoTemplateError::new("the template makes too many bytes, and is stopped"))?;
        Ok(())
    }

    /// Counts what a function gets.
    ///
    /// # Errors
    ///
    /// It is too much.
    pub(super) fn take_all(&mut self, arguments: &[Value<'_>]) -> Result<(), GoTemplateError> {
        let bytes: usize = arguments.iter().map(Value::text_length).sum();
        if bytes as u64 > self.longest {
            return Err(GoTemplateError::new(format!("a function gets more than {} bytes of text", self.longest)));
        }
        self.take(bytes)
    }
}
