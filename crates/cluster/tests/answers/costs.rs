//! What questions about one object read of a live etcd: its keys and no others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use ketcd_cluster::{Cluster, Options, ReleaseChoice, files};
use ketcd_store::load::Limits;
use ketcd_store::{
    At, Facts, KeyRange, Listing, LiveEtcd, MemberHashes, NoShortcuts, Result, Revision, RevisionSpan, Source, SourceStatus, Until, Want,
    WatchItem,
};

/// How often each range was read.
type Reads = BTreeMap<String, usize>;

/// A file that notes what is read of it, and costs as a live etcd does.
struct Noted {
    file: Box<dyn Source>,
    reads: Arc<Mutex<Reads>>,
}

impl Source for Noted {
    fn facts(&self) -> Facts<'_> {
        Facts { before: None, live: Some(self), ..self.file.facts() }
    }

    fn status(&self) -> BoxFuture<'_, Result<SourceStatus>> {
        self.file.status()
    }

    fn span(&self) -> BoxFuture<'_, Result<RevisionSpan>> {
        self.file.span()
    }

    fn range(&self, keys: KeyRange, at: At, want: Want) -> BoxFuture<'_, Result<Listing<'_>>> {
        *self.reads.lock().unwrap().entry(String::from_utf8_lossy(&keys.start).into_owned()).or_default() += 1;
        self.file.range(keys, at, want)
    }

    fn watch(&self, keys: KeyRange, _: Revision, _: Until) -> BoxStream<'_, Result<WatchItem>> {
        panic!("{} is watched, which reads the history of all keys", String::from_utf8_lossy(&keys.start));
    }
}

impl NoShortcuts for Noted {}

impl LiveEtcd for Noted {
    fn member(&self) -> Option<String> {
        None
    }

    fn latest_delay(&self, _: Revision) -> Option<Duration> {
        None
    }

    fn hashes<'s>(&'s self, _: &'s SourceStatus) -> BoxFuture<'s, Option<MemberHashes>> {
        Box::pin(std::future::ready(None))
    }

    fn bounded_watch_reads(&self, keys: KeyRange) -> BoxFuture<'_, Result<KeyRange>> {
        Box::pin(std::future::ready(Ok(keys)))
    }

    /// As if its history were too long to be watched.
    fn serves_watches(&self) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(false))
    }

    fn will_read(&self, _: &KeyRange) {}
}

/// Runs `work` on the recorded cluster and returns what it read; where revisions `are_dated` already, without what dates them.
fn reads(are_dated: bool, work: impl AsyncFnOnce(&Cluster)) -> Reads {
    let file = ketcd_testing::testdata::path("captures/k136-story/snapshot.db.zst").to_str().unwrap().to_owned();
    let options = Options { prefix: Some("/registry".to_owned()), release: ReleaseChoice::Any, ..Options::default() };
    let reads = Arc::new(Mutex::new(Reads::new()));
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let file = files::open(&[file], &Limits::default()).unwrap().source;
        let cluster = Cluster::open(Box::new(Noted { file, reads: Arc::clone(&reads) }), options).await.unwrap();
        if are_dated {
            cluster.clock().await.unwrap();
            reads.lock().unwrap().clear();
        }
        work(&cluster).await;
    });
    Arc::into_inner(reads).unwrap().into_inner().unwrap()
}

#[track_caller]
fn check(reads: &Reads, wanted: &[&str]) {
    let found: Vec<&str> = reads.keys().map(String::as_str).collect();
    let wanted: Vec<String> = wanted.iter().map(|key| format!("/registry/{key}")).collect();
    assert_eq!(found, wanted);
}

const POD: &str = "pod/web/tomcat-c45c67fc-hb8fl";

#[test]
fn a_description_costs_the_keys_that_it_shows_and_two_that_date_them() {
    let describes = |address: &'static str| {
        reads(true, async move |cluster| {
            let mut asked = cluster.subjects(&[address.to_owned()]).await.unwrap();
            let description = cluster.describe(asked.objects.remove(0), None, asked.at, true).await.unwrap();
            assert!(!description.events.is_empty() && description.changes.len() > 3, "{address}");
        })
    };
    let pod = describes(POD);
    check(
        &pod,
        &[
            "deployments/web/tomcat",
            "events/web/tomcat-c45c67fc-hb8fl.",
            "leases/kube-system/kube-controller-manager",
            "leases/kube-system/kube-scheduler",
            "pods/web/tomcat-c45c67fc-hb8fl",
            "replicasets/web/tomcat-c45c67fc",
        ],
    );
    let (dating, shown): (Vec<_>, Vec<_>) = pod.iter().partition(|(key, _)| key.contains("/leases/"));
    let sum = |reads: Vec<(&String, &usize)>| reads.into_iter().map(|(_, count)| count).sum::<usize>();
    assert!(sum(shown) <= 1 + 1 + 2 + 10 && (1..=10 * 2 * 4).contains(&sum(dating)), "{pod:?}");
    let node =
        ["events/default/node2.", "leases/kube-system/kube-controller-manager", "leases/kube-system/kube-scheduler", "minions/node2"];
    check(&describes("node/node2"), &node);
}

#[test]
fn a_tree_costs_the_kinds_that_are_owned() {
    let trees = |address: &'static str| {
        reads(false, async move |cluster| {
            let asked = cluster.subjects(&[address.to_owned()]).await.unwrap();
            cluster.tree(asked.objects, asked.at).await.unwrap();
        })
    };
    check(&trees("deploy/web/tomcat"), &["deployments/web/tomcat", "pods/web/", "replicasets/web/"]);
    let pod = [
        "deployments/web/tomcat",
        "persistentvolumeclaims/web/",
        "pods/web/tomcat-c45c67fc-hb8fl",
        "replicasets/web/tomcat-c45c67fc",
        "resourceclaims/web/",
    ];
    check(&trees(POD), &pod);
}
