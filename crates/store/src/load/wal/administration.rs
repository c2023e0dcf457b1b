//! Requests that administer the cluster: users and roles, members and versions. etcd keeps these in buckets of their own, without a revision.

use bytes::Bytes;
use prost::Message;

use crate::proto::authpb::Permission;
use crate::proto::etcdserverpb::InternalRaftRequest;
use crate::proto::raftpb::{ConfChange, ConfChangeType};

/// A request of etcd's authentication, with what decides which requests are allowed after it. Passwords are not kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AuthRequest {
    Enable,
    Disable,
    UserAdd(String),
    UserDelete(String),
    UserChangePassword(String),
    UserGrantRole(String, String),
    UserRevokeRole(String, String),
    RoleAdd(String),
    RoleDelete(String),
    RoleGrantPermission(String, Option<Permission>),
    /// Role, and the range of the permission.
    RoleRevokePermission(String, Bytes, Bytes),
    /// A log-in, or a question: it changes nothing.
    Read(&'static str),
}

impl AuthRequest {
    pub(super) fn of(request: &InternalRaftRequest) -> Option<Self> {
        Self::of_user(request).or_else(|| Self::of_role(request)).or_else(|| Self::read(request))
    }

    fn of_user(request: &InternalRaftRequest) -> Option<Self> {
        if request.auth_enable.is_some() {
            return Some(Self::Enable);
        }
        if request.auth_disable.is_some() {
            return Some(Self::Disable);
        }
        let add = request.auth_user_add.as_ref().map(|add| Self::UserAdd(add.name.clone()));
        let delete = || request.auth_user_delete.as_ref().map(|delete| Self::UserDelete(delete.name.clone()));
        let change = || request.auth_user_change_password.as_ref().map(|change| Self::UserChangePassword(change.name.clone()));
        let grant = || request.auth_user_grant_role.as_ref().map(|grant| Self::UserGrantRole(grant.user.clone(), grant.role.clone()));
        let revoke = || request.auth_user_revoke_role.as_ref().map(|revoke| Self::UserRevokeRole(revoke.name.clone(), revoke.role.clone()));
        add.or_else(delete).or_else(change).or_else(grant).or_else(revoke)
    }

    fn of_role(request: &InternalRaftRequest) -> Option<Self> {
        let add = request.auth_role_add.as_ref().map(|add| Self::RoleAdd(add.name.clone()));
        let delete = || request.auth_role_delete.as_ref().map(|delete| Self::RoleDelete(delete.role.clone()));
        let grant = || request.auth_role_grant_permission.as_ref();
        let grant = || grant().map(|grant| Self::RoleGrantPermission(grant.name.clone(), grant.perm.clone()));
        let revoke = || request.auth_role_revoke_permission.as_ref();
        let revoke = || revoke().map(|of| Self::RoleRevokePermission(of.role.clone(), of.key.clone(), of.range_end.clone()));
        add.or_else(delete).or_else(grant).or_else(revoke)
    }

    fn read(request: &InternalRaftRequest) -> Option<Self> {
        let requests = [
            (request.authenticate.is_some(), "Authenticate"),
            (request.auth_status.is_some(), "AuthStatus"),
            (request.auth_user_get.is_some(), "UserGet"),
            (request.auth_user_list.is_some(), "UserList"),
            (request.auth_role_get.is_some(), "RoleGet"),
            (request.auth_role_list.is_some(), "RoleList"),
        ];
        requests.into_iter().find_map(|(is_set, name)| is_set.then_some(Self::Read(name)))
    }

    /// Whether only a user with the role root may make it.
    pub(super) fn needs_admin(&self) -> bool {
        !matches!(self, Self::Read(_))
    }
}

/// A request about the cluster's members or its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MembershipRequest {
    /// Raft's own change of the members; of the member with this id.
    ConfChange(ConfChangeType, u64),
    ClusterVersionSet,
    ClusterMemberAttrSet,
    DowngradeInfoSet,
    DowngradeVersionTest,
}

impl MembershipRequest {
    pub(super) fn of(request: &InternalRaftRequest) -> Option<Self> {
        let requests = [
            (request.cluster_version_set.is_some(), Self::ClusterVersionSet),
            (request.cluster_member_attr_set.is_some(), Self::ClusterMemberAttrSet),
            (request.downgrade_info_set.is_some(), Self::DowngradeInfoSet),
            (request.downgrade_version_test.is_some(), Self::DowngradeVersionTest),
        ];
        requests.into_iter().find_map(|(is_set, request)| is_set.then_some(request))
    }

    /// Reads the data of a raft entry that is a ConfChange.
    pub(super) fn of_conf_change(data: &Bytes) -> Option<Self> {
        let change = ConfChange::decode(data.clone()).ok()?;
        Some(Self::ConfChange(ConfChangeType::try_from(change.r#type).ok()?, change.node_id))
    }
}
