//! Requests that administer the cluster: users and roles, members and versions. etcd keeps these in buckets of their own, without a revision.

use bytes::Bytes;
use prost::Message;

use crate::proto::etcdserverpb::InternalRaftRequest;
use crate::proto::raftpb::{ConfChange, ConfChangeType};

/// A request of etcd's authentication. The names and passwords in it are not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthRequest {
    Authenticate,
    Enable,
    Disable,
    Status,
    UserAdd,
    UserDelete,
    UserChangePassword,
    UserGrantRole,
    UserGet,
    UserRevokeRole,
    UserList,
    RoleAdd,
    RoleGrantPermission,
    RoleGet,
    RoleRevokePermission,
    RoleDelete,
    RoleList,
}

impl AuthRequest {
    pub(super) fn of(request: &InternalRaftRequest) -> Option<Self> {
        let requests = [
            (request.authenticate.is_some(), Self::Authenticate),
            (request.auth_enable.is_some(), Self::Enable),
            (request.auth_disable.is_some(), Self::Disable),
            (request.auth_status.is_some(), Self::Status),
            (request.auth_user_add.is_some(), Self::UserAdd),
            (request.auth_user_delete.is_some(), Self::UserDelete),
            (request.auth_user_change_password.is_some(), Self::UserChangePassword),
            (request.auth_user_grant_role.is_some(), Self::UserGrantRole),
            (request.auth_user_get.is_some(), Self::UserGet),
            (request.auth_user_revoke_role.is_some(), Self::UserRevokeRole),
            (request.auth_role_add.is_some(), Self::RoleAdd),
            (request.auth_role_grant_permission.is_some(), Self::RoleGrantPermission),
            (request.auth_role_get.is_some(), Self::RoleGet),
            (request.auth_role_revoke_permission.is_some(), Self::RoleRevokePermission),
            (request.auth_role_delete.is_some(), Self::RoleDelete),
            (request.auth_user_list.is_some(), Self::UserList),
            (request.auth_role_list.is_some(), Self::RoleList),
        ];
        requests.into_iter().find_map(|(is_set, request)| is_set.then_some(request))
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
