//! The roles and bindings of one moment, and what they allow a user.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::rule::list;
use super::{Action, PolicyRule, User};

/// The kinds that a policy is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum PolicyKind {
    /// A ClusterRole, whose rules the controller manager has aggregated where they come from others.
    ClusterRole,
    /// A Role.
    Role,
    /// A ClusterRoleBinding.
    ClusterRoleBinding,
    /// A RoleBinding.
    RoleBinding,
}

impl PolicyKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::ClusterRole, Self::Role, Self::ClusterRoleBinding, Self::RoleBinding];

    /// The kind's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClusterRole => "ClusterRole",
            Self::Role => "Role",
            Self::ClusterRoleBinding => "ClusterRoleBinding",
            Self::RoleBinding => "RoleBinding",
        }
    }
}

/// The number of unreadable objects that are named.
const MAX_UNREADABLE_NAMED: usize = 3;

/// Every role and binding.
#[derive(Debug, Default)]
pub struct Policy {
    cluster_roles: BTreeMap<String, Vec<PolicyRule>>,
    /// By namespace and name.
    roles: BTreeMap<(String, String), Vec<PolicyRule>>,
    cluster_bindings: BTreeMap<String, Binding>,
    /// By namespace and name.
    bindings: BTreeMap<(String, String), Binding>,
    /// What could not be read.
    unread: BTreeMap<Unread, String>,
}

/// What could not be read: an object, or with an empty name all objects of a kind.
type Unread = (PolicyKind, String, String);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Binding {
    #[serde(default, deserialize_with = "list")]
    subjects: Vec<Subject>,
    role_ref: RoleRef,
}

#[derive(Debug, Deserialize)]
struct RoleRef {
    kind: String,
    name: String,
}

#[derive(Debug, Deserialize)]
struct Subject {
    kind: String,
    name: String,
    #[serde(default)]
    namespace: Option<String>,
}

#[derive(Deserialize)]
struct Role {
    #[serde(default, deserialize_with = "list")]
    rules: Vec<PolicyRule>,
}

/// Whether an action is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessDecision {
    /// Whether it is.
    pub is_allowed: bool,
    /// Why, in the words of upstream's authorizer: which binding allows it, or which roles are missing. Often empty.
    pub reason: String,
    /// What might allow it nevertheless, if nothing that was read does.
    pub doubts: Vec<String>,
}

/// Every rule that applies to a user.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct RulesOfUser<'p> {
    /// The rules, binding by binding.
    pub rules: Vec<&'p PolicyRule>,
    /// What upstream says of bindings whose role is missing.
    pub errors: Vec<String>,
    /// What might add rules.
    pub doubts: Vec<String>,
}

/// A rule with the binding it comes from, or a binding without its role.
enum Visited<'p> {
    Rule { rule: &'p PolicyRule, place: PolicyPlace<'p> },
    Missing(String),
}

#[derive(Clone, Copy)]
struct PolicyPlace<'p> {
    /// `None` for a ClusterRoleBinding.
    namespace: Option<&'p str>,
    name: &'p str,
    binding: &'p Binding,
    subject: &'p Subject,
}

impl Policy {
    /// Adds an object, as its API version has it. `namespace` is empty for kinds that live in none.
    pub fn add(&mut self, kind: PolicyKind, namespace: &str, name: &str, object: &Value) {
        let place = (namespace.to_owned(), name.to_owned());
        let added = match kind {
            PolicyKind::ClusterRole => Role::deserialize(object).map(|role| drop(self.cluster_roles.insert(place.1, role.rules))),
            PolicyKind::Role => Role::deserialize(object).map(|role| drop(self.roles.insert(place, role.rules))),
            PolicyKind::ClusterRoleBinding => binding(object).map(|binding| drop(self.cluster_bindings.insert(place.1, binding))),
            PolicyKind::RoleBinding => binding(object).map(|binding| drop(self.bindings.insert(place, binding))),
        };
        if let Err(error) = added {
            self.add_unread(kind, namespace, name, &error.to_string());
        }
    }

