//! Reviews: who somebody is, and what they may do. The holder of the token may read everything and change nothing; what others may do is evaluated by
//! the roles and bindings of the moment looked at.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ketcd_kube::api::Resource;
use ketcd_kube::rbac::{Action, Policy, PolicyRule, ResourceAction, User};
use ketcd_kube::{Body as Decoded, Decoder};
use serde_json::{Map, Value, json};

use crate::access::Access;
use crate::data::{App, Moment};
use crate::request::{Asker, read_body};
use crate::wire::{Result, Status};

/// More than any review needs.
const MAX_REVIEW_BYTES: usize = 1 << 18;

/// The user that the token stands for.
const TOKEN_USER: &str = "ketcd";

/// Where a review is created, and for whom.
pub(crate) struct Review<'a> {
    /// The server.
    pub app: &'a App,
    /// Whose token it is.
    pub access: &'a Access,
    /// The moment whose roles and bindings count.
    pub moment: Moment,
    /// The kind of review.
    pub resource: &'a Resource,
    /// The namespace of its path.
    pub namespace: Option<&'a str>,
    /// Who asks, where that is an impersonated user.
    pub asker: Option<&'a Asker>,
}

/// The status of a review, and whether it follows from the stored roles and bindings.
struct Answer {
    status: Value,
    is_evaluated: bool,
}

impl Review<'_> {
    /// Whether ketcd answers what is created of a resource.
    pub(crate) fn is_of(resource: &Resource) -> bool {
        matches!(resource.group.as_str(), "authentication.k8s.io" | "authorization.k8s.io")
    }

    /// Answers it.
    pub(crate) async fn answer(&self, headers: &HeaderMap, body: Body) -> Result<Response> {
        let mut review = decode(headers, &read_body(body, MAX_REVIEW_BYTES, self.app.limits.body).await?)?;
        let Answer { status, is_evaluated } = self.status(&review["spec"]).await?;
        review["apiVersion"] = self.resource.api_version().into();
        review["kind"] = self.resource.kind.kind.as_ref().into();
        if !review["metadata"].is_object() {
            review["metadata"] = json!({"creationTimestamp": null});
        }
        review["status"] = status;
        let mut response = (StatusCode::CREATED, [(header::CONTENT_TYPE, "application/json")], review.to_string()).into_response();
        if let Some(warning) = Some(self.warning()).filter(|_| is_evaluated).and_then(|text| HeaderValue::try_from(text).ok()) {
            response.headers_mut().insert(header::WARNING, warning);
        }
        Ok(response)
    }

    async fn status(&self, spec: &Value) -> Result<Answer> {
        let known = |status| Ok(Answer { status, is_evaluated: false });
        let evaluated = |status| Ok(Answer { status, is_evaluated: true });
        let kind = &*self.resource.kind.kind;
        match (kind, self.asker) {
            ("SelfSubjectReview", asker) => known(json!({"userInfo": asker.map_or_else(user, Asker::info)})),
            ("TokenReview", _) => known(self.token_status(spec)),
            ("SelfSubjectRulesReview", None) => known(own_rules()),
            ("SelfSubjectRulesReview", Some(asker)) => {
                let namespace = spec["namespace"].as_str().unwrap_or_default();
                if namespace.is_empty() {
                    return Err(Status::bad_request("no namespace on request"));
                }
                evaluated(rules(&*self.app.policy(self.moment).await?, &asker.user, namespace))
            }
            ("SelfSubjectAccessReview", asker) => {
                let action = self.action(spec)?;
                match asker {
                    None => known(own_access(&action)),
                    Some(asker) => evaluated(access(&*self.app.policy(self.moment).await?, &asker.user, &action)),
                }
            }
            _ => {
                let (user, action) = (self.subject(spec)?, self.action(spec)?);
                evaluated(access(&*self.app.policy(self.moment).await?, &user, &action))
            }
        }
    }

    /// The user that a review asks about.
    fn subject(&self, spec: &Value) -> Result<User> {
        // v1beta1 calls its groups `group`.
        let groups = if self.resource.version == "v1beta1" { &spec["group"] } else { &spec["groups"] };
        let groups = groups.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let user = User { name: text(spec, "user"), groups };
        if user.name.is_empty() && user.groups.is_empty() {
            return Err(self.invalid("spec.user", "Invalid value: \"\": at least one of user or group must be specified"));
        }
        Ok(user)
    }

    /// What a review asks for.
    fn action(&self, spec: &Value) -> Result<Action> {
        let is_local = self.resource.kind.namespaced;
        match (&spec["resourceAttributes"], &spec["nonResourceAttributes"]) {
            (Value::Object(_), Value::Object(_)) | (Value::Null, Value::Null) => {
                Err(self.invalid("spec", "Invalid value: exactly one of nonResourceAttributes or resourceAttributes must be specified"))
            }
            (asked @ Value::Object(_), _) => {
                let namespace = text(asked, "namespace");
                if self.namespace.is_some_and(|own| own != namespace) {
                    let problem = format!("Invalid value: {namespace:?}: must match metadata.namespace");
                    return Err(self.invalid("spec.resourceAttributes.namespace", &problem));
                }
                let [verb, group, resource, subresource, name] =
                    ["verb", "group", "resource", "subresource", "name"].map(|field| text(asked, field));
                Ok(Action::Resource(ResourceAction { verb, group, resource, subresource, namespace, name }))
            }
            (_, Value::Object(_)) if is_local => {
                Err(self.invalid("spec.nonResourceAttributes", "Invalid value: disallowed on this kind of request"))
            }
            (_, asked) => Ok(Action::Path { verb: text(asked, "verb"), path: text(asked, "path") }),
        }
    }

    fn invalid(&self, field: &str, problem: &str) -> Box<Status> {
        Status::invalid(&self.resource.group, &self.resource.kind.kind, &[(field, "FieldValueInvalid", problem.to_owned())])
    }

    fn token_status(&self, spec: &Value) -> Value {
        if spec["token"].as_str().is_some_and(|token| self.access.is_token(token)) {
            json!({"authenticated": true, "user": user()})
        } else {
            json!({"authenticated": false, "error": "not the token of this run of ketcd, which knows no other"})
        }
    }

    /// What kubectl prints in addition to a verdict.
    fn warning(&self) -> String {
        format!(
            "299 - \"evaluated by the RBAC roles and bindings of revision {}; what other authorizers (Node, ABAC, webhooks) say is not in etcd\"",
            self.moment.revision
        )
    }
}

