//! What a restore loses, of made-up stores and of a recorded cluster against an earlier state of itself, and how it is done.

use ketcd_cluster::rehearse::{Distribution, Forecast, ForecastKind, MAX_STATES, Rehearsal, RehearseAsked, rehearse};
use ketcd_cluster::verify::{Verdict, Weight};
use ketcd_cluster::{Cluster, Error, Options, Revision};
use ketcd_kube::Release;
use ketcd_testing::written::Written;
use serde_json::{Value, json};

use crate::fixture::{at_revision, capture, database, path};

/// A key and an object with the entries of its managers: each a name and a second.
fn managed(kind: &str, name: &str, spec: &Value, managers: &[(&str, u32)]) -> (String, String) {
    let (group, plural) = match kind {
        "Deployment" => ("apps/v1", "deployments"),
        "Namespace" => ("v1", "namespaces"),
        _ => ("v1", "configmaps"),
    };
    let entry = |(manager, second): &(&str, u32)| json!({"manager": manager, "operation": "Update", "apiVersion": group, "time": format!("2026-11-30T10:00:{second:02}Z")});
    let mut metadata =
        json!({"name": name, "uid": format!("uid-of-{name}"), "managedFields": managers.iter().map(entry).collect::<Vec<_>>()});
    let below = if kind == "Namespace" { name.to_owned() } else { format!("shop/{name}") };
    if kind != "Namespace" {
        metadata["namespace"] = json!("shop");
    }
    let object = json!({"apiVersion": group, "kind": kind, "metadata": metadata, "spec": spec});
    (format!("/registry/{plural}/{below}"), object.to_string())
}

fn put(store: &mut Written, (key, value): (String, String)) {
    store.put(&key, value);
}

/// What both states have.
fn beginning() -> Written {
    let mut store = Written::default();
    put(&mut store, managed("Namespace", "kube-system", &json!({}), &[]));
    put(&mut store, managed("Namespace", "shop", &json!({}), &[("kubectl-create", 1)]));
    put(&mut store, managed("Deployment", "web", &json!({"replicas": 2}), &[("kubectl-create", 1)]));
    put(&mut store, managed("Deployment", "quiet", &json!({"replicas": 1}), &[("kubectl-create", 1)]));
    put(&mut store, managed("ConfigMap", "old", &json!({}), &[("kubectl-create", 1)]));
    store
}

async fn rehearsed(backup: &Cluster, over: &Cluster) -> Rehearsal {
    rehearse(backup, &[over], &RehearseAsked::default()).await.unwrap()
}

#[track_caller]
fn of(rehearsal: &Rehearsal, kind: ForecastKind, weight: Weight) -> &Forecast {
    let found = rehearsal.forecasts.iter().find(|forecast| forecast.kind == kind && forecast.weight == weight);
    found.unwrap_or_else(|| panic!("no {kind:?} of weight {weight}: {:?}", rehearsal.forecasts))
}