    /// Notes an object that cannot be read; with an empty name, that none of a kind can.
    pub fn add_unread(&mut self, kind: PolicyKind, namespace: &str, name: &str, reason: &str) {
        self.unread.insert((kind, namespace.to_owned(), name.to_owned()), reason.to_owned());
    }

    /// Says whether a user may do something.
    pub fn decide(&self, user: &User, action: &Action) -> AccessDecision {
        if user.is_master() {
            return AccessDecision { is_allowed: true, ..AccessDecision::default() };
        }
        let namespace = match action {
            Action::Resource(action) => action.namespace.as_str(),
            Action::Path { .. } => "",
        };
        let mut missing = Vec::new();
        for visited in self.visit(user, namespace) {
            match visited {
                Visited::Rule { rule, place } if rule.allows(action) => {
                    let reason = format!("RBAC: allowed by {}", place.describe());
                    return AccessDecision { is_allowed: true, reason, doubts: Vec::new() };
                }
                Visited::Rule { .. } => {}
                Visited::Missing(error) => missing.push(error),
            }
        }
        let reason = if missing.is_empty() { String::new() } else { format!("RBAC: {}", aggregated(&missing)) };
        AccessDecision { is_allowed: false, reason, doubts: self.doubts(user, namespace) }
    }

    /// Returns the rules that apply to a user in a namespace.
    pub fn rules_of(&self, user: &User, namespace: &str) -> RulesOfUser<'_> {
        let mut found = RulesOfUser { doubts: self.doubts(user, namespace), ..RulesOfUser::default() };
        for visited in self.visit(user, namespace) {
            match visited {
                Visited::Rule { rule, .. } => found.rules.push(rule),
                Visited::Missing(error) => found.errors.push(error),
            }
        }
        found
    }

    /// The rules of all bindings that apply to a user: those of the cluster, then those of a namespace, each kind by name.
    fn visit<'p>(&'p self, user: &User, namespace: &str) -> Vec<Visited<'p>> {
        let mut visited = Vec::new();
        let of_cluster = self.cluster_bindings.iter().map(|(name, binding)| (None, name.as_str(), binding));
        let of_namespace = self.bindings.range((namespace.to_owned(), String::new())..);
        let of_namespace = of_namespace.take_while(|((own, _), _)| !namespace.is_empty() && own == namespace);
        let of_namespace = of_namespace.map(|((own, name), binding)| (Some(own.as_str()), name.as_str(), binding));
        for (own, name, binding) in of_cluster.chain(of_namespace) {
            let Some(subject) = binding.subjects.iter().find(|subject| subject.is(user, own.unwrap_or_default())) else { continue };
            match self.rules(&binding.role_ref, own.unwrap_or_default()) {
                Ok(rules) => {
                    let place = PolicyPlace { namespace: own, name, binding, subject };
                    visited.extend(rules.iter().map(|rule| Visited::Rule { rule, place }));
                }
                Err(error) => visited.extend(error.map(Visited::Missing)),
            }
        }
        visited
    }

    /// The rules of a role. The error is upstream's; `None` where the role is there and cannot be read.
    fn rules(&self, role: &RoleRef, namespace: &str) -> Result<&[PolicyRule], Option<String>> {
        let (kind, found) = match role.kind.as_str() {
            "ClusterRole" => (PolicyKind::ClusterRole, self.cluster_roles.get(&role.name)),
            // A ClusterRoleBinding is in no namespace, so it has no Role.
            "Role" => (PolicyKind::Role, self.roles.get(&(namespace.to_owned(), role.name.clone()))),
            other => return Err(Some(format!("unsupported role reference kind: {other:?}"))),
        };
        let own = if kind == PolicyKind::Role { namespace } else { "" };
        let is_unread = |namespace: &str, name: &str| self.unread.contains_key(&(kind, namespace.to_owned(), name.to_owned()));
        let missing = || format!("{}.rbac.authorization.k8s.io {:?} not found", kind.name().to_lowercase(), role.name);
        found.map(Vec::as_slice).ok_or_else(|| (!is_unread(own, &role.name) && !is_unread("", "")).then(missing))
    }

    /// What might allow a user more than what was read does.
    fn doubts(&self, user: &User, namespace: &str) -> Vec<String> {
        let mut doubts = Vec::new();
        if user.is_node() {
            doubts.push("the Node authorizer may allow it to a kubelet, but etcd does not hold what it decides by".to_owned());
        }
        let is_empty = self.cluster_bindings.is_empty() && self.bindings.is_empty() && self.unread.is_empty();
        if is_empty {
            doubts.push("no ClusterRoleBindings and no RoleBindings are stored".to_owned());
        }
        let matter = self.unread.iter().filter(|((_, own, _), _)| own.is_empty() || own == namespace);
        let unread: Vec<String> = matter.map(|(unread, reason)| describe_unread(unread, reason)).collect();
        doubts.extend(unread.iter().take(MAX_UNREADABLE_NAMED).cloned());
        if unread.len() > MAX_UNREADABLE_NAMED {
            doubts.push(format!("{} more roles and bindings cannot be read", unread.len() - MAX_UNREADABLE_NAMED));
        }
        doubts
    }
}

