//! What fills recorded clusters, held against figures counted by another reader of etcd's database.

use ketcd_cluster::triage::resource;
use ketcd_cluster::usage::UsageData;
use ketcd_cluster::{Error, Incomplete, Notice, Options, built_in};
use ketcd_history::usage::{Remains, Sum};
use ketcd_kube::RegistryKey;

use crate::fixture::{at_revision, capture, cluster_of, noting, open, path, stored};

async fn usage_of(name: &str) -> UsageData {
    capture(name, Options::default()).await.usage(false).await.unwrap()
}

/// Sums by resource.
fn resources(found: &UsageData) -> Vec<(String, Sum)> {
    found.usage.by(|key| Some(resource("/registry", key, built_in())))
}

fn of<'s>(sums: &'s [(String, Sum)], name: &str) -> &'s Sum {
    &sums.iter().find(|(own, _)| own == name).unwrap_or_else(|| panic!("no {name} in {sums:?}")).1
}

/// Counted by a reader of the database that shares no code with ketcd: puts, their bytes, deletions, live keys and their bytes.
#[tokio::test]
async fn sums_are_those_of_another_reader() {
    let found = usage_of("k120-story").await;
    let total = found.usage.total();
    assert_eq!([total.writes, total.written_bytes, total.deletions, total.keys, total.live_bytes], [1771, 1_803_188, 15, 559, 569_535]);
    let resources = resources(&found);
    for (name, writes, bytes) in [("leases", 686, 306_432), ("events", 300, 199_029), ("pods", 189, 478_065), ("nodes", 50, 160_455)] {
        let sum = of(&resources, name);
        assert_eq!((sum.writes, sum.written_bytes), (writes, bytes), "{name}");
    }
    // Each way to look at it is of the same whole.
    let namespace =
        |key: &[u8]| RegistryKey::parse("/registry", key, built_in()).object().and_then(|path| path.namespace.map(str::to_owned));
    let namespaces = found.usage.by(|key| Some(namespace(key).unwrap_or_default()));
    for sums in [&resources, &namespaces, found.managers.as_ref().unwrap()] {
        assert_eq!(sums.iter().map(|(_, sum)| sum.writes).sum::<u64>(), 1771);
        assert_eq!(sums.iter().map(|(_, sum)| sum.written_bytes).sum::<u64>(), 1_803_188);
    }
    assert_eq!((found.span.0.0, found.span.1.0, found.before), (1, 1787, (0, Some(0))));
}

#[tokio::test]
async fn heartbeats_change_nothing_and_pods_do() {
    for name in ["k120-story", "k136-story"] {
        let found = usage_of(name).await;
        let resources = resources(&found);
        let leases = of(&resources, "leases");
        assert!(leases.idle > 600, "{name}: {leases:?}");
        assert!(leases.compared - leases.idle <= 4, "{name}: leases are taken, then renewed: {leases:?}");
        assert_eq!(of(&resources, "pods").idle, 0, "{name}");
        assert_eq!(found.compared_every, 1);
    }
}

#[tokio::test]
async fn a_span_is_the_difference_of_two() {
    let changes = async |options: Options, since: Option<&str>| {
        let since = since.map(|since| since.parse().unwrap());
        capture("k120-story", Options { since, ..options }).await.usage(false).await.unwrap().usage.total().changes()
    };
    // One change each revision.
    assert_eq!(changes(Options::default(), Some("1000")).await, 787);
    assert_eq!(changes(at_revision(1500), Some("1000")).await, 500);
    assert_eq!(changes(at_revision(1000), None).await, 1786 - 787);
    assert!(changes(Options::default(), Some("22:20:00")).await < 787);
    // What is asked of a time before the history is counted from its beginning, and that is noted.
    let (options, kept) = noting(Options::default());
    assert_eq!(changes(options, Some("-1h")).await, 1786);
    assert!(kept.lock().unwrap().iter().any(|notice| matches!(notice, Notice::SinceBeforeHistory { .. })));
}

#[tokio::test]
async fn what_is_large_and_what_is_left_behind() {
    let found = usage_of("k120-story").await;
    let largest = &found.largest[0];
    assert_eq!((&*largest.key.address, largest.field.as_ref().map(|field| &*field.path)), ("/registry/ranges/serviceips", Some("data")));
    let has = |kind: &str, owner: &str, reason: Remains| {
        found.left.iter().any(|left| left.kind == kind && left.owner == owner && left.reason == reason)
    };
    assert!(has("Pod", "Job", Remains::Ended) && has("ReplicaSet", "Deployment", Remains::Superseded), "{:?}", found.left);
    // Lengths of a Secret's fields are part of its secret.
    let secrets: Vec<_> = found.largest.iter().filter(|large| large.key.address.starts_with("secret/")).collect();
    assert!(!secrets.is_empty() && secrets.iter().all(|secret| secret.field.is_none()), "{secrets:?}");
}

#[tokio::test]
async fn a_span_that_ends_before_it_begins_is_refused() {
    let options = Options { since: Some("1700".parse().unwrap()), ..at_revision(1000) };
    let Err(Error::Invalid { problem, .. }) = open(&[path("k120-story")], options).await.map(drop) else { panic!("it is not refused") };
    assert_eq!(problem, "--since is revision 1700, after revision 1000, the end");
}

/// For the garbage collector an owner is in the object's namespace or nowhere.
#[tokio::test]
async fn an_owner_in_another_namespace_is_gone() {
    let owner = r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "parent", "namespace": "infra", "uid": "1"}}"#;
    let child = |namespace: &str| {
        format!(
            r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "kid", "namespace": "{namespace}", "uid": "{namespace}-kid",
            "ownerReferences": [{{"apiVersion": "apps/v1", "kind": "Deployment", "name": "parent", "uid": "1"}}]}}}}"#
        )
    };
    let left = async |namespace: &str| {
        let key = format!("/registry/configmaps/{namespace}/kid");
        let values = [("/registry/deployments/infra/parent", owner), (&*key, &*child(namespace))];
        stored(&values, Options::default()).await.usage(false).await.unwrap().left
    };
    assert_eq!(left("infra").await, []);
    let gone = left("shop").await;
    assert_eq!((gone.len(), &*gone[0].kind, &*gone[0].owner, gone[0].reason), (1, "ConfigMap", "Deployment", Remains::OwnerGone));
}

/// The owners of printed objects need not be printed too.
#[tokio::test]
async fn printed_objects_lack_no_owner() {
    let pod = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "web", "uid": "1", "ownerReferences":
        [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": "2"}]}}"#;
    let (options, kept) = noting(Options::default());
    let found = cluster_of(pod, options).await.usage(false).await.unwrap();
    assert_eq!(found.left, []);
    assert!(kept.lock().unwrap().iter().any(|notice| matches!(notice, Notice::OwnersNotCounted(Incomplete::Printed))));
}