#[tokio::test]
async fn what_people_made_and_changed_comes_first() {
    let backup = database(beginning().finish(), Options::default()).await;
    let mut store = beginning();
    put(&mut store, managed("Deployment", "web", &json!({"replicas": 5}), &[("kubectl-create", 1), ("kubectl-scale", 9)]));
    // Only a heartbeat: its managers have a new time, and nothing else is new.
    put(&mut store, managed("Deployment", "quiet", &json!({"replicas": 1}), &[("kubectl-create", 1), ("kube-controller-manager", 9)]));
    put(&mut store, managed("ConfigMap", "a-machine", &json!({}), &[("shopd", 9)]));
    put(&mut store, managed("ConfigMap", "b-git", &json!({}), &[("argocd-controller", 9)]));
    put(&mut store, managed("ConfigMap", "c-person", &json!({}), &[("kubectl-create", 9)]));
    let mut root = managed("ConfigMap", "kube-root-ca.crt", &json!({}), &[("kube-controller-manager", 9)]);
    root.0 = "/registry/configmaps/shop/kube-root-ca.crt".to_owned();
    put(&mut store, root);
    store.delete("/registry/configmaps/shop/old");
    let rehearsal = rehearsed(&backup, &database(store.finish(), Options::default()).await).await;

    assert_eq!((rehearsal.is_of_one_cluster, rehearsal.lost_revisions), (Some(true), Some(7)));
    let lost = of(&rehearsal, ForecastKind::LostObjects, Weight::High);
    assert_eq!((lost.count, &*lost.headline), (3, "3 ConfigMaps (1 by people, 1 by GitOps)"));
    let names: Vec<&str> = lost.affected.iter().map(|affected| &*affected.subject.name).collect();
    assert_eq!(names, ["c-person", "b-git", "a-machine"]);
    assert_eq!((&*lost.affected[0].by, &*lost.affected[1].by), ("kubectl-create", "argocd-controller"));
    assert!(lost.commands.iter().any(|command| command.contains("extract -A --all --since 6 --by people,gitops")), "{:?}", lost.commands);

    let changed = of(&rehearsal, ForecastKind::LostChanges, Weight::High);
    assert_eq!((changed.count, &*changed.affected[0].subject.name, &*changed.affected[0].by), (1, "web", "kubectl-scale"));
    assert_eq!(changed.affected[0].says, "spec.replicas goes back");
    assert_eq!(of(&rehearsal, ForecastKind::Returns, Weight::Medium).headline, "1 ConfigMap comes back");
    let again = of(&rehearsal, ForecastKind::LostObjects, Weight::Low);
    assert!(again.affected[0].says.starts_with("is made again") && again.headline.is_empty(), "{again:?}");
}

/// After an upgrade any write stores the version of the new release; an API server returns the object in either.
#[tokio::test]
async fn another_stored_version_alone_is_not_lost() {
    let web = || managed("Deployment", "web", &json!({"replicas": 2}), &[("kubectl-create", 1)]);
    let mut store = beginning();
    let (key, value) = web();
    store.put(&key, value.replace("apps/v1", "apps/v1beta2").replace("\"replicas\":2", "\"replicas\":2,\"template\":null"));
    let backup = database(store.finish(), Options::default()).await;
    put(&mut store, web());
    let rehearsal = rehearsed(&backup, &database(store.finish(), Options::default()).await).await;
    let lost: Vec<&Forecast> = rehearsal.forecasts.iter().filter(|forecast| forecast.kind == ForecastKind::LostChanges).collect();
    assert!(rehearsal.lost_revisions == Some(1) && lost.is_empty(), "{lost:?}");
}

#[tokio::test]
async fn the_newest_file_of_the_cluster_is_the_better_one() {
    let backup = database(beginning().finish(), Options::default()).await;
    let mut store = beginning();
    put(&mut store, managed("ConfigMap", "new", &json!({}), &[("kubectl-create", 9)]));
    let newest = database(store.finish(), Options::default()).await;
    let rehearsal = rehearsed(&backup, &newest).await;
    let better = rehearsal.better().unwrap();
    assert!(better.is_newest && better.revision == Revision(7) && better.verdict == Verdict::Good, "{better:?}");
    assert_eq!((rehearsal.backup().unwrap().lacks, better.lacks, better.keys), (Some(1), Some(0), 6));

    let mut other = Written::default();
    let (key, value) = managed("Namespace", "kube-system", &json!({}), &[]);
    other.put(&key, value.replace("uid-of-kube-system", "another"));
    (0..20).for_each(|number| put(&mut other, managed("ConfigMap", &format!("of-{number}"), &json!({}), &[])));
    let other = database(other.finish(), Options::default()).await;
    let rehearsal = rehearse(&backup, &[&other], &RehearseAsked::default()).await.unwrap();
    assert_eq!((rehearsal.is_of_one_cluster, rehearsal.verdict()), (Some(false), Verdict::Bad));
    assert!(rehearsal.sources[0].is_backup && rehearsal.sources[1].says.contains("of another cluster"), "{:?}", rehearsal.sources);
    assert_eq!(rehearsal.way.bump, None);
}