/// Reads a review.
fn decode(headers: &HeaderMap, body: &[u8]) -> Result<Value> {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("application/json");
    let review: Value = match media_type.split(';').next().map(str::trim) {
        Some("application/json") => {
            serde_json::from_slice(body).map_err(|error| Status::bad_request(format!("the body is not JSON: {error}")))?
        }
        // As client-go's typed clients send it, and as etcd holds objects.
        Some("application/vnd.kubernetes.protobuf") => match Decoder::new().decode(b"", body, 0).body {
            Decoded::Object(review) => review.into_value(),
            Decoded::Opaque(opaque) => return Err(Status::bad_request(format!("the body cannot be decoded: {}", opaque.reason))),
        },
        _ => {
            return Err(Status::unsupported_media_type(format!(
                "the body of the request was in an unknown format - accepted media types include: application/json, \
                 application/vnd.kubernetes.protobuf (got {media_type})"
            )));
        }
    };
    if review.is_object() { Ok(review) } else { Err(Status::bad_request("the body is not an object")) }
}

fn text(object: &Value, field: &str) -> String {
    object[field].as_str().unwrap_or_default().to_owned()
}

fn user() -> Value {
    json!({"username": TOKEN_USER, "groups": ["system:authenticated"]})
}

/// What the holder of the token may do.
fn own_access(action: &Action) -> Value {
    let is_allowed = match action {
        Action::Resource(action) => matches!(action.verb.as_str(), "get" | "list" | "watch"),
        Action::Path { verb, .. } => matches!(verb.as_str(), "get" | "head"),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    };
    let reason = if is_allowed { "ketcd shows everything that it serves" } else { "a recording can be read and not be changed" };
    json!({"allowed": is_allowed, "reason": reason})
}

fn own_rules() -> Value {
    json!({
        "resourceRules": [{"verbs": ["get", "list", "watch"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["*"]}],
        "incomplete": false,
    })
}

/// What the roles and bindings let a user do.
fn access(policy: &Policy, user: &User, action: &Action) -> Value {
    let decision = policy.decide(user, action);
    let mut status = json!({"allowed": decision.is_allowed});
    if !decision.reason.is_empty() {
        status["reason"] = decision.reason.into();
    }
    if !decision.doubts.is_empty() {
        status["evaluationError"] = decision.doubts.join("; ").into();
    }
    status
}

/// The rules that apply to a user in a namespace.
fn rules(policy: &Policy, user: &User, namespace: &str) -> Value {
    let found = policy.rules_of(user, namespace);
    let rule = |fields: &[(&str, &Vec<String>)]| {
        let fields = fields.iter().filter(|(name, list)| *name == "verbs" || !list.is_empty());
        fields.map(|(name, list)| ((*name).to_owned(), json!(list))).collect::<Map<String, Value>>()
    };
    let of_resources = |own: &&&PolicyRule| !own.resources.is_empty();
    let resource_rules = found.rules.iter().filter(of_resources).map(|own| {
        rule(&[
            ("verbs", &own.verbs),
            ("apiGroups", &own.api_groups),
            ("resources", &own.resources),
            ("resourceNames", &own.resource_names),
        ])
    });
    let of_paths = |own: &&&PolicyRule| !own.non_resource_urls.is_empty();
    let path_rules =
        found.rules.iter().filter(of_paths).map(|own| rule(&[("verbs", &own.verbs), ("nonResourceURLs", &own.non_resource_urls)]));
    let mut status = json!({
        "resourceRules": resource_rules.collect::<Vec<_>>(),
        "nonResourceRules": path_rules.collect::<Vec<_>>(),
        "incomplete": !found.doubts.is_empty(),
    });
    let problems: Vec<String> = Some(found.error()).filter(|error| !error.is_empty()).into_iter().chain(found.doubts).collect();
    if !problems.is_empty() {
        status["evaluationError"] = problems.join("; ").into();
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_the_token_may_read_and_nothing_else() {
        let of_resource = |verb: &str| Action::Resource(ResourceAction { verb: verb.to_owned(), ..ResourceAction::default() });
        let of_path = |verb: &str| Action::Path { verb: verb.to_owned(), path: "/version".to_owned() };
        let allowed = |action: Action| own_access(&action)["allowed"] == true;
        assert!(["get", "list", "watch"].into_iter().all(|verb| allowed(of_resource(verb))));
        assert!(!["create", "delete", "patch", "update", "*", "impersonate"].into_iter().any(|verb| allowed(of_resource(verb))));
        assert!(allowed(of_path("get")) && !allowed(of_path("post")));
    }
}
