//! How fast the state is built and pods are evaluated. `tools/bench explain`; BENCHMARKS.md has the figures.
//! `KETCD_SCALE_CAPTURE=FILE` measures a large cluster's file in the same ways.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::StreamExt;
use ketcd_kube::Decoder;
use ketcd_scheduler::cluster::{ClusterState, ObjectKey, ObjectReader, RawObject, prefetch};
use ketcd_scheduler::{Attempt, Cycle, Gates, NEWEST_SCHEDULER, Profile, Replay, Scheduler, VersionEvidence, VersionFrom};
use ketcd_store::{Event, EventKind, KeyRange, Revision, Until, WatchItem};
use ketcd_testing::testdata;
use serde_json::json;

fn scheduler() -> Scheduler {
    let release = NEWEST_SCHEDULER;
    Scheduler {
        profiles: vec![Profile::new(release, Gates::new(release))],
        version: VersionFrom { release, patch: None, evidence: VersionEvidence::Given },
        recorded: release,
        configured: false,
    }
}

/// The changes of a file that a scheduler watches.
fn events(file: &str) -> Vec<(ObjectKey, Event)> {
    let source = ketcd_store::load::open(&[file.to_owned()], &|_| None).unwrap();
    let events = source.watch(KeyRange::prefix("/registry/"), Revision(1), Until::Forever).filter_map(async |item| {
        let WatchItem::Event(event) = item.unwrap() else { return None };
        let path = std::str::from_utf8(&event.key_value.key).unwrap().strip_prefix("/registry/")?;
        Some((ObjectKey::parse(path)?, event))
    });
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(events.collect())
}

/// Walks a history as the command does: the next versions are read while the last are applied. Attempts are explained if `explained` returns true for their number.
fn walk(events: &[(ObjectKey, Event)], reader: &ObjectReader, explained: impl Fn(usize) -> bool) -> (Replay, Vec<Attempt>) {
    let mut replay = Replay::new(scheduler(), true);
    let mut attempts: Vec<Attempt> = Vec::new();
    let taken: Result<(), std::convert::Infallible> = prefetch(
        events,
        |(key, event)| {
            let (name, value) = (&event.key_value.key, &event.key_value.value);
            let stored =
                (event.kind == EventKind::Put).then_some(RawObject::Stored { reader, key: name, value, mod_revision: event.revision.0 });
            Some((key, stored.map(|stored| stored.parsed(key.kind)), event.revision.0))
        },
        |(key, stored, revision)| {
            for attempt in replay.advance(key, stored, revision) {
                if explained(attempts.len()) {
                    black_box(replay.explain(attempt.clone()));
                } else {
                    replay.skip(&attempt);
                }
                attempts.push(attempt);
            }
            Ok(())
        },
    );
    taken.unwrap();
    (replay, attempts)
}

/// A file's state, its attempts explained, and pods evaluated, each apart.
fn measure(criterion: &mut Criterion, name: &str, file: &str) {
    let decoder = Decoder::new();
    let reader = ObjectReader::new(&decoder);
    let events = events(file);
    let (replay, attempts) = walk(&events, &reader, |_| false);
    let profile = &replay.scheduler().profiles[0];
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10);
    group.bench_function("the state of the whole history", |bencher| bencher.iter(|| walk(&events, &reader, |_| false)));
    let last = attempts.len() - 1;
    group.bench_function("the state, and its last attempt explained", |bencher| bencher.iter(|| walk(&events, &reader, |at| at == last)));
    let title = format!("the state, and all {} attempts explained", attempts.len());
    group.bench_function(title, |bencher| bencher.iter(|| walk(&events, &reader, |_| true)));
    let evaluated = |attempt: &Attempt| black_box(Cycle::new(&attempt.pod, replay.state(), profile).evaluate());
    let title = format!("the last pod evaluated on {} nodes, {} pods", replay.state().node_count(), replay.state().pods().count());
    group.bench_function(title, |bencher| bencher.iter(|| evaluated(&attempts[last])));
    let title = format!("all {} pods evaluated there", attempts.len());
    group.bench_function(title, |bencher| {
        bencher.iter(|| {
            attempts.iter().for_each(|attempt| {
                evaluated(attempt);
            })
        })
    });
    group.finish();
}

