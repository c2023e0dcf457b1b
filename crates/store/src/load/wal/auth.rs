//! etcd's authentication, as a log changes it: users, roles, and which requests it refuses.
//!
//! Source: etcd v3.4.23, `auth/store.go`, `auth/range_perm_cache.go` and `etcdserver/apply_auth.go`; v3.7.1, `server/auth` and
//! `server/etcdserver/apply/auth.go`. Where releases differ, the answer is `None`: which one wrote the log is not known.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::administration::AuthRequest;
use super::entry::RaftEntry;
use crate::proto::authpb::{Permission, permission::Type};
use crate::proto::etcdserverpb::request_op::Request as Operation;
use crate::proto::etcdserverpb::{DeleteRangeRequest, InternalRaftRequest, PutRequest, RequestOp, TxnRequest};
use prost::Message;

/// The user and the role that may do everything have one name.
const ROOT_NAME: &str = "root";

/// Who made a request, as its header says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Author {
    /// Empty where nobody was logged in.
    pub user: String,
    /// The revision of users and roles at which the user was known; 0 where nobody was logged in.
    pub revision: u64,
}

impl Author {
    /// Reads the header of an entry's request.
    pub(crate) fn of_entry(entry: &RaftEntry) -> Self {
        let header = InternalRaftRequest::decode(entry.data.clone()).ok().and_then(|request| request.header).unwrap_or_default();
        Self { user: header.username, revision: header.auth_revision }
    }
}

/// Users, roles, and whether they are asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Auth {
    pub is_enabled: bool,
    /// Counts changes of users and roles; a new cluster begins at 1.
    pub revision: u64,
    /// The roles of each user.
    pub users: BTreeMap<String, BTreeSet<String>>,
    /// The permissions of each role.
    pub roles: BTreeMap<String, Vec<Permission>>,
}

impl Default for Auth {
    fn default() -> Self {
        Self { is_enabled: false, revision: 1, users: BTreeMap::new(), roles: BTreeMap::new() }
    }
}

/// What a permission is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl Access {
    fn is_given_by(self, permission: &Permission) -> bool {
        match Type::try_from(permission.perm_type) {
            Ok(Type::Readwrite) => true,
            Ok(Type::Read) => self == Self::Read,
            Ok(Type::Write) => self == Self::Write,
            Err(_) => false,
        }
    }
}

impl Auth {
    /// Applies a request about users and roles; `None` where releases disagree about it.
    pub(super) fn apply(&mut self, request: &AuthRequest, by: &Author) -> Option<()> {
        if request.needs_admin() && !self.is_admin(by) {
            return Some(());
        }
        if self.change(request)? {
            self.revision += 1;
        }
        Some(())
    }

    /// Changes users and roles; whether that counts as a revision.
    fn change(&mut self, request: &AuthRequest) -> Option<bool> {
        let is_enabled = self.is_enabled;
        let changed = match request {
            AuthRequest::Enable => {
                self.is_enabled |= self.users.get(ROOT_NAME).is_some_and(|roles| roles.contains(ROOT_NAME));
                false
            }
            AuthRequest::Disable => std::mem::take(&mut self.is_enabled),
            AuthRequest::UserAdd(name) => {
                !name.is_empty() && !self.users.contains_key(name) && {
                    self.users.insert(name.clone(), BTreeSet::new());
                    true
                }
            }
            AuthRequest::UserDelete(name) => !(is_enabled && name == ROOT_NAME) && self.users.remove(name).is_some(),
            AuthRequest::UserChangePassword(name) => self.users.contains_key(name),
            AuthRequest::UserGrantRole(user, role) => {
                let exists = role == ROOT_NAME || self.roles.contains_key(role);
                self.users.get_mut(user).is_some_and(|roles| exists && roles.insert(role.clone()))
            }
            AuthRequest::UserRevokeRole(user, role) => {
                !(is_enabled && user == ROOT_NAME && role == ROOT_NAME) && self.users.get_mut(user).is_some_and(|roles| roles.remove(role))
            }
            AuthRequest::RoleAdd(name) => {
                !name.is_empty() && !self.roles.contains_key(name) && {
                    self.roles.insert(name.clone(), Vec::new());
                    true
                }
            }
            AuthRequest::RoleDelete(name) => {
                !(is_enabled && name == ROOT_NAME) && self.roles.remove(name).is_some() && {
                    self.users.values_mut().for_each(|roles| {
                        roles.remove(name);
                    });
                    true
                }
            }
            AuthRequest::RoleGrantPermission(role, permission) => return self.grant(role, permission.as_ref()?),
            AuthRequest::RoleRevokePermission(role, key, range_end) => self.roles.get_mut(role).is_some_and(|permissions| {
                let before = permissions.len();
                permissions.retain(|permission| permission.key != key || permission.range_end != range_end);
                permissions.len() < before
            }),
            AuthRequest::Read(_) => false,
        };
        Some(changed)
    }

