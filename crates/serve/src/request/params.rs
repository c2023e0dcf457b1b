//! The query of a list, a watch or a get, checked as the API server checks it.
//!
//! Source: apimachinery v0.36 `pkg/apis/meta/internalversion/validation`.

use axum::http::Uri;

use crate::wire::{Result, Status};

/// What `resourceVersion` means for a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// That revision.
    Exact,
    /// That revision or any after it.
    NotOlderThan,
}

/// Which metadata the rows of a table carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Include {
    /// None.
    None,
    /// `PartialObjectMetadata`.
    #[default]
    Metadata,
    /// The whole object.
    Object,
}

/// The options of a request, as they were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params {
    pub label_selector: String,
    pub field_selector: String,
    pub watch: bool,
    pub allow_bookmarks: bool,
    pub send_initial_events: Option<bool>,
    /// `None` where none is given; 0 stands for any.
    pub revision: Option<i64>,
    pub revision_match: Option<Match>,
    pub timeout_seconds: Option<u64>,
    /// 0 for all.
    pub limit: u64,
    pub continue_token: String,
    pub include: Include,
}

impl Params {
    /// Reads a query.
    pub(crate) fn parse(query: &str) -> Result<Self> {
        let mut params = Self::default();
        let mut revision_match = String::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match name.as_ref() {
                "labelSelector" => params.label_selector = value.into_owned(),
                "fieldSelector" => params.field_selector = value.into_owned(),
                "watch" => params.watch = flag(&value),
                "allowWatchBookmarks" => params.allow_bookmarks = flag(&value),
                "sendInitialEvents" => params.send_initial_events = Some(flag(&value)),
                "resourceVersion" if value.is_empty() => params.revision = None,
                "resourceVersion" => {
                    let invalid = || Status::bad_request(format!("invalid resource version: {value:?} is not a number"));
                    params.revision = Some(value.parse().ok().filter(|number| *number >= 0).ok_or_else(invalid)?);
                }
                "resourceVersionMatch" => revision_match = value.into_owned(),
                "timeoutSeconds" => params.timeout_seconds = Some(number(&name, &value)?),
                "limit" => params.limit = number(&name, &value)?,
                "continue" => params.continue_token = value.into_owned(),
                "includeObject" => params.include = include(&value)?,
                _ => {}
            }
        }
        params.check(&revision_match)?;
        params.revision_match = match revision_match.as_str() {
            "Exact" => Some(Match::Exact),
            "NotOlderThan" => Some(Match::NotOlderThan),
            _ => None,
        };
        Ok(params)
    }

    /// Whether a request asks for a watch, as far as its URL shows at once.
    pub(crate) fn ask_watch(uri: &Uri) -> bool {
        let mut asked = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        asked.any(|(name, value)| name == "watch" && flag(&value)) || uri.path().contains("/watch/")
    }

    fn check(&self, revision_match: &str) -> Result<()> {
        const MATCH_PARAM: &str = "resourceVersionMatch";
        let forbidden = |field: &'static str, why: &str| (field, "FieldValueForbidden", format!("Forbidden: {why}"));
        let mut errors = Vec::new();
        if self.watch && self.send_initial_events.is_some() && revision_match != "NotOlderThan" {
            errors.push(forbidden(MATCH_PARAM, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
        }
        if self.watch && !revision_match.is_empty() && self.send_initial_events.is_none() {
            errors.push(forbidden(MATCH_PARAM, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
        }
        if !self.watch && !revision_match.is_empty() && self.revision.is_none() {
            errors.push(forbidden(MATCH_PARAM, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
        }
        if !revision_match.is_empty() && !self.continue_token.is_empty() {
            errors.push(forbidden(MATCH_PARAM, "resourceVersionMatch is forbidden when continue is provided"));
        }
        let (known, supported): (&[&str], &str) = if self.watch {
            (&["", "NotOlderThan"], "\"NotOlderThan\"")
        } else {
            (&["", "Exact", "NotOlderThan"], "\"\", \"Exact\", \"NotOlderThan\"")
        };
        if !known.contains(&revision_match) {
            let body = format!("Unsupported value: {revision_match:?}: supported values: {supported}");
            errors.push((MATCH_PARAM, "FieldValueNotSupported", body));
        }
        if !self.watch && revision_match == "Exact" && self.revision == Some(0) {
            errors.push(forbidden(MATCH_PARAM, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
        }
        if !self.watch && self.send_initial_events.is_some() {
            errors.push(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        if errors.is_empty() { Ok(()) } else { Err(Status::invalid("meta.k8s.io", "ListOptions", &errors)) }
    }
}

/// A flag as apimachinery reads it: everything but these words is true.
pub(crate) fn flag(value: &str) -> bool {
    !matches!(value, "0" | "false" | "False" | "FALSE")
}

fn number(name: &str, value: &str) -> Result<u64> {
    if value.is_empty() {
        return Ok(0);
    }
    value.parse().map_err(|_| Status::bad_request(format!("{name}: {value:?} is not a whole number of 0 or more")))
}

fn include(value: &str) -> Result<Include> {
    match value {
        "" | "Metadata" => Ok(Include::Metadata),
        "None" => Ok(Include::None),
        "Object" => Ok(Include::Object),
        _ => Err(Status::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {value:?}: must be 'Metadata', 'Object', 'None', or empty"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(query: &str) -> String {
        Params::parse(query).map_or_else(|status| status.to_json()["message"].as_str().unwrap().to_owned(), |_| "fine".to_owned())
    }

    #[test]
    fn options_are_read_and_checked() {
        let params = Params::parse("labelSelector=app%3Dweb&limit=500&watch=true&resourceVersion=7").unwrap();
        assert_eq!((params.label_selector.as_str(), params.limit, params.watch, params.revision), ("app=web", 500, true, Some(7)));
        assert_eq!(problem("resourceVersion=7&resourceVersionMatch=Exact"), "fine");
        let prefix = "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: ";
        assert_eq!(
            problem("resourceVersionMatch=Exact"),
            format!("{prefix}Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided")
        );
        assert_eq!(
            problem("resourceVersion=0&resourceVersionMatch=Exact"),
            format!("{prefix}Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"")
        );
        assert_eq!(
            problem("watch=1&sendInitialEvents=true"),
            format!("{prefix}Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
        );
        assert_eq!(problem("limit=-3"), "limit: \"-3\" is not a whole number of 0 or more");
    }
}