#[tokio::test]
async fn a_recorded_cluster_loses_what_came_after_an_earlier_revision() {
    let backup = capture("k120-story", at_revision(600)).await;
    let newest = capture("k120-story", Options::default()).await;
    let rehearsal = rehearsed(&backup, &newest).await;
    let end = newest.revision().await.unwrap();
    assert_eq!((rehearsal.is_of_one_cluster, rehearsal.lost_revisions), (Some(true), Some(end.0 - 600)));
    let kinds: Vec<ForecastKind> = rehearsal.forecasts.iter().map(|forecast| forecast.kind).collect();
    assert!(kinds.contains(&ForecastKind::LostObjects) || kinds.contains(&ForecastKind::LostChanges), "{kinds:?}");
    for forecast in rehearsal.forecasts.iter().filter(|forecast| forecast.kind.chapter().name() == "lost") {
        assert!(forecast.count > 0 && !forecast.affected.is_empty() && !forecast.says.ends_with('.'), "{forecast:?}");
        assert!(forecast.affected.iter().all(|affected| !["Event", "Lease"].contains(&&*affected.subject.kind)), "{forecast:?}");
        assert!(forecast.commands.iter().any(|command| command.contains(&format!("diff --rev 600..{end}"))), "{forecast:?}");
    }
    assert!(rehearsal.way.bump.unwrap() >= end.0 - 600 + 1_000_000);
    assert!(rehearsal.not_known.iter().any(|phrase| phrase.contains("newest state of the file")), "{:?}", rehearsal.not_known);
}

#[tokio::test]
async fn the_way_is_that_of_the_distribution() {
    let mut store = beginning();
    store.put(
        "/registry/configmaps/kube-system/kubeadm-config",
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}).to_string(),
    );
    let command = ["etcd", "--name=cp-1", "--data-dir=/var/lib/etcd", "--initial-advertise-peer-urls=https://10.0.0.1:2380"];
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "etcd-cp-1", "namespace": "kube-system"}, "spec": {"nodeName": "cp-1",
        "containers": [{"name": "etcd", "image": "registry.k8s.io/etcd:3.6.4-0", "command": command}]}});
    store.put("/registry/pods/kube-system/etcd-cp-1", pod.to_string());
    let backup = database(store.finish(), Options::default()).await;
    let rehearsal = rehearsed(&backup, &database(store.finish(), Options::default()).await).await;
    assert_eq!(rehearsal.way.distribution, Distribution::Kubeadm);
    let restore = rehearsal.way.steps.iter().find(|step| step.place == "on cp-1").unwrap();
    assert!(restore.commands[0].contains("--name cp-1 --initial-cluster cp-1=https://10.0.0.1:2380"), "{restore:?}");
    assert!(restore.commands[0].ends_with("--bump-revision 1000000 --mark-compacted"), "{restore:?}");

    let mut store = beginning();
    store.put("k3s/etcd/learnerProgress", "{}");
    let backup = database(store.finish(), Options::default()).await;
    let way = rehearse(&backup, &[], &RehearseAsked::default()).await.unwrap().way;
    assert_eq!((way.distribution, way.bump), (Distribution::K3s, None));
    assert!(way.steps.iter().flat_map(|step| &step.commands).any(|command| command.starts_with("k3s server --cluster-reset")), "{way:?}");
}

#[tokio::test]
async fn each_forecast_has_a_command() {
    let asked = RehearseAsked { now: Some("2027-01-01T00:00:00Z".parse().unwrap()), ..RehearseAsked::default() };
    for name in ["k120-story", "k136-story"] {
        let newest = capture(name, Options::default()).await;
        for revision in [300, 600, 900, 1_200, 1_500] {
            let backup = capture(name, at_revision(revision)).await;
            for over in [&[&newest][..], &[]] {
                let rehearsal = rehearse(&backup, over, &asked).await.unwrap();
                let without: Vec<&Forecast> = rehearsal.forecasts.iter().filter(|forecast| forecast.commands.is_empty()).collect();
                assert!(!rehearsal.forecasts.is_empty() && without.is_empty(), "{name} r{revision}: {without:?}");
            }
        }
    }
}