    fn grant(&mut self, role: &str, permission: &Permission) -> Option<bool> {
        // Newer releases refuse an empty range, older ones do not.
        let has_keys = |end: &Bytes| end.is_empty() || end[..] == [0] || permission.key < *end;
        if permission.key.is_empty() || !has_keys(&permission.range_end) {
            return None;
        }
        let Some(permissions) = self.roles.get_mut(role) else { return Some(false) };
        match permissions.iter_mut().find(|known| known.key == permission.key && known.range_end == permission.range_end) {
            Some(known) => known.perm_type = permission.perm_type,
            None => permissions.push(permission.clone()),
        }
        Some(true)
    }

    pub(super) fn is_admin(&self, by: &Author) -> bool {
        !self.is_enabled || self.users.get(&by.user).is_some_and(|roles| roles.contains(ROOT_NAME))
    }

    fn permits(&self, by: &Author, key: &[u8], range_end: &[u8], access: Access) -> bool {
        if !self.is_enabled {
            return true;
        }
        if by.revision == 0 || by.revision < self.revision {
            return false;
        }
        let Some(roles) = self.users.get(&by.user) else { return false };
        if roles.contains(ROOT_NAME) {
            return true;
        }
        let permissions = roles.iter().filter_map(|role| self.roles.get(role)).flatten();
        covers(permissions.filter(|permission| access.is_given_by(permission)), key, range_end)
    }