fn explain(criterion: &mut Criterion) {
    let file = testdata::path("captures/k136-random/snapshot.db.zst");
    measure(criterion, "k136-random", file.to_str().unwrap());
    if let Ok(file) = std::env::var("KETCD_SCALE_CAPTURE") {
        measure(criterion, "large cluster", &file);
    }
}

/// A pod that wants two of a node's eight devices, on a cluster of this many nodes, two hundred devices of which are taken.
fn with_devices(nodes: usize) -> (ClusterState, Profile) {
    const GPU_DRIVER: &str = "gpu.example.com";
    let profile = Profile::new(NEWEST_SCHEDULER, Gates::new(NEWEST_SCHEDULER));
    let mut state = ClusterState::new(profile.rules.requests);
    let mut add = |path: String, object: serde_json::Value| {
        let key = ObjectKey::parse(&path).unwrap();
        state.apply(&key, Some(&serde_json::to_vec(&object).unwrap()), 1);
    };
    let driver = json!({"cel": {"expression": format!("device.driver == \"{GPU_DRIVER}\"")}});
    let class =
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"selectors": [driver]}});
    add("deviceclasses/gpu".to_owned(), class);
    let roomy = json!({"cel": {"expression": format!("device.capacity[\"{GPU_DRIVER}\"].memory.compareTo(quantity(\"10Gi\")) >= 0")}});
    let claim = |name: &str, count: usize, had: Option<(String, usize)>| {
        let request = json!({"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, "selectors": [roomy]}});
        let result = |(pool, device)| json!({"request": "r", "driver": GPU_DRIVER, "pool": pool, "device": format!("d{device}")});
        let allocation = had.map(|had| json!({"devices": {"results": [result(had)]}}));
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name, "namespace": "a"},
            "spec": {"devices": {"requests": [request], "constraints": [{"matchAttribute": format!("{GPU_DRIVER}/numa")}]}},
            "status": {"allocation": allocation}})
    };
    for at in 0..nodes {
        let name = format!("n{at}");
        let metadata = json!({"name": name, "labels": {"kubernetes.io/hostname": name}});
        let allocatable = json!({"cpu": "64", "memory": "256Gi", "pods": "110"});
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}});
        add(format!("minions/{name}"), node);
        let device = |number: usize| json!({"name": format!("d{number}"), "attributes": {"numa": {"int": number / 4}}, "capacity": {"memory": {"value": "40Gi"}}});
        let pool = json!({"name": name, "generation": 1, "resourceSliceCount": 1});
        let spec = json!({"driver": GPU_DRIVER, "nodeName": name, "pool": pool, "devices": (0..8).map(device).collect::<Vec<_>>()});
        let slice = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec});
        add(format!("resourceslices/{name}"), slice);
    }
    for at in 0..200 {
        add(format!("resourceclaims/a/had{at}"), claim(&format!("had{at}"), 1, Some((format!("n{}", at % nodes), at / nodes))));
    }
    add("resourceclaims/a/wanted".to_owned(), claim("wanted", 2, None));
    let spec = json!({"containers": [{"name": "c"}], "resourceClaims": [{"name": "gpu", "resourceClaimName": "wanted"}]});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a", "uid": "p"}, "spec": spec});
    add("pods/a/p".to_owned(), pod);
    (state, profile)
}

fn devices(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("devices");
    group.sample_size(10);
    for nodes in [1000, 5000] {
        let (state, profile) = with_devices(nodes);
        let pod = state.pod("a", "p").unwrap().clone();
        let evaluated = || Cycle::new(&pod, &state, &profile).evaluate();
        assert!(evaluated().nodes.iter().all(|node| node.fits()), "every node has devices left");
        group.bench_function(format!("a pod with a claim evaluated on {nodes} nodes of 8 devices"), |bencher| {
            bencher.iter(|| black_box(evaluated()))
        });
    }
    group.finish();
}

criterion_group!(benches, explain, devices);
criterion_main!(benches);
