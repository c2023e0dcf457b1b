//! The parameters of the page's questions.

use crate::wire::{Result, Status};

/// Bytes of a query.
const MAX_QUERY_BYTES: usize = 16 << 10;

/// A query, decoded.
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads a query.
    pub(super) fn parse(query: &str) -> Result<Self> {
        if query.len() > MAX_QUERY_BYTES {
            return Err(Status::bad_request(format!("the query has more than {MAX_QUERY_BYTES} bytes")));
        }
        Ok(Self(form_urlencoded::parse(query.as_bytes()).map(|(name, value)| (name.into_owned(), value.into_owned())).collect()))
    }

    /// Returns a parameter; empty ones are none.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, value)| known == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// Returns all values of a parameter, also those that stand together with commas between.
    pub(super) fn list(&self, name: &str) -> Vec<String> {
        let values = self.0.iter().filter(|(known, _)| known == name).flat_map(|(_, value)| value.split(','));
        values.filter(|value| !value.is_empty()).map(str::to_owned).collect()
    }

    /// Returns a number, no more than `most`.
    pub(super) fn number(&self, name: &str, default: usize, most: usize) -> Result<usize> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let wrong = || Status::bad_request(format!("{name}: {text:?} is not a whole number of 0 or more"));
        Ok(text.parse::<usize>().map_err(|_| wrong())?.min(most))
    }

    /// Returns a flag.
    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        self.get(name).map_or(default, |value| !matches!(value, "0" | "false"))
    }

    /// Returns a parameter that must be there.
    pub(super) fn needed(&self, name: &str) -> Result<&str> {
        self.get(name).ok_or_else(|| Status::bad_request(format!("the parameter {name} is missing")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_bounded_and_told_apart() {
        let query = Query::parse("kind=Pod,Node&kind=Job&limit=9000&q=a%2Fb&deleted=false&label=").unwrap();
        assert_eq!(query.list("kind"), ["Pod", "Node", "Job"]);
        assert_eq!((query.number("limit", 200, 500).unwrap(), query.number("offset", 7, 500).unwrap()), (500, 7));
        assert_eq!(
            (query.get("q"), query.get("label"), query.flag("deleted", true), query.flag("quiet", false)),
            (Some("a/b"), None, false, false)
        );
        assert!(query.needed("object").is_err() && Query::parse("limit=-1").unwrap().number("limit", 0, 9).is_err());
        assert!(Query::parse(&"a".repeat(MAX_QUERY_BYTES + 1)).is_err());
    }
}
