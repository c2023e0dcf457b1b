//! Users as authorizers know them.

const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";
const ANONYMOUS_USER: &str = "system:anonymous";
const AUTHENTICATED_GROUP: &str = "system:authenticated";
const UNAUTHENTICATED_GROUP: &str = "system:unauthenticated";

/// The group whose members an API server allows everything, before it asks RBAC.
const MASTERS_GROUP: &str = "system:masters";

/// A user with its groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Its name; that of a ServiceAccount is `system:serviceaccount:NAMESPACE:NAME`.
    pub name: String,
    /// Its groups.
    pub groups: Vec<String>,
}

impl User {
    /// Returns the user of a request that impersonates this name and these groups, as an API server sees it: a ServiceAccount without groups gets its
    /// own, and every user the group of those who are authenticated or not.
    ///
    /// Source: apiserver v0.37 `pkg/endpoints/filters/impersonation/impersonation.go`.
    pub fn impersonated(name: String, mut groups: Vec<String>) -> Self {
        if let (true, Some((namespace, _))) = (groups.is_empty(), service_account(&name)) {
            groups = vec![SERVICE_ACCOUNTS.to_owned(), format!("{SERVICE_ACCOUNTS}:{namespace}")];
        }
        let has = |group: &str| groups.iter().any(|own| own == group);
        if name == ANONYMOUS_USER && !has(UNAUTHENTICATED_GROUP) {
            groups.push(UNAUTHENTICATED_GROUP.to_owned());
        } else if name != ANONYMOUS_USER && !has(AUTHENTICATED_GROUP) && !has(UNAUTHENTICATED_GROUP) {
            groups.push(AUTHENTICATED_GROUP.to_owned());
        }
        Self { name, groups }
    }

    /// Whether it is in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// Whether it is a member of `system:masters`, to whom everything is allowed.
    pub(super) fn is_master(&self) -> bool {
        self.is_in(MASTERS_GROUP)
    }

    /// Whether it is a kubelet, which the Node authorizer may allow more than RBAC does.
    pub(super) fn is_node(&self) -> bool {
        self.name.starts_with("system:node:") && self.is_in("system:nodes")
    }

    pub(super) fn is_service_account(&self, namespace: &str, name: &str) -> bool {
        self.name.strip_prefix(SERVICE_ACCOUNT).and_then(|rest| rest.split_once(':')) == Some((namespace, name))
    }
}

/// The namespace and name in the name of a ServiceAccount's user; `None` if either is not a valid name.
fn service_account(user: &str) -> Option<(&str, &str)> {
    let is_name = |text: &str, longest: usize| {
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_part = |part: &str| !part.is_empty() && part.bytes().all(is_inner) && !part.starts_with('-') && !part.ends_with('-');
        text.len() <= longest && text.split('.').all(is_part)
    };
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
    (is_name(namespace, 63) && !namespace.contains('.') && is_name(name, 253)).then_some((namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, groups: &[&str], wanted: &[&str]) {
        let user = User::impersonated(name.to_owned(), groups.iter().map(|group| (*group).to_owned()).collect());
        assert_eq!(user.groups, wanted, "{name} {groups:?}");
    }

    #[test]
    fn impersonated_users_get_the_groups_that_go_with_them() {
        check("alice", &[], &["system:authenticated"]);
        check("alice", &["dev"], &["dev", "system:authenticated"]);
        check("alice", &["system:unauthenticated"], &["system:unauthenticated"]);
        check("alice", &["system:authenticated", "dev"], &["system:authenticated", "dev"]);
        check("system:anonymous", &[], &["system:unauthenticated"]);
        check("system:anonymous", &["system:authenticated"], &["system:authenticated", "system:unauthenticated"]);
        let own = ["system:serviceaccounts", "system:serviceaccounts:web", "system:authenticated"];
        check("system:serviceaccount:web:default", &[], &own);
        check("system:serviceaccount:web:default", &["dev"], &["dev", "system:authenticated"]);
        for other in
            ["system:serviceaccount:web", "system:serviceaccount:web:", "system:serviceaccount:Web:a", "system:serviceaccount:a.b:c"]
        {
            check(other, &[], &["system:authenticated"]);
        }
    }
}
