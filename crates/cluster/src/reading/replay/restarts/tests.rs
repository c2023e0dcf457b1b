//! Takeovers in small histories, and what is said where they cannot be known.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use futures_util::stream::BoxStream;
use serde_json::{Value, json};

use ketcd_scheduler::{Agreement, LeaderLock};
use ketcd_store::load::{self, Limits};
use ketcd_store::{EarlierRevisions, Facts, Listing, NoShortcuts, RevisionSpan, Source, SourceStatus, Until, WatchItem};
use ketcd_testing::testdata;
use ketcd_testing::written::Written;

use super::super::feed::ConfiguredLock;
use super::*;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::files;
use crate::notice::{Notice, Notices};
use crate::options::Options;
use crate::replay::SchedulerOptions;

/// A history of locks.
#[derive(Default)]
struct History(Written, i64);

impl History {
    fn put(&mut self, path: &str, object: &Value) -> i64 {
        self.0.put(&format!("/registry/{path}"), object.to_string());
        self.1 += 1;
        self.1 + 1
    }

    /// Writes a Lease; returns the revision.
    fn lease(&mut self, name: &str, manager: &str, holder: &str, transitions: i64) -> i64 {
        let (namespace, own) = name.split_once('/').unwrap();
        let metadata = json!({"namespace": namespace, "name": own, "managedFields": [{"manager": manager, "operation": "Update"}]});
        let spec = json!({"holderIdentity": holder, "leaseTransitions": transitions});
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec});
        self.put(&format!("leases/{name}"), &lease)
    }

    /// Writes the Event that announces a leader.
    fn announce(&mut self, name: &str, component: &str) {
        let event =
            json!({"apiVersion": "v1", "kind": "Event", "metadata": {}, "reason": "LeaderElection", "source": {"component": component}});
        self.put(&format!("events/{name}.17"), &event);
    }

    /// Writes something else, as often.
    fn fill(&mut self, times: i64) {
        for time in 0..times {
            self.put(
                "configmaps/a/b",
                &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"a": time.to_string()}}),
            );
        }
    }

    /// The takeovers after its first revision, each with the schedulers for certain, and the notices.
    async fn found(&self, fault: Fault, configured: Option<ConfiguredLock>) -> (Vec<(i64, Vec<String>)>, Vec<RestartsUnknown>) {
        let (found, notices) = self.restarts(fault, configured).await;
        let takeovers = found.takeovers.into_iter();
        (takeovers.map(|takeover| (takeover.revision, takeover.schedulers.certain.into_iter().collect())).collect(), notices)
    }

    /// What is known after its first revision, and the notices.
    async fn restarts(&self, fault: Fault, configured: Option<ConfiguredLock>) -> (Restarts, Vec<RestartsUnknown>) {
        let file = load::open_bytes("store.db", self.0.finish().into(), &Limits::default(), &|_| None).unwrap();
        let kept = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&kept);
        let notices = Notices::new(move |notice| {
            if let Notice::RestartsUnknown(unknown) = notice {
                taken.lock().unwrap().push(unknown.clone());
            }
        });
        let source: Box<dyn Source> = Box::new(Faulty { file, fault });
        let cluster = Cluster::open(source, Options { notices, prefix: Some("/registry".to_owned()), ..Options::default() }).await.unwrap();
        let mut feed = Feed::new(&cluster).await.unwrap();
        feed.configured = configured;
        let found = feed.restarts(Revision(2), Revision(self.1 + 1)).await.unwrap();
        let notices = kept.lock().unwrap().clone();
        (found, notices)
    }
}

/// What a source cannot do.
enum Fault {
    None,
    /// Leases may not be read.
    Denied,
    /// These revisions are between two sources, without the ends.
    Between(i64, i64),
    /// This revision was compacted meanwhile, and all before it.
    Compacted(i64),
}

struct Faulty {
    file: Box<dyn Source>,
    fault: Fault,
}

impl Faulty {
    fn error(&self, keys: &KeyRange, at: At) -> Option<StoreError> {
        let At::Revision(asked) = at else { return None };
        match self.fault {
            Fault::Denied if keys.start.starts_with(b"/registry/leases/") => {
                Some(StoreError::Denied { keys: keys.clone(), problem: "permission denied".to_owned(), hint: String::new() })
            }
            Fault::Between(before, after) if asked.0 > before && asked.0 < after => Some(StoreError::Between {
                asked,
                before: Revision(before),
                ends: "a".to_owned(),
                after: Revision(after),
                begins: "b".to_owned(),
            }),
            Fault::Compacted(oldest) if asked.0 > 2 && asked.0 < oldest => {
                Some(StoreError::Compacted { asked, oldest: Revision(oldest), earlier: EarlierRevisions::Compacted })
            }
            _ => None,
        }
    }
}

