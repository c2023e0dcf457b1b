//! `usage` of a live etcd: with a long history keys and versions alone count the writes; what controllers and Helm leave behind.

use ketcd_testing::snapshot::beginning;
use serde_json::{Value, json};

use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{ketcd, run, stderr};
use crate::load::config_map;

#[tokio::test]
async fn versions_count_the_writes() {
    let lease = |time: &str| {
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "kube-scheduler",
            "namespace": "kube-system"}, "spec": {"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": time}});
        ("/registry/leases/kube-system/kube-scheduler".to_owned(), Some(lease.to_string()))
    };
    let mut changes = vec![lease("2026-11-20T22:00:00.000000Z")];
    for (name, count) in [("busy", 4_000), ("quiet", 1), ("gone", 3), ("rest", 1_500)] {
        changes.extend((0..count).map(|value| (format!("/registry/configmaps/lab/{name}"), Some(config_map(name, value)))));
    }
    changes.push(("/registry/configmaps/lab/gone".to_owned(), None));
    changes.extend([lease("2026-11-20T22:59:50.000000Z"), lease("2026-11-20T23:00:00.000000Z")]);
    let revisions = changes.iter().map(|(key, value)| vec![(key.as_bytes(), value.as_deref().map(str::as_bytes))]);
    let etcd = Etcd::start_on(&beginning(revisions), EtcdRelease::V35, Transport::Plain).await;
    let usage = |arguments: &[&str]| -> Value {
        let mut command = ketcd();
        let output = run(command.args(["--endpoints", &etcd.endpoint(), "--insecure-transport", "usage", "-o", "json"]).args(arguments));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    // Revision 1 is empty: what was gone before the end leaves no version behind.
    let found = usage(&[]);
    assert_eq!((&found["total"]["writes"], &found["total"]["keys"]), (&5_504.into(), &4.into()), "{found}");
    let busiest = &found["busiest"][0];
    assert_eq!([&busiest["kind"], &busiest["namespace"], &busiest["name"]], ["ConfigMap", "lab", "busy"]);
    assert_eq!((&found["busiest"][0]["writes"], &found["busiest"][0]["writtenBytes"]), (&4_000.into(), &Value::Null));
    assert_eq!((&found["managers"], &found["unseenRevisions"]), (&Value::Null, &4.into()), "{found}");
    // Growth is estimated by the size of the database, which a member tells, as it tells its quota from 3.6 on.
    assert!(found["liveBytesPerHour"].as_f64() > Some(0.0) && found["writtenBytesPerHour"].as_f64() > Some(0.0), "{found}");
    let mut command = ketcd();
    let text = run(command.args(["--endpoints", &etcd.endpoint(), "--insecure-transport", "usage"])).stdout;
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("\ngrowth is estimated from keys and writes"), "{text}");
    // From within, a deletion is seen, and only the writes since.
    let found = usage(&["--since", "4005"]);
    assert_eq!((&found["total"]["writes"], &found["total"]["deletions"]), (&1_502.into(), &1.into()), "{found}");
    let (counts, unseen) = (&found["countsBytes"], &found["unseenRevisions"]);
    assert_eq!((counts, unseen), (&false.into(), &1.into()), "{found}");
    // As of a file: nothing is missed.
    let found = usage(&["--full"]);
    let total = &found["total"];
    assert_eq!((&total["writes"], &total["deletions"], &total["keys"]), (&5_507.into(), &1.into(), &4.into()), "{found}");
    assert!(total["liveBytes"].as_u64() > Some(100) && !found["largest"].as_array().unwrap().is_empty(), "{found}");
    assert_eq!(found["unseenRevisions"], Value::Null);
    assert_eq!(found["managers"].as_array().unwrap().len(), 1, "{found}");
}

/// The rows of what is left behind for this reason: kind, owner, release, objects.
fn left(found: &Value, reason: &str) -> Vec<(String, String, String, u64)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rows = found["leftBehind"].as_array().unwrap().iter().filter(|row| row["reason"] == reason);
    let row = |row: &Value| (text(&row["kind"]), text(&row["owner"]), text(&row["release"]), row["objects"].as_u64().unwrap());
    let mut rows: Vec<_> = rows.map(row).collect();
    rows.sort();
    rows
}

fn row(kind: &str, owner: &str, release: &str, objects: u64) -> (String, String, String, u64) {
    (kind.to_owned(), owner.to_owned(), release.to_owned(), objects)
}

/// An object in `web`, owned by these.
fn owned(kind: &str, name: &str, owners: &Value) -> Value {
    let api_version = if matches!(kind, "Deployment" | "ReplicaSet") { "apps/v1" } else { "v1" };
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "web", "uid": format!("uid-of-{kind}-{name}"),
        "ownerReferences": owners}})
}

fn owner(api_version: &str, kind: &str, name: &str, uid: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid})
}

