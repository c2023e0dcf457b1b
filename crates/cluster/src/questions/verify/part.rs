//! What one of `verify`'s checks answers.

use super::finding::Finding;

/// What one check found, what it looked at, and what it could not look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// What holds, one phrase per item: "every value decodes".
    pub checked: Vec<String>,
    /// What was not checked and why, one phrase per item: "no SHA-256 in it, a changed value cannot be noticed".
    pub not_checked: Vec<String>,
}

impl Part {
    /// Adds what another check answers.
    pub fn add(&mut self, other: Self) {
        self.findings.extend(other.findings);
        self.checked.extend(other.checked);
        self.not_checked.extend(other.not_checked);
    }
}