impl Source for Faulty {
    fn facts(&self) -> Facts<'_> {
        self.file.facts()
    }

    fn status(&self) -> BoxFuture<'_, ketcd_store::Result<SourceStatus>> {
        self.file.status()
    }

    fn span(&self) -> BoxFuture<'_, ketcd_store::Result<RevisionSpan>> {
        self.file.span()
    }

    fn range(&self, keys: KeyRange, at: At, want: Want) -> BoxFuture<'_, ketcd_store::Result<Listing<'_>>> {
        match self.error(&keys, at) {
            Some(error) => ready(Err(error)).boxed(),
            None => self.file.range(keys, at, want),
        }
    }

    fn watch(&self, keys: KeyRange, from: Revision, until: Until) -> BoxStream<'_, ketcd_store::Result<WatchItem>> {
        self.file.watch(keys, from, until)
    }
}

impl NoShortcuts for Faulty {}

/// A lock that is taken by a second process after the first released it, and the revision.
fn taken(name: &str, manager: &str) -> (History, i64) {
    let mut history = History::default();
    history.fill(1);
    history.lease(name, manager, "a_1", 0);
    history.fill(40);
    history.lease(name, manager, "a_1", 0);
    history.lease(name, manager, "", 0);
    history.fill(3);
    let revision = history.lease(name, manager, "b_2", 1);
    history.fill(20);
    history.lease(name, manager, "b_2", 1);
    (history, revision)
}

#[tokio::test]
async fn a_lock_that_another_process_takes_is_found_at_its_revision() {
    let (history, revision) = taken("kube-system/kube-scheduler", "kube-scheduler");
    assert_eq!(history.found(Fault::None, None).await, (vec![(revision, vec!["default-scheduler".to_owned()])], vec![]));
}

#[tokio::test]
async fn the_schedulers_that_hold_locks_are_known_where_locks_can_be_read() {
    let locked = async |history: &History, fault| {
        let (found, _) = history.restarts(fault, None).await;
        found.locked.map(|locked| locked.into_iter().flat_map(|of| of.certain).collect::<Vec<_>>())
    };
    let (history, _) = taken("kube-system/kube-scheduler", "kube-scheduler");
    assert_eq!(locked(&history, Fault::None).await, Some(vec!["default-scheduler".to_owned()]));
    assert_eq!(locked(&history, Fault::Denied).await, None);
    let mut without = History::default();
    without.fill(9);
    assert_eq!(locked(&without, Fault::None).await, Some(Vec::new()), "no scheduler is elected");
}

#[tokio::test]
async fn each_of_many_takeovers_is_found() {
    let mut history = History::default();
    history.fill(1);
    let mut expected = Vec::new();
    for process in 0..9_i64 {
        let revision = history.lease("kube-system/kube-scheduler", "kube-scheduler", &format!("a_{process}"), process);
        expected.extend((process > 0).then_some(revision));
        history.fill(7 * process);
    }
    let (found, notices) = history.found(Fault::None, None).await;
    assert_eq!((found.into_iter().map(|(revision, _)| revision).collect::<Vec<_>>(), notices), (expected, vec![]));
}

#[tokio::test]
async fn a_lock_of_another_name_is_a_schedulers_by_who_writes_it() {
    let (mut history, revision) = taken("ops/leader", "my-scheduler");
    assert_eq!(history.found(Fault::None, None).await, (vec![(revision, vec![])], vec![]), "whose pods it schedules is not known");
    history.announce("ops/leader", "second");
    assert_eq!(history.found(Fault::None, None).await, (vec![(revision, vec!["second".to_owned()])], vec![]));
    for other in ["kube-controller-manager", "descheduler"] {
        assert_eq!(taken("ops/leader", other).0.found(Fault::None, None).await, (vec![], vec![]), "{other}");
    }
}

#[tokio::test]
async fn a_configuration_names_the_lock_and_all_profiles() {
    let (history, revision) = taken("ops/leader", "binary");
    let configured = |name: &str| {
        let lock = LeaderLock { namespace: "ops".to_owned(), name: name.to_owned() };
        Some(ConfiguredLock { lock: Some(lock), profiles: ["a", "b"].map(str::to_owned).into() })
    };
    let found = history.found(Fault::None, configured("leader")).await;
    assert_eq!(found, (vec![(revision, vec!["a".to_owned(), "b".to_owned()])], vec![]));
    assert_eq!(history.found(Fault::None, configured("other")).await, (vec![], vec![]));
}

