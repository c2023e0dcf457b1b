//! What is wrong with a value, where.

use std::fmt;

/// A value that could not be read: what, at which byte, in which field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// A lowercase fragment.
    pub what: String,
    /// Bytes from the beginning of the value.
    pub offset: usize,
    /// JSON path of the field, empty for the value itself.
    pub path: String,
}

/// Faults are rare and results many: the box keeps them small.
pub(super) type Result<T> = std::result::Result<T, Box<Fault>>;

impl Fault {
    pub(super) fn new(what: impl Into<String>, offset: usize) -> Box<Self> {
        Box::new(Self { what: what.into(), offset, path: String::new() })
    }

    /// What a type has against a value. Serde's words quote the value; of them only what is expected is kept.
    pub(super) fn unfit(problem: &str) -> Box<Self> {
        let names_member = ["missing field `", "duplicate field `"].iter().any(|words| problem.starts_with(words));
        match problem.rsplit_once(", expected ") {
            _ if names_member => Self::new(problem, 0),
            Some((_, expected)) => {
                Self::new(format!("not the expected {}", expected.trim_start_matches("a ").trim_start_matches("an ")), 0)
            }
            None => Self::new("a value that is not valid in its place", 0),
        }
    }

    /// The same fault seen from one level up.
    pub(super) fn within(mut self: Box<Self>, segment: &str) -> Box<Self> {
        prepend(&mut self.path, segment);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}", self.what, self.offset)?;
        if self.path.is_empty() { Ok(()) } else { write!(f, ", field {}", self.path) }
    }
}

/// Puts a member's name or an index before a path: `spec` + `containers[0]`.
pub(super) fn prepend(path: &mut String, segment: &str) {
    /// Names of members are data and may be of any length.
    const MAX_PATH_BYTES: usize = 400;
    if segment.len() > MAX_PATH_BYTES {
        let end = (0..MAX_PATH_BYTES - 3).rev().find(|&end| segment.is_char_boundary(end)).unwrap_or(0);
        return prepend(path, &format!("{}…", &segment[..end]));
    }
    if !path.is_empty() && !path.starts_with('[') {
        path.insert(0, '.');
    }
    path.insert_str(0, segment);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_fit_is_not_quoted() {
        for value in [json!("hunter2, expected"), json!(["hunter2"]), json!({"hunter2": 1}), json!(77)] {
            let error = serde_json::from_value::<u8>(value.clone()).err().or_else(|| serde_json::from_value::<bool>(value).err()).unwrap();
            let fault = Fault::unfit(&error.to_string()).to_string();
            assert!(fault.starts_with("not the expected ") && !fault.contains("hunter2") && !fault.contains("77"), "{fault}");
        }
        assert_eq!(Fault::unfit("missing field `name`").what, "missing field `name`");
        assert_eq!(Fault::unfit("\"hunter2\" is not a time").what, "a value that is not valid in its place");
    }
}
