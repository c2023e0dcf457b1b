//! Kinds: how many objects each has, custom ones by their definitions, and values that are of another kind than their keys say.

use futures_util::TryStreamExt;
use ketcd_cluster::{Cluster, Notice, Options};
use ketcd_store::{At, KeyRange, Want};
use ketcd_testing::written::Written;

use crate::fixture::{capture, database, noting};

fn everywhere() -> Options {
    Options { all_namespaces: true, ..Options::default() }
}

/// The keys of what an address names.
async fn keys(cluster: &Cluster, address: &str) -> Vec<Vec<u8>> {
    let found = cluster.subjects(&[address.to_owned()]).await.unwrap().objects;
    found.into_iter().map(|object| object.entry.key.to_vec()).collect()
}

#[tokio::test]
async fn counts_agree_with_listings() {
    let cluster = capture("k120-story", everywhere()).await;
    let counts = cluster.by_resource().await.unwrap();
    let mut compared = 0;
    for count in counts.iter().filter(|count| !count.resource.starts_with('(')) {
        assert_eq!(keys(&cluster, &count.resource).await.len() as u64, count.objects, "{}", count.resource);
        compared += 1;
    }
    assert!(compared > 30, "{compared}");
}

#[tokio::test]
async fn custom_kinds_have_the_names_of_their_definitions() {
    let cluster = capture("k120-story", everywhere()).await;
    let by_plural = keys(&cluster, "widgets").await;
    assert!(!by_plural.is_empty());
    for word in ["widgets.example.com", "widget", "WIDGET"] {
        assert_eq!(keys(&cluster, word).await, by_plural, "{word}");
    }
}

/// The first value stored below a prefix.
async fn value_below(cluster: &Cluster, prefix: &str) -> Vec<u8> {
    let listing = cluster.source.range(KeyRange::prefix(prefix), At::Newest, Want::Values).await.unwrap();
    let entries: Vec<_> = listing.entries.try_collect().await.unwrap();
    entries[0].value.to_vec()
}

#[tokio::test]
async fn a_value_of_another_kind_is_broken_and_no_object_of_its_keys_kind() {
    let recorded = capture("k120-story", Options::default()).await;
    let map = value_below(&recorded, "/registry/configmaps/").await;
    let pod = value_below(&recorded, "/registry/pods/").await;
    let json = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"odd","namespace":"lab"}}"#;
    for (key, value, expected, found, address) in [
        ("/registry/pods/lab/odd", &map[..], "Pod", "a ConfigMap", "pod/lab/odd"),
        ("/registry/pods/lab/odd", json, "Pod", "a ConfigMap", "pod/lab/odd"),
        ("/registry/minions/odd", &pod, "Node", "a Pod", "node/odd"),
        ("/registry/deployments/lab/odd", &map, "Deployment", "a ConfigMap", "deploy/lab/odd"),
        ("/registry/services/specs/lab/odd", &pod, "Service", "a Pod", "svc/lab/odd"),
    ] {
        let mut written = Written::default();
        written.put(key, value);
        let (options, kept) = noting(Options::default());
        let cluster = database(written.finish(), options).await;
        assert_eq!(keys(&cluster, address).await, Vec::<Vec<u8>>::new(), "{address}");
        assert!(cluster.finish(), "{address}");
        let wanted = format!("stored under the key of a {expected}, but it holds {found}");
        let is_it = |notice: &Notice| matches!(notice, Notice::Broken { key: own, revision: 2, reason } if own == key && *reason == wanted);
        assert!(kept.lock().unwrap().iter().any(is_it), "{address}: {kept:?}");
    }
}