    /// Whether a put is allowed; `attached` are the keys of its lease, each of which its author must be allowed to write.
    pub(super) fn permits_put<'k>(&self, by: &Author, put: &PutRequest, mut attached: impl Iterator<Item = &'k [u8]>) -> bool {
        self.permits_put_alone(by, put) && attached.all(|key| self.permits(by, key, &[], Access::Write))
    }

    fn permits_put_alone(&self, by: &Author, put: &PutRequest) -> bool {
        self.permits(by, &put.key, &[], Access::Write) && (!put.prev_kv || self.permits(by, &put.key, &[], Access::Read))
    }

    pub(super) fn permits_delete(&self, by: &Author, delete: &DeleteRangeRequest) -> bool {
        let DeleteRangeRequest { key, range_end, prev_kv } = delete;
        self.permits(by, key, range_end, Access::Write) && (!prev_kv || self.permits(by, key, range_end, Access::Read))
    }

    /// Whether the revoking of a lease with these keys is allowed. `None` where releases disagree: newer ones let a user with the role root do it
    /// whatever it knew of users and roles (etcd v3.4.23 and v3.7.3, `LeaseRevoke` and `checkLeasePutsKeys` of the apply for auth).
    pub(super) fn permits_revoke<'k>(&self, by: &Author, mut attached: impl Iterator<Item = &'k [u8]>) -> Option<bool> {
        let permits = attached.all(|key| self.permits(by, key, &[], Access::Write));
        let is_root = self.users.get(&by.user).is_some_and(|roles| roles.contains(ROOT_NAME));
        (permits || !is_root).then_some(permits)
    }

    /// Whether a transaction is allowed: all that any branch of it does, whichever is run. `None` where releases disagree: only newer ones
    /// look into transactions within it, and at the other keys of a put's lease.
    pub(super) fn permits_txn<'k, K>(&self, by: &Author, txn: &TxnRequest, attached: &impl Fn(i64) -> K) -> Option<bool>
    where
        K: Iterator<Item = &'k [u8]>,
    {
        let strict = self.permits_strictly(by, txn, attached);
        (strict == self.permits_flat(by, txn)).then_some(strict)
    }

    fn permits_flat(&self, by: &Author, txn: &TxnRequest) -> bool {
        let alone = |operation: &RequestOp| match &operation.request {
            Some(Operation::RequestPut(put)) => {
                // Up to 3.4.23 not even a put's old value was asked about here.
                self.permits(by, &put.key, &[], Access::Write)
            }
            Some(Operation::RequestDeleteRange(delete)) => self.permits_delete(by, delete),
            Some(Operation::RequestRange(range)) => self.permits(by, &range.key, &range.range_end, Access::Read),
            Some(Operation::RequestTxn(_)) | None => true,
        };
        self.permits_compares(by, txn) && txn.success.iter().chain(&txn.failure).all(alone)
    }

    fn permits_strictly<'k, K>(&self, by: &Author, txn: &TxnRequest, attached: &impl Fn(i64) -> K) -> bool
    where
        K: Iterator<Item = &'k [u8]>,
    {
        let within = |operation: &RequestOp| match &operation.request {
            Some(Operation::RequestPut(put)) => self.permits_put(by, put, attached(put.lease)),
            Some(Operation::RequestDeleteRange(delete)) => self.permits_delete(by, delete),
            Some(Operation::RequestRange(range)) => self.permits(by, &range.key, &range.range_end, Access::Read),
            Some(Operation::RequestTxn(txn)) => self.permits_strictly(by, txn, attached),
            None => true,
        };
        self.permits_compares(by, txn) && txn.success.iter().chain(&txn.failure).all(within)
    }

    fn permits_compares(&self, by: &Author, txn: &TxnRequest) -> bool {
        txn.compare.iter().all(|compare| self.permits(by, &compare.key, &compare.range_end, Access::Read))
    }
}