fn describe_unread((kind, namespace, name): &Unread, reason: &str) -> String {
    match (namespace.as_str(), name.as_str()) {
        (_, "") => format!("{}s cannot be read: {reason}", kind.name()),
        ("", name) => format!("{} {name:?} cannot be read: {reason}", kind.name()),
        (namespace, name) => format!("{} \"{namespace}/{name}\" cannot be read: {reason}", kind.name()),
    }
}

/// A binding. In `v1alpha1` the user `*` stands for all who are authenticated (`pkg/apis/rbac/v1alpha1/conversion.go`).
fn binding(object: &Value) -> serde_json::Result<Binding> {
    let mut binding = Binding::deserialize(object)?;
    if object["apiVersion"].as_str().is_some_and(|version| version.ends_with("/v1alpha1")) {
        for subject in binding.subjects.iter_mut().filter(|subject| subject.kind == "User" && subject.name == "*") {
            (subject.kind, subject.name) = ("Group".to_owned(), "system:authenticated".to_owned());
        }
    }
    Ok(binding)
}

/// Several errors as apimachinery's `pkg/util/errors` writes them.
fn aggregated(errors: &[String]) -> String {
    let mut seen = BTreeSet::new();
    let different: Vec<&str> = errors.iter().filter(|error| seen.insert(error.as_str())).map(String::as_str).collect();
    if let [one] = different[..] { one.to_owned() } else { format!("[{}]", different.join(", ")) }
}

impl RulesOfUser<'_> {
    /// What upstream says of bindings whose role is missing, in one sentence; empty where none is.
    pub fn error(&self) -> String {
        if self.errors.is_empty() { String::new() } else { aggregated(&self.errors) }
    }
}

impl Subject {
    /// Whether it stands for a user. A ServiceAccount without a namespace is one of the binding's.
    fn is(&self, user: &User, namespace: &str) -> bool {
        match self.kind.as_str() {
            "User" => user.name == self.name,
            "Group" => user.is_in(&self.name),
            "ServiceAccount" => {
                let namespace = self.own_namespace(namespace);
                !namespace.is_empty() && user.is_service_account(namespace, &self.name)
            }
            _ => false,
        }
    }

    fn own_namespace<'s>(&'s self, of_binding: &'s str) -> &'s str {
        self.namespace.as_deref().filter(|own| !own.is_empty()).unwrap_or(of_binding)
    }
}

impl PolicyPlace<'_> {
    fn describe(&self) -> String {
        let subject = match self.subject.kind.as_str() {
            "ServiceAccount" => format!("{}/{}", self.subject.name, self.subject.own_namespace(self.namespace.unwrap_or_default())),
            _ => self.subject.name.clone(),
        };
        let (kind, name) = match self.namespace {
            Some(namespace) => ("RoleBinding", format!("{}/{namespace}", self.name)),
            None => ("ClusterRoleBinding", self.name.to_owned()),
        };
        let role = &self.binding.role_ref;
        format!("{kind} {name:?} of {} {:?} to {} {subject:?}", role.kind, role.name, self.subject.kind)
    }
}
