//! Nothing in the built client can write: the calls of etcd that change anything are not even in the binary.

use std::fs;

use memchr::memmem;

/// Calls the client makes, to show that the search finds what is there.
const MADE_CALLS: [&str; 6] = [
    "/etcdserverpb.KV/Range",
    "/etcdserverpb.KV/RangeStream",
    "/etcdserverpb.Watch/Watch",
    "/etcdserverpb.Maintenance/Status",
    "/etcdserverpb.Maintenance/HashKV",
    "/etcdserverpb.Auth/Authenticate",
];

/// The calls of etcd's API that change something in the store, the cluster or the raft log, and some reads that are not made.
const NOT_MADE: [&str; 33] = [
    "/etcdserverpb.KV/Put",
    "/etcdserverpb.KV/DeleteRange",
    "/etcdserverpb.KV/Txn",
    "/etcdserverpb.KV/Compact",
    "/etcdserverpb.Lease/LeaseGrant",
    "/etcdserverpb.Lease/LeaseRevoke",
    "/etcdserverpb.Lease/LeaseKeepAlive",
    "/etcdserverpb.Cluster/MemberAdd",
    "/etcdserverpb.Cluster/MemberRemove",
    "/etcdserverpb.Cluster/MemberUpdate",
    "/etcdserverpb.Cluster/MemberPromote",
    "/etcdserverpb.Maintenance/Alarm",
    "/etcdserverpb.Maintenance/Defragment",
    "/etcdserverpb.Maintenance/MoveLeader",
    "/etcdserverpb.Maintenance/Downgrade",
    "/etcdserverpb.Auth/AuthEnable",
    "/etcdserverpb.Auth/AuthDisable",
    "/etcdserverpb.Auth/UserAdd",
    "/etcdserverpb.Auth/UserDelete",
    "/etcdserverpb.Auth/UserChangePassword",
    "/etcdserverpb.Auth/UserGrantRole",
    "/etcdserverpb.Auth/UserRevokeRole",
    "/etcdserverpb.Auth/RoleAdd",
    "/etcdserverpb.Auth/RoleDelete",
    "/etcdserverpb.Auth/RoleGrantPermission",
    "/etcdserverpb.Auth/RoleRevokePermission",
    "/v3lockpb.Lock/Lock",
    "/v3lockpb.Lock/Unlock",
    "/v3electionpb.Election/Campaign",
    "/v3electionpb.Election/Proclaim",
    "/v3electionpb.Election/Resign",
    "/etcdserverpb.Maintenance/Hash",
    "/etcdserverpb.Maintenance/Snapshot",
];

#[test]
fn the_binary_holds_no_call_that_writes() {
    let binary = fs::read(env!("CARGO_BIN_EXE_ketcd")).unwrap();
    // Hash is another call than HashKV.
    let holds = |path: &str| memmem::find_iter(&binary, path).any(|at| !binary[at + path.len()..].starts_with(b"KV"));
    for path in MADE_CALLS {
        assert!(holds(path), "{path} is not found, so this test proves nothing");
    }
    let found: Vec<&str> = NOT_MADE.into_iter().filter(|path| holds(path)).collect();
    assert!(found.is_empty(), "the binary can call {found:?}");
}
