//! Role-based access control: whether the Roles and ClusterRoles bound to a user allow what a request does.
//!
//! The verdict is that of the RBAC authorizer of an API server that has these objects. What its other authorizers (Node, ABAC, webhooks) decide by is
//! not among them.
//!
//! Sources: Kubernetes 1.37 `plugin/pkg/auth/authorizer/rbac/rbac.go`, `pkg/registry/rbac/validation/rule.go`,
//! `pkg/apis/rbac/v1/evaluation_helpers.go`.

mod action;
mod policy;
mod rule;
mod user;

pub use action::{Action, ResourceAction};
pub use policy::{AccessDecision, Policy, PolicyKind, RulesOfUser};
pub use rule::PolicyRule;
pub use user::User;
