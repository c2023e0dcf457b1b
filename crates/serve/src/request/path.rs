//! Paths: which moment, and which part of the API a request asks for.

use percent_encoding::percent_decode_str;

use crate::wire::{Result, Status};

/// Which moment a path asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MomentPath {
    /// The one that `serve` was started for.
    Asked,
    /// The newest there is: `/newest/…`.
    Newest,
    /// A revision: `/rev/N/…`.
    Revision(i64),
    /// A time: `/at/RFC3339/…`.
    Time(String),
}

/// A path in its parts, decoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ApiPath {
    /// The moment.
    pub moment: MomentPath,
    /// What follows, without empty parts.
    pub parts: Vec<String>,
}

impl ApiPath {
    /// Reads the path of a URL.
    pub(crate) fn parse(path: &str) -> Result<Self> {
        let decode = |part: &str| percent_decode_str(part).decode_utf8().map(|part| part.into_owned());
        let parts: std::result::Result<Vec<String>, _> = path.split('/').filter(|part| !part.is_empty()).map(decode).collect();
        let mut parts = parts.map_err(|_| Status::bad_request("the path is not valid UTF-8"))?;
        let moment = match parts.first().map(String::as_str) {
            Some("newest") => MomentPath::Newest,
            Some("rev") if parts.len() > 1 => {
                let number = parts[1].parse().ok().filter(|number| *number > 0);
                MomentPath::Revision(number.ok_or_else(|| Status::bad_request(format!("/rev/{} is not a revision", parts[1])))?)
            }
            Some("at") if parts.len() > 1 => MomentPath::Time(parts[1].clone()),
            _ => MomentPath::Asked,
        };
        let length = match moment {
            MomentPath::Asked => 0,
            MomentPath::Newest => 1,
            MomentPath::Revision(_) | MomentPath::Time(_) => 2,
        };
        parts.drain(..length);
        Ok(Self { moment, parts })
    }
}

/// A path below `/api/v1` or `/apis/GROUP/VERSION`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath<'a> {
    /// `None` where the path names none.
    pub namespace: Option<&'a str>,
    /// The resource's plural.
    pub plural: &'a str,
    /// The object, else the whole collection.
    pub name: Option<&'a str>,
    /// What of the object.
    pub subresource: Option<&'a str>,
    /// What follows a subresource, as in `proxy/metrics`.
    pub rest: &'a [String],
    /// The old form `/watch/…` of a watch.
    pub is_watch: bool,
}

impl<'a> ResourcePath<'a> {
    /// Reads what follows the version. `None` where that does not name a resource.
    pub(crate) fn parse(parts: &'a [String]) -> Option<Self> {
        let is_watch = parts.first().is_some_and(|first| first == "watch");
        let parts = if is_watch { &parts[1..] } else { parts };
        // The subresources of a namespace have the shape of resources in it.
        let is_namespaced =
            parts.len() > 2 && parts[0] == "namespaces" && !(parts.len() == 3 && matches!(parts[2].as_str(), "status" | "finalize"));
        let (namespace, parts) = if is_namespaced { (Some(parts[1].as_str()), &parts[2..]) } else { (None, parts) };
        let (plural, parts) = parts.split_first()?;
        let text = |index: usize| parts.get(index).map(String::as_str);
        let rest = parts.get(2..).unwrap_or_default();
        Some(Self { namespace, plural, name: text(0), subresource: text(1), rest, is_watch })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, wanted: (MomentPath, Option<&str>, &str, Option<&str>, Option<&str>)) {
        let parsed = ApiPath::parse(path).unwrap();
        let resource = ResourcePath::parse(&parsed.parts[2..]).unwrap();
        assert_eq!((parsed.moment, resource.namespace, resource.plural, resource.name, resource.subresource), wanted, "{path}");
    }

    #[test]
    fn paths_name_moment_namespace_object_and_subresource() {
        check("/api/v1/pods", (MomentPath::Asked, None, "pods", None, None));
        check("/rev/7/api/v1/namespaces/shop/pods/a%2Db/log", (MomentPath::Revision(7), Some("shop"), "pods", Some("a-b"), Some("log")));
        check("/newest/api/v1/namespaces/shop", (MomentPath::Newest, None, "namespaces", Some("shop"), None));
        check("/api/v1/namespaces/shop/status", (MomentPath::Asked, None, "namespaces", Some("shop"), Some("status")));
        let at = MomentPath::Time("2026-11-21T00:20:00Z".to_owned());
        check("/at/2026-11-21T00:20:00Z/api/v1/nodes/n1", (at, None, "nodes", Some("n1"), None));
    }

    #[test]
    fn moments_that_are_none_are_refused() {
        for path in ["/rev/x/api", "/rev/0/api", "/rev/-3/api", "/api/%ff"] {
            assert!(ApiPath::parse(path).is_err(), "{path}");
        }
    }
}