#[tokio::test]
async fn the_annotation_of_old_releases_is_a_lock_too() {
    let mut history = History::default();
    history.fill(1);
    let mut hold = |holder: &str, transitions: i64| {
        let record = json!({"holderIdentity": holder, "leaderTransitions": transitions}).to_string();
        let metadata = json!({"name": "kube-scheduler", "namespace": "kube-system", "annotations": {"control-plane.alpha.kubernetes.io/leader": record}});
        history
            .put("services/endpoints/kube-system/kube-scheduler", &json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata}))
    };
    hold("a_1", 0);
    hold("a_1", 0);
    let revision = hold("b_2", 1);
    assert_eq!(history.found(Fault::None, None).await, (vec![(revision, vec!["default-scheduler".to_owned()])], vec![]));
}

#[tokio::test]
async fn the_same_process_that_writes_its_lock_anew_is_no_takeover() {
    let mut history = History::default();
    history.fill(1);
    history.lease("kube-system/kube-scheduler", "kube-scheduler", "a_1", 3);
    history.0.delete("/registry/leases/kube-system/kube-scheduler");
    history.1 += 1;
    history.lease("kube-system/kube-scheduler", "kube-scheduler", "a_1", 0);
    assert_eq!(history.found(Fault::None, None).await, (vec![], vec![]));
}

#[tokio::test]
async fn a_lock_that_may_not_be_read_is_reported() {
    let (history, _) = taken("kube-system/kube-scheduler", "kube-scheduler");
    let (found, notices) = history.found(Fault::Denied, None).await;
    assert_eq!((found, notices), (vec![], vec![RestartsUnknown::Denied { lock: "kube-system/kube-scheduler".to_owned() }]));
}

#[tokio::test]
async fn a_takeover_between_two_sources_counts_from_the_second_on() {
    let (history, revision) = taken("kube-system/kube-scheduler", "kube-scheduler");
    let (found, notices) = history.found(Fault::Between(revision - 9, revision + 5), None).await;
    assert_eq!((found, notices), (vec![(revision + 5, vec!["default-scheduler".to_owned()])], vec![]));
}

#[tokio::test]
async fn revisions_that_were_compacted_meanwhile_are_reported() {
    let (history, revision) = taken("kube-system/kube-scheduler", "kube-scheduler");
    let (found, notices) = history.found(Fault::Compacted(revision + 1), None).await;
    let unread = |from: i64, to: i64| RestartsUnknown::Unread {
        lock: "kube-system/kube-scheduler".to_owned(),
        from: Revision(from),
        to: Revision(to),
    };
    assert_eq!((found, notices), (vec![], vec![unread(3, history.1 + 1)]));
}

/// The takeovers of a recorded cluster whose scheduler was killed twice while pods waited.
const RECORDED_TAKEOVERS: [i64; 2] = [923, 1356];

async fn recorded() -> Cluster {
    let file = testdata::path("captures/k136-restart/snapshot.db.zst").to_str().unwrap().to_owned();
    Cluster::open(files::open(&[file], &Limits::default()).unwrap().source, Options::default()).await.unwrap()
}

#[tokio::test]
async fn the_takeovers_of_a_recorded_cluster_are_found() {
    let cluster = recorded().await;
    let span = cluster.source.span().await.unwrap();
    let found = Feed::new(&cluster).await.unwrap().restarts(span.oldest, span.newest).await.unwrap().takeovers;
    assert_eq!(found.iter().map(|takeover| takeover.revision).collect::<Vec<_>>(), RECORDED_TAKEOVERS);
    assert!(found.iter().all(|takeover| takeover.schedulers.certain.contains("default-scheduler")));
}

#[tokio::test]
async fn a_new_process_counts_no_pod_that_the_one_before_had_assumed() {
    let cluster = recorded().await;
    let mut decisions = cluster.explainer(&SchedulerOptions::default()).await.unwrap().decisions();
    let mut after = [0; 2];
    let each = decisions.each(|decision| {
        let explanation = decision.explain().explanation;
        assert_ne!(explanation.agreement, Agreement::Disagrees, "{}", explanation.attempt.pod.full_name());
        for (decided, takeover) in
            after.iter_mut().zip(RECORDED_TAKEOVERS).filter(|(_, takeover)| explanation.evaluated_revision >= *takeover)
        {
            *decided += 1;
            assert!(explanation.assumed.iter().all(|pod| pod.written > takeover), "{:?}", explanation.assumed);
        }
        Ok::<(), Error>(())
    });
    each.await.unwrap();
    assert!(after[0] > 60 && after[1] > 10 && after[0] > after[1], "{after:?}");
}
