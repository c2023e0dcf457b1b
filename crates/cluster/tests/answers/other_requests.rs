//! Requests that made no change, next to the changes of a recorded day: who was refused, who only tried, who read.

use std::collections::BTreeSet;

use ketcd_cluster::read::Keys;
use ketcd_cluster::{Cluster, Notice, Options, OtherRequest, RequestScope};
use ketcd_history::audit::{RequestOutcome, Verb};
use ketcd_store::KeyRange;

use crate::audit::{authors, file, opened};
use crate::fixture::noting;

async fn others(cluster: &Cluster, keys: Keys) -> Vec<OtherRequest> {
    let clock = cluster.history(keys.clone(), cluster.revision().await.unwrap()).await.unwrap().clock();
    cluster.other_requests(&keys, &clock, |_| true).await.unwrap().into()
}

/// Whether a request of that user, verb and outcome is among them.
fn has(found: &[OtherRequest], user: &str, verb: &str, outcome: RequestOutcome) -> bool {
    found.iter().any(|other| &*other.request.user == user && other.request.verb.as_str() == verb && other.outcome == outcome)
}

#[tokio::test]
async fn no_request_that_made_a_change_is_said_to_have_made_none() {
    let authors: BTreeSet<String> = authors().into_values().map(|author| author.audit_id).collect();
    for (log, fewest) in [("full.jsonl.zst", 10), ("eks.jsonl.zst", 10), ("metadata.jsonl.zst", 0)] {
        let found = others(&opened(&file(log), Options::default()).await, Keys::all()).await;
        let unchanged: Vec<&OtherRequest> = found.iter().filter(|other| other.outcome == RequestOutcome::NoChange).collect();
        assert!(unchanged.len() >= fewest, "{log}: {}", unchanged.len());
        for other in &found {
            // The recorded truth names the last of several collections that one user deleted, and that may have been empty.
            let is_author = other.request.verb != Verb::DeleteCollection && authors.contains(&*other.request.audit_id);
            assert!(!is_author || other.outcome == RequestOutcome::Unknown, "{log}: {other:?}");
        }
        assert!(found.is_sorted_by_key(|other| other.request.received), "{log}");
    }
}

#[tokio::test]
async fn refusals_dry_runs_and_reads_of_an_object_are_found() {
    let cluster = opened(&file("full.jsonl.zst"), Options::default()).await;
    let key = "/registry/configmaps/pay/settings-41";
    let found = others(&cluster, Keys { many: false, ..Keys::many(vec![KeyRange::key(key)]) }).await;
    let refused = found.iter().find(|other| other.outcome == RequestOutcome::Refused).unwrap();
    assert_eq!((&*refused.request.user, refused.request.code, refused.request.reason.as_deref()), ("carol", 403, Some("Forbidden")));
    assert_eq!((refused.scope, &*refused.key, &*refused.kind), (RequestScope::Object, key, "ConfigMap"));
    assert!(has(&found, "oncall", "patch", RequestOutcome::DryRun));
    // A list of all of them reads this one too.
    assert!(found.iter().any(|other| other.request.verb.as_str() == "list" && other.scope == RequestScope::Cluster));
    assert!(found.iter().all(|other| other.scope != RequestScope::Object || other.key == key));
    assert!(found.iter().all(|other| other.resource == "configmaps"));
}

#[tokio::test]
async fn reads_that_a_policy_leaves_out_are_said() {
    let without_reads = String::from_utf8(ketcd_testing::testdata::read("audit/full.jsonl.zst")).unwrap();
    let is_read = |line: &&str| ["get", "list", "watch"].iter().any(|verb| line.contains(&format!("\"verb\":\"{verb}\"")));
    let lines: Vec<&str> = without_reads.lines().filter(|line| !is_read(line)).collect();
    let log = ketcd_testing::temporary::file(lines.join("\n"));
    let (options, notices) = noting(Options::default());
    let cluster = opened(log.path().to_str().unwrap(), options).await;
    let keys = cluster.asked(&["configmap/pay/settings-41".to_owned()], false).await.unwrap();
    let found = others(&cluster, keys).await;
    assert!(has(&found, "oncall", "patch", RequestOutcome::DryRun));
    let notices = notices.lock().unwrap();
    assert!(
        notices.iter().any(|notice| matches!(notice, Notice::AuditWithoutReads { resources } if resources == &["configmaps"])),
        "{notices:?}"
    );
}

/// A watch of the object, as the log has it when it begins and when it ends.
#[tokio::test]
async fn a_watch_that_goes_on_is_a_request_too() {
    let event = |stage: &str, id: &str, second: u8| {
        serde_json::json!({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": id, "stage": stage, "verb": "watch",
            "requestURI": "/api/v1/namespaces/pay/configmaps?watch=true", "user": {"username": "mallory"}, "userAgent": "kubectl/v1.37.2",
            "objectRef": {"resource": "configmaps", "namespace": "pay", "name": "settings-41", "apiVersion": "v1"}, "responseStatus": {"code": 200},
            "requestReceivedTimestamp": "2026-11-24T18:38:30Z", "stageTimestamp": format!("2026-11-24T18:38:{second}Z")})
    };
    let began = |id| event("ResponseStarted", id, 30).to_string();
    let lines = [began("goes-on"), began("ended"), event("ResponseComplete", "ended", 40).to_string(), began("goes-on")];
    let log = ketcd_testing::temporary::file(lines.join("\n"));
    let cluster = opened(log.path().to_str().unwrap(), Options::default()).await;
    let found = others(&cluster, Keys { many: false, ..Keys::many(vec![KeyRange::key("/registry/configmaps/pay/settings-41")]) }).await;
    let mut watches: Vec<_> = found.iter().map(|other| (&*other.request.audit_id, other.request.is_open)).collect();
    watches.sort_unstable();
    assert_eq!(watches, [("ended", false), ("goes-on", true)]);
}