/// Whether permissions, taken together, cover the keys from `key` to `range_end` (empty: `key` alone; a zero byte: no end).
fn covers<'p>(permissions: impl Iterator<Item = &'p Permission>, key: &[u8], range_end: &[u8]) -> bool {
    // The end of a range, `None` where it has none. A single key ends right behind itself.
    let end_of = |key: &[u8], end: &[u8]| match end {
        [] => Some([key, &[0]].concat()),
        [0] => None,
        end => Some(end.to_vec()),
    };
    let wanted = end_of(key, range_end);
    let mut ranges: Vec<(&[u8], Option<Vec<u8>>)> =
        permissions.map(|permission| (&permission.key[..], end_of(&permission.key, &permission.range_end))).collect();
    ranges.sort_by_key(|range| range.0);
    let mut reached = key.to_vec();
    for (start, end) in ranges {
        if *start > reached[..] {
            return false;
        }
        match end {
            None => return true,
            Some(end) if wanted.as_ref().is_some_and(|wanted| end >= *wanted) => return true,
            Some(end) => reached = reached.max(end),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permission(perm_type: Type, key: &'static str, range_end: &'static str) -> Permission {
        Permission { perm_type: perm_type.into(), key: key.into(), range_end: range_end.into() }
    }

    fn cluster() -> (Auth, Author) {
        let mut auth = Auth::default();
        let nobody = Author::default();
        let requests = [
            AuthRequest::UserAdd("root".into()),
            AuthRequest::UserGrantRole("root".into(), "root".into()),
            AuthRequest::UserAdd("ann".into()),
            AuthRequest::RoleAdd("writer".into()),
            AuthRequest::RoleGrantPermission("writer".into(), Some(permission(Type::Readwrite, "/a/", "/a0"))),
            AuthRequest::UserGrantRole("ann".into(), "writer".into()),
            AuthRequest::Enable,
        ];
        requests.iter().for_each(|request| auth.apply(request, &nobody).unwrap());
        let ann = Author { user: "ann".into(), revision: auth.revision };
        (auth, ann)
    }

    #[test]
    fn a_user_writes_what_its_roles_permit() {
        let (mut auth, ann) = cluster();
        assert_eq!((auth.is_enabled, auth.revision), (true, 7));
        let put = |key: &'static str| PutRequest { key: key.into(), ..PutRequest::default() };
        assert!(auth.permits_put(&ann, &put("/a/1"), std::iter::empty()));
        assert!(!auth.permits_put(&ann, &put("/b/1"), std::iter::empty()));
        assert!(!auth.permits_put(&ann, &put("/a/1"), [&b"/b/1"[..]].into_iter()), "a lease of keys that are not hers");
        assert!(!auth.permits_put(&Author::default(), &put("/a/1"), std::iter::empty()), "nobody");
        let delete = |key: &'static str, end: &'static str| DeleteRangeRequest { key: key.into(), range_end: end.into(), prev_kv: false };
        assert!(auth.permits_delete(&ann, &delete("/a/", "/a0")) && !auth.permits_delete(&ann, &delete("/a/", "/a00")));
        assert!(!auth.permits_delete(&ann, &delete("/a/", "\0")));
        // A change of users that she may not make changes nothing; one that root makes refuses what was asked before it.
        auth.apply(&AuthRequest::UserAdd("eve".into()), &ann).unwrap();
        assert_eq!(auth.revision, 7);
        auth.apply(&AuthRequest::UserAdd("eve".into()), &Author { user: "root".into(), revision: 7 }).unwrap();
        assert!(!auth.permits_put(&ann, &put("/a/1"), std::iter::empty()), "her revision is an old one");
    }

    #[test]
    fn ranges_that_touch_are_one() {
        let permissions = [permission(Type::Write, "/a", "/c"), permission(Type::Write, "/c", ""), permission(Type::Write, "/c\0", "/e")];
        assert!(covers(permissions.iter(), b"/b", b"/d"));
        assert!(!covers(permissions[..1].iter().chain(&permissions[2..]), b"/b", b"/d"));
        assert!(!covers(permissions.iter(), b"/b", b"/f") && !covers(permissions.iter(), b"/b", b"\0"));
        assert!(covers([permission(Type::Read, "\0", "\0")].iter(), b"/b", b"\0"));
    }

    #[test]
    fn what_releases_disagree_about_is_not_decided() {
        let (auth, ann) = cluster();
        let inner = TxnRequest {
            success: vec![RequestOp { request: Some(Operation::RequestPut(PutRequest { key: "/b".into(), ..PutRequest::default() })) }],
            ..TxnRequest::default()
        };
        let outer =
            TxnRequest { success: vec![RequestOp { request: Some(Operation::RequestTxn(inner.clone())) }], ..TxnRequest::default() };
        let revoke = |user: &str, revision, keys: &[&'static str]| {
            auth.permits_revoke(&Author { user: user.into(), revision }, keys.iter().map(|key| key.as_bytes()))
        };
        assert_eq!(
            (revoke("ann", 7, &["/a/1"]), revoke("ann", 6, &["/a/1"]), revoke("root", 7, &["/b"])),
            (Some(true), Some(false), Some(true))
        );
        assert_eq!((revoke("root", 6, &["/b"]), revoke("root", 6, &[])), (None, Some(true)));
        let none = |_: i64| std::iter::empty::<&[u8]>();
        assert_eq!(auth.permits_txn(&ann, &inner, &none), Some(false));
        assert_eq!(auth.permits_txn(&ann, &outer, &none), None);
    }
}
