//! What questions read of a live etcd: about one object its keys and no others; of a short history everything, once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamExt, TryStreamExt};

use ketcd_cluster::replay::SchedulerOptions;
use ketcd_cluster::{Cluster, Options, ReleaseChoice, files};
use ketcd_store::load::Limits;
use ketcd_store::{
    At, Facts, KeyRange, Listing, LiveEtcd, MemberHashes, NoShortcuts, Result, Revision, RevisionSpan, Source, SourceStatus, Until, Want,
    WatchItem,
};

/// How often each range was read.
type Reads = BTreeMap<String, usize>;

/// What was read.
#[derive(Default)]
struct Costs {
    reads: Reads,
    watches: usize,
    bytes: usize,
}

/// A file that notes what is read of it, and costs as a live etcd does.
struct Noted {
    file: Box<dyn Source>,
    costs: Arc<Mutex<Costs>>,
    /// Whether its history is short enough to be watched.
    is_short: bool,
}

impl Noted {
    /// Counts the bytes of what comes.
    fn counted<'a, T: 'a>(&'a self, items: BoxStream<'a, Result<T>>, bytes: impl Fn(&T) -> usize + Send + 'a) -> BoxStream<'a, Result<T>> {
        items.inspect_ok(move |item| self.costs.lock().unwrap().bytes += bytes(item)).boxed()
    }
}

impl Source for Noted {
    fn facts(&self) -> Facts<'_> {
        Facts { before: None, late_damage: None, live: Some(self), ..self.file.facts() }
    }

    fn status(&self) -> BoxFuture<'_, Result<SourceStatus>> {
        self.file.status()
    }

    fn span(&self) -> BoxFuture<'_, Result<RevisionSpan>> {
        self.file.span()
    }

    fn range(&self, keys: KeyRange, at: At, want: Want) -> BoxFuture<'_, Result<Listing<'_>>> {
        *self.costs.lock().unwrap().reads.entry(String::from_utf8_lossy(&keys.start).into_owned()).or_default() += 1;
        Box::pin(async move {
            let listing = self.file.range(keys, at, want).await?;
            Ok(Listing { entries: self.counted(listing.entries, |entry| entry.value.len()), ..listing })
        })
    }

    fn watch(&self, keys: KeyRange, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        let key = String::from_utf8_lossy(&keys.start).into_owned();
        assert!(self.is_short, "{key} is watched, which reads the history of all keys");
        self.costs.lock().unwrap().watches += 1;
        let bytes = |item: &WatchItem| if let WatchItem::Event(event) = item { event.key_value.value.len() } else { 0 };
        self.counted(self.file.watch(keys, from, until), bytes)
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

    /// No: as if its history were too long to be watched.
    fn serves_watches(&self) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(self.is_short))
    }

    fn will_read(&self, _: &KeyRange) {}
}

/// Runs `work` on the recorded cluster and returns what it read; where revisions `are_dated` already, without what dates them.
fn reads(are_dated: bool, work: impl AsyncFnOnce(&Cluster)) -> Reads {
    costs(false, are_dated, work).reads
}

fn costs(is_short: bool, are_dated: bool, work: impl AsyncFnOnce(&Cluster)) -> Costs {
    let file = ketcd_testing::testdata::path("captures/k136-story/snapshot.db.zst").to_str().unwrap().to_owned();
    let options = Options { prefix: Some("/registry".to_owned()), release: ReleaseChoice::Any, ..Options::default() };
    let costs = Arc::new(Mutex::new(Costs::default()));
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let file = files::open(&[file], &Limits::default()).unwrap().source;
        let cluster = Cluster::open(Box::new(Noted { file, costs: Arc::clone(&costs), is_short }), options).await.unwrap();
        if are_dated {
            cluster.clock().await.unwrap();
            *costs.lock().unwrap() = Costs::default();
        }
        work(&cluster).await;
    });
    Arc::into_inner(costs).unwrap().into_inner().unwrap()
}

#[track_caller]
fn check(reads: &Reads, wanted: &[&str]) {
    let found: Vec<&str> = reads.keys().map(String::as_str).collect();
    let wanted: Vec<String> = wanted.iter().map(|key| format!("/registry/{key}")).collect();
    assert_eq!(found, wanted);
}

const STORY_POD: &str = "pod/web/tomcat-c45c67fc-hb8fl";

#[test]
fn a_description_costs_the_keys_that_it_shows_and_two_that_date_them() {
    let describes = |address: &'static str| {
        reads(true, async move |cluster| {
            let mut asked = cluster.subjects(&[address.to_owned()]).await.unwrap();
            let description = cluster.describe(asked.objects.remove(0), None, asked.at, true).await.unwrap();
            assert!(!description.events.is_empty() && description.changes.len() > 3, "{address}");
        })
    };
    let pod = describes(STORY_POD);
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
    check(&trees(STORY_POD), &pod);
}

#[test]
fn a_short_history_is_read_once() {
    let pass = costs(true, false, async |cluster| assert!(cluster.clock().await.unwrap().newest().is_some()));
    let check = |question: &str, costs: Costs| {
        assert_eq!(costs.watches, 1, "{question}");
        assert_eq!(costs.bytes, pass.bytes, "{question}");
        assert!(costs.reads.is_empty(), "{question}: {:?}", costs.reads);
    };
    let explained = costs(true, false, async |cluster| {
        let mut explainer = cluster.explainer(&SchedulerOptions::default()).await.unwrap().with_remedies(true);
        assert!(explainer.pod("web", "tomcat-c45c67fc-hb8fl").await.unwrap().explanation.judgement.nodes.len() > 1);
    });
    check("explain", explained);
    let told = costs(true, false, async |cluster| {
        let asked = cluster.asked(&[STORY_POD.to_owned()], false).await.unwrap();
        assert!(!cluster.timeline(&asked).await.unwrap().timelines.is_empty());
    });
    check("timeline", told);
    check("triage", costs(true, false, async |cluster| assert!(!cluster.triage().await.unwrap().findings.is_empty())));
}