#[tokio::test]
async fn where_the_state_of_then_is_compacted_the_backup_is_read_with_the_newest() {
    let [backup, newest] = ["k136-story", "k136-story/compacted.db.zst"];
    let rehearsal = rehearsed(&capture(backup, at_revision(600)).await, &capture(newest, Options::default()).await).await;
    let extract = format!("ketcd -f {} -f {} extract -A --all --since 600 --by people,gitops", path(backup), path(newest));
    let lost = of(&rehearsal, ForecastKind::LostObjects, Weight::High);
    assert_eq!(lost.commands[..2], [extract.clone(), format!("{extract} --against {}", path(backup))]);
    let last = rehearsal.way.steps.last().unwrap();
    assert_eq!(last.commands, [format!("{extract} --against {}", path(backup)), format!("{extract} --show-secrets | kubectl apply -f -")]);
    // What is readable in the newest state needs no other file.
    let rehearsal = rehearsed(&capture(backup, at_revision(2_000)).await, &capture(newest, Options::default()).await).await;
    let commands: Vec<&String> = rehearsal.forecasts.iter().flat_map(|forecast| &forecast.commands).collect();
    let alone = format!("ketcd -f {} extract -A --all --since 2000", path(newest));
    assert!(commands.iter().any(|command| command.starts_with(&alone)), "{commands:?}");
}

#[tokio::test]
async fn what_openshifts_own_api_servers_keep_is_lost_too() {
    let mut store = Written::default();
    let object = |version: &str, kind: &str, namespace: &str, name: &str| {
        json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace, "uid": name}}).to_string()
    };
    for name in ["default", "kube-system"] {
        store.put(&format!("/kubernetes.io/namespaces/{name}"), object("v1", "Namespace", "", name));
    }
    store.put("/openshift.io/routes/shop/old", object("route.openshift.io/v1", "Route", "shop", "old"));
    let backup = database(store.finish(), Options::default()).await;
    store.put("/openshift.io/routes/shop/new", object("route.openshift.io/v1", "Route", "shop", "new"));
    store.delete("/openshift.io/routes/shop/old");
    // Another forecast tells of tokens, and names none.
    store.put("/openshift.io/oauth/accesstokens/secret", object("oauth.openshift.io/v1", "OAuthAccessToken", "", "secret"));
    let rehearsal = rehearsed(&backup, &database(store.finish(), Options::default()).await).await;
    assert_eq!(rehearsal.way.distribution, Distribution::OpenShift);
    let names = |kind: ForecastKind| -> Vec<String> {
        let forecasts = rehearsal.forecasts.iter().filter(move |forecast| forecast.kind == kind);
        forecasts
            .flat_map(|forecast| &forecast.affected)
            .map(|affected| format!("{} {}", affected.subject.kind, affected.subject.name))
            .collect()
    };
    assert_eq!(
        (names(ForecastKind::LostObjects), names(ForecastKind::Returns)),
        (vec!["Route new".to_owned()], vec!["Route old".to_owned()])
    );
    assert_eq!(names(ForecastKind::Tokens), ["User "]);
}

#[tokio::test]
async fn too_many_states_are_refused() {
    let backup = database(beginning().finish(), Options::default()).await;
    let over = vec![&backup; MAX_STATES + 1];
    let refused = rehearse(&backup, &over, &RehearseAsked::default()).await.unwrap_err();
    assert!(matches!(&refused, Error::Invalid { problem, .. } if problem.contains("17 states are too many")), "{refused:?}");
    assert!(rehearse(&backup, &over[1..], &RehearseAsked::default()).await.is_ok());
}

/// Data of 1.20 under an API server of 1.36.
#[tokio::test]
async fn what_the_running_server_does_not_serve_is_named() {
    let backup = capture("k120-story", at_revision(1_700)).await;
    let newest = capture("k120-story", Options::default()).await;
    let asked = RehearseAsked { target: Some(Release(36)), ..RehearseAsked::default() };
    let rehearsal = rehearse(&backup, &[&newest], &asked).await.unwrap();
    let stored: Vec<&Forecast> = rehearsal.forecasts.iter().filter(|forecast| forecast.kind == ForecastKind::StoredVersions).collect();
    let jobs = stored.iter().find(|forecast| forecast.says.contains("batch/v1beta1 CronJob")).unwrap();
    assert_eq!(jobs.says, "1 object is stored as batch/v1beta1 CronJob, which 1.36 does not serve: to be rewritten once it runs");
    assert!(jobs.commands.iter().any(|command| command.ends_with("kubectl replace -f -")), "{jobs:?}");
    assert!(stored.iter().all(|forecast| !forecast.says.contains("on the way")), "{stored:?}");
}
