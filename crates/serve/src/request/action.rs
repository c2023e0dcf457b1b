//! What a request does, as authorizers see it.
//!
//! Source: apiserver v0.37 `pkg/endpoints/request/requestinfo.go`.

use axum::http::Method;
use ketcd_kube::FieldTerm;
use ketcd_kube::rbac::{Action, ResourceAction};

use super::params::flag;

/// Returns what a request does whose path, without its moment, has these parts.
pub(crate) fn action(method: &Method, parts: &[String], query: &str) -> Action {
    let asked: Vec<&str> = parts.iter().map(String::as_str).collect();
    let resource = match asked[..] {
        ["api", _, ..] => of_resource(method, "", &asked[2..], query),
        ["apis", group, _, ..] => of_resource(method, group, &asked[3..], query),
        _ => None,
    };
    let path = || Action::Path { verb: method.as_str().to_lowercase(), path: format!("/{}", asked.join("/")) };
    resource.map_or_else(path, Action::Resource)
}

/// Reads what follows the version. `None` where that does not name a resource.
fn of_resource(method: &Method, group: &str, parts: &[&str], query: &str) -> Option<ResourceAction> {
    let (mut verb, parts) = match parts.split_first()? {
        (special @ (&"watch" | &"proxy"), rest) => (*special, rest),
        _ => (of_method(method), parts),
    };
    let (namespace, parts) = match parts {
        ["namespaces", namespace, kind, ..] if !matches!(*kind, "status" | "finalize") => (*namespace, &parts[2..]),
        ["namespaces", namespace, ..] => (*namespace, parts),
        _ => ("", parts),
    };
    let part = |index: usize| parts.get(index).copied().unwrap_or_default().to_owned();
    let mut name = part(1);
    let subresource = if verb == "proxy" { String::new() } else { part(2) };
    if name.is_empty() {
        verb = match verb {
            "get" if is_watch(query) => "watch",
            "get" => "list",
            "delete" => "deletecollection",
            verb => verb,
        };
        if matches!(verb, "list" | "watch") {
            name = selected_name(query).unwrap_or_default();
        }
    }
    let (group, namespace) = (group.to_owned(), namespace.to_owned());
    Some(ResourceAction { verb: verb.to_owned(), group, resource: parts.first().copied()?.to_owned(), subresource, namespace, name })
}

fn of_method(method: &Method) -> &'static str {
    match *method {
        Method::POST => "create",
        Method::GET | Method::HEAD => "get",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "",
    }
}

fn last(query: &str, wanted: &str) -> Option<String> {
    form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == wanted).last().map(|(_, value)| value.into_owned())
}

fn is_watch(query: &str) -> bool {
    last(query, "watch").is_some_and(|value| flag(&value))
}

/// The only name that a field selector picks: a rule for that object alone allows the list.
fn selected_name(query: &str) -> Option<String> {
    let terms = FieldTerm::read(&last(query, "fieldSelector")?).ok()?;
    let name = terms.into_iter().find(|term| term.label == "metadata.name" && term.is_equal)?.value;
    (!matches!(name.as_str(), "." | "..") && !name.contains(['/', '%'])).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `group resource/subresource namespace name`, or the path.
    fn check(request: &str, wanted: &str) {
        let (method, url) = request.split_once(' ').unwrap();
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let parts: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let found = match action(&method.parse().unwrap(), &parts, query) {
            Action::Path { verb, path } => format!("{verb} {path}"),
            Action::Resource(action) => {
                format!("{} {:?} {} {:?} {:?}", action.verb, action.group, action.combined(), action.namespace, action.name)
            }
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        };
        assert_eq!(found, wanted, "{request}");
    }

    #[test]
    fn requests_are_read_as_the_api_server_reads_them() {
        check("GET /version", "get /version");
        check("HEAD /healthz", "head /healthz");
        check("GET /apis/apps/v1", "get /apis/apps/v1");
        check("GET /api/v1", "get /api/v1");
        check("GET /api/v1/nodes", "list \"\" nodes \"\" \"\"");
        check("GET /api/v1/namespaces/web/pods?watch=1", "watch \"\" pods \"web\" \"\"");
        check("GET /api/v1/namespaces/web/pods?watch=false", "list \"\" pods \"web\" \"\"");
        check("GET /api/v1/namespaces/web/pods/a/log", "get \"\" pods/log \"web\" \"a\"");
        check("GET /apis/apps/v1/namespaces/web/deployments/a/scale", "get \"apps\" deployments/scale \"web\" \"a\"");
        check("GET /api/v1/namespaces/web", "get \"\" namespaces \"web\" \"web\"");
        check("GET /api/v1/namespaces/web/status", "get \"\" namespaces/status \"web\" \"web\"");
        check("GET /api/v1/watch/namespaces/web/pods/a", "watch \"\" pods \"web\" \"a\"");
        check("GET /api/v1/secrets?fieldSelector=metadata.name%3Da", "list \"\" secrets \"\" \"a\"");
        check("GET /api/v1/secrets?fieldSelector=metadata.name!%3Da", "list \"\" secrets \"\" \"\"");
        check("DELETE /api/v1/namespaces/web/pods", "deletecollection \"\" pods \"web\" \"\"");
        check("PATCH /api/v1/nodes/n1", "patch \"\" nodes \"\" \"n1\"");
        check("POST /apis/a.io/v1/bs", "create \"a.io\" bs \"\" \"\"");
    }
}
