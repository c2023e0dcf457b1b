//! Afterwards: the running cluster held against the forecast.

mod outcome;
mod running;
mod score;

pub use outcome::{Outcome, Scored};

use super::forecast::{Affected, ForecastKind};
use super::rehearsal::Rehearsal;
use crate::cluster::Cluster;
use crate::error::Result;
use running::Running;

/// Holds a running cluster against the forecast, object by object. A forecast about no object is not scored, except that of watchers, which the revision
/// alone decides.
///
/// # Errors
/// The cluster cannot be read.
pub async fn compare(rehearsal: &Rehearsal, live: &Cluster) -> Result<Vec<Scored>> {
    let running = Running::read(rehearsal, live).await?;
    let newest_seen = rehearsal.sources.iter().map(|source| source.revision).max().unwrap_or_default();
    let mut scored = Vec::new();
    for forecast in &rehearsal.forecasts {
        if forecast.kind == ForecastKind::Watchers {
            let (outcome, evidence) = score::watchers(running.revision, newest_seen);
            scored.push(Scored { kind: forecast.kind, affected: Affected::default(), outcome, evidence });
            continue;
        }
        scored.extend(forecast.affected.iter().map(|affected| {
            let (outcome, evidence) = score::of(forecast, affected, &running);
            Scored { kind: forecast.kind, affected: affected.clone(), outcome, evidence }
        }));
    }
    Ok(scored)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use ketcd_store::{Revision, SourceKind, load};
    use ketcd_testing::written::Written;
    use serde_json::{Value, json};

    use super::super::forecast::Forecast;
    use super::super::source::RehearsedSource;
    use super::super::way::{Distribution, Way};
    use super::*;
    use crate::kinds::KeySubject;
    use crate::options::Options;
    use crate::verify::{Verdict, Weight};

    fn affected(kind: &str, namespace: &str, name: &str, uid: &str) -> Affected {
        let subject = KeySubject { kind: kind.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() };
        Affected { subject, uid: uid.to_owned(), ..Affected::default() }
    }

    fn rehearsal(forecasts: Vec<(ForecastKind, Vec<Affected>)>) -> Rehearsal {
        let newest = RehearsedSource {
            name: "member".to_owned(),
            kind: SourceKind::DataDir,
            revision: Revision(5),
            written: Some("2026-11-20T10:00:00Z".parse::<Timestamp>().unwrap()),
            age: None,
            keys: 1,
            verdict: Verdict::Good,
            says: String::new(),
            is_backup: false,
            is_newest: true,
            lacks: Some(0),
        };
        let forecasts = forecasts.into_iter().map(|(kind, affected)| Forecast::new(kind, Weight::High, "it is so", affected)).collect();
        let way = Way { distribution: Distribution::Unknown, evidence: String::new(), bump: None, steps: Vec::new() };
        Rehearsal { sources: vec![newest], lost_revisions: None, is_of_one_cluster: None, forecasts, not_known: Vec::new(), way }
    }

    fn object(kind: &str, namespace: &str, name: &str, uid: &str, more: &Value) -> String {
        let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace, "uid": uid,
            "creationTimestamp": "2026-11-20T11:00:00Z"}});
        let fields = more.as_object().unwrap().clone();
        object.as_object_mut().unwrap().extend(fields.into_iter().filter(|(name, _)| name != "owner"));
        if let Some(owner) = more.get("owner") {
            object["metadata"]["ownerReferences"] =
                json!([{"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": "j", "controller": true}]);
        }
        object.to_string()
    }

    /// The running cluster: two pods, a node that is not ready, a Job with a new pod, and an API server's lease.
    fn live() -> Cluster {
        let none = json!({});
        let served = json!({"subsets": [{"addresses": [{"ip": "10.0.0.3"}]}]});
        let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}});
        let again = json!({"owner": "back", "metadata": {"name": "back-x", "namespace": "a", "uid": "u7", "creationTimestamp": "2026-11-20T09:00:00Z"},
            "status": {"containerStatuses": [{"state": {"terminated": {"startedAt": "2026-11-20T11:00:00Z"}}}]}});
        let written = Written::of(&[
            ("/registry/pods/a/back-x", &object("Pod", "a", "back-x", "u7", &again)),
            ("/registry/pods/a/web-0", &object("Pod", "a", "web-0", "u1", &json!({"spec": {"nodeName": "n1"}}))),
            ("/registry/pods/a/once-x", &object("Pod", "a", "once-x", "u2", &json!({"owner": "once"}))),
            ("/registry/configmaps/a/c", &object("ConfigMap", "a", "c", "u3", &none)),
            ("/registry/minions/n1", &object("Node", "", "n1", "u4", &ready)),
            ("/registry/jobs/a/once", &object("Job", "a", "once", "j", &none).replace("\"v1\"", "\"batch/v1\"")),
            ("/registry/services/endpoints/default/kubernetes", &object("Endpoints", "default", "kubernetes", "u6", &served)),
            ("/registry/masterleases/10.0.0.1", "{\"kind\":\"Endpoints\",\"apiVersion\":\"v1\",\"metadata\":{}}"),
        ]);
        let source = load::open_bytes("live.db", written.finish().into(), &load::Limits::default(), &|_| None).unwrap();
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(Cluster::open(source, Options::default())).unwrap()
    }

    fn scores(forecasts: Vec<(ForecastKind, Vec<Affected>)>) -> Vec<(Outcome, String)> {
        let (rehearsal, live) = (rehearsal(forecasts), live());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let scored = runtime.block_on(compare(&rehearsal, &live)).unwrap();
        scored.into_iter().map(|one| (one.outcome, one.evidence)).collect()
    }

    #[track_caller]
    fn check(kind: ForecastKind, affected: Affected, outcome: Outcome, says: &str) {
        let found = scores(vec![(kind, vec![affected])]);
        assert!(found.len() == 1 && found[0].0 == outcome && found[0].1.contains(says), "{kind:?}: {found:?}");
    }

    #[test]
    fn what_is_lost_is_not_there_or_was_made_again() {
        check(ForecastKind::LostObjects, affected("ConfigMap", "a", "gone", "u9"), Outcome::Right, "not there");
        check(ForecastKind::LostObjects, affected("ConfigMap", "a", "c", "u9"), Outcome::Right, "another uid");
        check(ForecastKind::LostObjects, affected("ConfigMap", "a", "c", "u3"), Outcome::Wrong, "same uid");
        check(ForecastKind::LostObjects, affected("ConfigMap", "a", "c", ""), Outcome::NotObservable, "no uid");
        check(ForecastKind::Returns, affected("ConfigMap", "a", "c", "u3"), Outcome::Right, "it is there");
        check(ForecastKind::Returns, affected("ConfigMap", "a", "gone", "u3"), Outcome::Wrong, "not there");
    }

    #[test]
    fn what_controllers_decide_on_may_be_gone_again() {
        let mut rehearsal = rehearsal(vec![(ForecastKind::Returns, vec![affected("APIService", "", "v1beta1.example.com", "u9")])]);
        rehearsal.forecasts[0].weight = Weight::Low;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let scored = runtime.block_on(compare(&rehearsal, &live())).unwrap();
        assert_eq!(
            (scored[0].outcome, &*scored[0].evidence),
            (Outcome::NotObservable, "it is not there: its controller may have deleted it since")
        );
    }

    #[test]
    fn a_pod_is_known_by_its_uid() {
        check(ForecastKind::UnknownPods, affected("Pod", "a", "web-9", "u9"), Outcome::Right, "containers");
        check(ForecastKind::UnknownPods, affected("Pod", "a", "web-0", "u9"), Outcome::Right, "another uid");
        check(ForecastKind::UnknownPods, affected("Pod", "a", "web-0", "u1"), Outcome::Wrong, "same uid");
        let on = |node: &str| Affected { node: node.to_owned(), ..affected("Pod", "a", "web-0", "u1") };
        check(ForecastKind::OtherPods, on("n1"), Outcome::Wrong, "same uid");
        check(ForecastKind::OtherPods, on("n2"), Outcome::Right, "node n1");
        check(ForecastKind::OtherPods, affected("Pod", "a", "web-9", "u1"), Outcome::NotObservable, "not there");
        check(ForecastKind::PodsReturn, affected("Pod", "a", "web-0", "u1"), Outcome::Right, "uid of the backup");
        check(ForecastKind::PodsOrphaned, affected("Pod", "a", "web-9", "u1"), Outcome::NotObservable, "controller");
    }

    #[test]
    fn nodes_and_api_servers_are_there_or_not() {
        check(ForecastKind::NodesGone, affected("Node", "", "n1", "u4"), Outcome::Right, "Ready is Unknown");
        check(ForecastKind::NodesGone, affected("Node", "", "n2", "u5"), Outcome::Wrong, "not there");
        check(ForecastKind::NodesUnknown, affected("Node", "", "n2", "u5"), Outcome::Right, "not there");
        check(ForecastKind::NodesUnknown, affected("Node", "", "n1", "u4"), Outcome::Wrong, "same uid");
        check(ForecastKind::ApiServers, affected("masterleases", "", "10.0.0.1", ""), Outcome::Right, "it is there");
        check(ForecastKind::ApiServers, affected("masterleases", "", "10.0.0.2", ""), Outcome::NotObservable, "it is gone");
        check(ForecastKind::ApiServers, affected("endpoints", "", "10.0.0.3", ""), Outcome::Right, "still has its address");
    }

    #[test]
    fn a_job_that_ran_again_has_a_newer_pod() {
        check(ForecastKind::JobsAgain, affected("Job", "a", "once", "j"), Outcome::Right, "pod/a/once-x");
        check(ForecastKind::JobsAgain, affected("Job", "a", "back", "k"), Outcome::Right, "pod/a/back-x");
        check(ForecastKind::JobsAgain, affected("Job", "a", "other", "k"), Outcome::Wrong, "not there");
    }

    #[test]
    fn watchers_see_the_revision_and_others_say_why_not() {
        // The live cluster is at revision 9.
        assert_eq!(scores(vec![(ForecastKind::Watchers, Vec::new())])[0].0, Outcome::Right);
        assert_eq!(score::watchers(Revision(4), Revision(5)).0, Outcome::Wrong);
        for kind in ForecastKind::ALL {
            let affected = affected("Secret", "a", "b", "u");
            let evidence = scores(vec![(kind, vec![affected])]).remove(0).1;
            assert!(!evidence.is_empty() && !evidence.ends_with('.'), "{kind:?}: {evidence}");
        }
    }
}