#[tokio::test]
async fn owners_that_no_longer_exist() {
    let etcd = Etcd::start(Transport::Plain).await;
    let mut client = etcd.writer().await;
    let mut put = async |path: &str, object: Value| {
        client.put(format!("/registry/{path}"), object.to_string(), None).await.unwrap();
    };
    let gone = || owner("apps/v1", "ReplicaSet", "gone", "uid-of-gone");
    let shop = || owner("apps/v1", "Deployment", "shop", "uid-of-Deployment-shop");
    put("minions/n1", json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "uid-of-n1"}})).await;
    put("deployments/web/shop", owned("Deployment", "shop", &json!([]))).await;
    put("replicasets/web/shop-1", owned("ReplicaSet", "shop-1", &json!([shop()]))).await;
    // None of these owners exists: one is gone, one was made again under its name.
    put("configmaps/web/of-gone", owned("ConfigMap", "of-gone", &json!([gone()]))).await;
    put("configmaps/web/of-secret", owned("ConfigMap", "of-secret", &json!([owner("v1", "Secret", "gone", "uid-of-gone-secret")]))).await;
    let earlier = json!([owner("apps/v1", "Deployment", "shop", "uid-of-an-earlier-life"), gone()]);
    put("secrets/web/of-earlier", owned("Secret", "of-earlier", &earlier)).await;
    let role = |name: &str, owner: Value| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name, "uid": name, "ownerReferences": [owner]}});
    put("clusterroles/of-namespace", role("of-namespace", owner("v1", "Namespace", "gone", "uid-of-gone-namespace"))).await;
    // The garbage collector keeps the others, or nothing can be said of them.
    put("clusterroles/of-namespaced", role("of-namespaced", gone())).await;
    for (name, owners) in [
        ("of-both", json!([gone(), shop()])),
        ("of-node", json!([owner("v1", "Node", "n1", "uid-of-n1")])),
        ("of-aggregated", json!([owner("metrics.k8s.io/v1beta1", "NodeMetrics", "n1", "uid-of-metrics")])),
        ("of-undefined", json!([owner("stable.example.com/v1", "CronTab", "a", "uid-of-crontab")])),
        ("of-a-secret", json!([owner("v1", "Secret", "of-earlier", "uid-of-Secret-of-earlier")])),
        ("of-sealed", json!([owner("v1", "Secret", "sealed", "uid-of-sealed")])),
        ("of-event", json!([owner("v1", "Event", "gone", "uid-of-event")])),
        ("of-nobody", json!([])),
    ] {
        put(&format!("configmaps/web/{name}"), owned("ConfigMap", name, &owners)).await;
    }
    let mut deleted = owned("ConfigMap", "deleted", &json!([gone()]));
    deleted["metadata"]["deletionTimestamp"] = "2026-11-20T22:00:00Z".into();
    put("configmaps/web/deleted", deleted).await;
    put("events/web/of-gone", owned("Event", "of-gone", &json!([gone()]))).await;
    etcd.writer().await.put("/registry/secrets/web/sealed", "k8s:enc:aescbc:v1:key1:0123456789abcdef", None).await.unwrap();
    let usage = |arguments: &[&str]| -> Value {
        let mut command = ketcd();
        let output = run(command.args(["--endpoints", &etcd.endpoint(), "--insecure-transport", "usage", "-o", "json"]).args(arguments));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)))
    };
    let in_web = [row("ConfigMap", "ReplicaSet", "", 1), row("ConfigMap", "Secret", "", 1), row("Secret", "Deployment", "", 1)];
    let mut all = vec![row("ClusterRole", "Namespace", "", 1)];
    all.extend(in_web.clone());
    all.sort();
    assert_eq!(left(&usage(&[]), "OwnerGone"), all);
    assert_eq!(left(&usage(&["-n", "web"]), "OwnerGone"), in_web);
    // While the owner was there, nothing was left behind.
    put(
        "replicasets/web/gone",
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "gone", "namespace": "web", "uid": "uid-of-gone"}}),
    )
    .await;
    assert_eq!(left(&usage(&["-n", "web"]), "OwnerGone"), in_web[1..2]);
}

#[tokio::test]
async fn superseded_helm_releases() {
    let etcd = Etcd::start(Transport::Plain).await;
    let mut client = etcd.writer().await;
    let mut bytes = 0;
    for (namespace, version, status) in
        [("web", 1, "superseded"), ("web", 2, "superseded"), ("web", 3, "deployed"), ("lab", 1, "superseded"), ("lab", 2, "failed")]
    {
        let name = format!("sh.helm.release.v1.shop.v{version}");
        let labels = json!({"name": "shop", "owner": "helm", "status": status, "version": version.to_string()});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "data": {"release": "SDRzSUFBQUFBQUFB"},
            "metadata": {"name": name, "namespace": namespace, "labels": labels}});
        let value = secret.to_string();
        bytes += if (namespace, status) == ("web", "superseded") { value.len() as u64 } else { 0 };
        client.put(format!("/registry/secrets/{namespace}/{name}"), value, None).await.unwrap();
    }
    let labels = json!({"NAME": "old", "OWNER": "TILLER", "STATUS": "SUPERSEDED", "VERSION": "7"});
    let of_tiller = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"release": "H4sIAAAAAAAA"},
        "metadata": {"name": "old.v7", "namespace": "kube-system", "labels": labels}});
    client.put("/registry/configmaps/kube-system/old.v7", of_tiller.to_string(), None).await.unwrap();
    let mut command = ketcd();
    command.args(["--endpoints", &etcd.endpoint(), "--insecure-transport", "usage"]);
    let output = run(command.args(["-o", "json"]));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    let rows = [row("ConfigMap", "", "kube-system/old", 1), row("Secret", "", "lab/shop", 1), row("Secret", "", "web/shop", 2)];
    assert_eq!(left(&found, "SupersededRelease"), rows);
    assert_eq!(found["leftBehind"][0]["bytes"], bytes);
}
