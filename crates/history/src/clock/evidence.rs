//! Evidence for the clock: which timestamps in an object say when this revision of it was written, and whose clock they are of.

use std::collections::HashMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::Value;

use super::stamp::{API_SERVER_WRITER, MICROS_PER_SECOND, Micros, Stamp, StampKind, WriterId};
use super::{Clock, build};
use ketcd_kube::FieldSet;
use ketcd_store::{Arrival, Revision};

/// The fields of objects that hold stamps, or name their writers.
static LOOKED_AT: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of([
        "kind",
        "metadata.name",
        "metadata.namespace",
        "metadata.creationTimestamp",
        "metadata.deletionTimestamp",
        "metadata.deletionGracePeriodSeconds",
        "metadata.managedFields.time",
        "metadata.annotations",
        "spec.nodeName",
        "spec.taints.key",
        "spec.taints.timeAdded",
        "spec.renewTime",
        "spec.holderIdentity",
        "spec.leaseDurationSeconds",
        "status.startTime",
        "status.conditions.type",
        "status.conditions.reason",
        "status.conditions.lastTransitionTime",
        "status.conditions.lastHeartbeatTime",
        "status.containerStatuses.state",
        "status.initContainerStatuses.state",
        "eventTime",
        "lastTimestamp",
        "series.lastObservedTime",
        "source",
        "reportingComponent",
    ])
});

/// How much later than the API server's own stamp a write may be committed; measured 3 ms at most on a quiet cluster.
const SERVER_LAG: Micros = MICROS_PER_SECOND / 20;
/// How much later than a client's stamp its write may be committed; measured 15 ms at the 99th percentile, 240 ms at most.
const CLIENT_LAG: Micros = MICROS_PER_SECOND * 3 / 10;

/// The newest stamps already seen in a key, so that only new ones count.
#[derive(Clone, Copy, Debug)]
struct Seen {
    server: Micros,
    client: Micros,
    /// The node lifecycle controller's, and how many times of a node are that one.
    controller: (Micros, usize),
    deleting: bool,
    bound: bool,
}

impl Seen {
    const NO_EVIDENCE: Self =
        Self { server: Micros::MIN, client: Micros::MIN, controller: (Micros::MIN, 0), deleting: false, bound: false };
}

/// Collects stamps from changes, in order of revisions.
#[derive(Debug)]
pub struct StampCollector {
    pub(super) stamps: Vec<Stamp>,
    names: Vec<String>,
    writers: HashMap<String, WriterId>,
    /// Who renewed the lock of kube-controller-manager last.
    controllers: Option<WriterId>,
    seen: HashMap<Box<[u8]>, Seen>,
    /// The newest time of the API server so far.
    newest: Micros,
    /// When revisions arrived at a recorder.
    arrivals: Vec<Arrival>,
}

impl Default for StampCollector {
    fn default() -> Self {
        let names = vec!["API server".to_owned()];
        Self {
            stamps: Vec::new(),
            names,
            writers: HashMap::new(),
            controllers: None,
            seen: HashMap::new(),
            newest: Micros::MIN,
            arrivals: Vec::new(),
        }
    }
}

impl StampCollector {
    /// The members that objects need to have to be observed.
    pub fn looked_at() -> &'static FieldSet {
        &LOOKED_AT
    }

    /// Takes note of one change: the object after it (`None` for a deletion or an opaque value) and whether it created the key.
    /// Changes come in ascending order of revisions.
    pub fn observe(&mut self, revision: Revision, key: &[u8], created: bool, object: Option<&Value>) {
        let Some(object) = object else {
            self.seen.remove(key);
            return;
        };
        let known = if created { None } else { self.seen.get(key).copied() };
        let mut seen = known.unwrap_or(Seen::NO_EVIDENCE);
        // The first version seen of an older object holds old stamps: they bound from below only, and whose they are does not matter.
        let fresh = created || known.is_some();
        self.server_stamps(revision.0, object, created, fresh, &mut seen);
        self.client_stamps(revision.0, object, created, fresh, &mut seen);
        if object["kind"] == "Node" {
            self.controller_stamp(revision.0, object, known.is_some(), &mut seen);
        }
        self.seen.insert(key.into(), seen);
    }

    /// Takes note that `key` was created by the change of this revision at this time, which later versions still say.
    pub fn observe_creation(&mut self, revision: Revision, created: Timestamp) {
        let kind = StampKind::Now { lag: SERVER_LAG };
        self.stamps.push(Stamp {
            revision: revision.0,
            at: created.as_microsecond(),
            unit: MICROS_PER_SECOND,
            writer: API_SERVER_WRITER,
            kind,
        });
    }

    /// Takes note of when revisions arrived at a recorder: they were committed before, and not longer before than it says. In any order.
    pub fn observe_arrival(&mut self, arrival: &Arrival) {
        self.bound(arrival, "the recorder");
        self.arrivals.push(*arrival);
    }

    /// Takes note of when the source of a bundle dated revisions: they were written in that time, and nobody received them then. In any order.
    pub fn observe_date(&mut self, date: &Arrival) {
        self.bound(date, "the bundle's source");
    }

    fn bound(&mut self, times: &Arrival, writer: &str) {
        let Arrival { from, to, time, delay } = *times;
        let (writer, kind) = (self.writer(writer.to_owned()), StampKind::Now { lag: delay });
        for revision in if from == to { vec![from] } else { vec![from, to] } {
            self.stamps.push(Stamp { revision: revision.0, at: time - delay, unit: 0, writer, kind });
        }
    }

    /// Forgets what was seen of a key: changes of it were left out, and the next version may hold times that they set.
    pub fn forget(&mut self, key: &[u8]) {
        self.seen.remove(key);
    }

    /// Makes the clock.
    pub fn finish(mut self) -> Clock {
        self.stamps.sort_by_key(|stamp| stamp.revision);
        self.arrivals.sort_by_key(|arrival| arrival.from);
        build(&self.stamps, &self.names).with_arrivals(self.arrivals)
    }

    /// creationTimestamp, managedFields, deletionTimestamp and the bind's condition are set by the API server in the very write.
    fn server_stamps(&mut self, revision: i64, object: &Value, created: bool, fresh: bool, seen: &mut Seen) {
        let metadata = &object["metadata"];
        let managed = metadata["managedFields"].as_array().into_iter().flatten().filter_map(|entry| micros(&entry["time"]));
        let born = micros(&metadata["creationTimestamp"]).filter(|_| created || !fresh);
        let bound = object["spec"]["nodeName"].is_string();
        let binding = bound && !seen.bound && !created && fresh;
        let binding = binding.then(|| condition_time(object, "PodScheduled", "lastTransitionTime")).flatten();
        let deleting = micros(&metadata["deletionTimestamp"]);
        let grace = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0).checked_mul(MICROS_PER_SECOND);
        let asked = deleting.filter(|_| !seen.deleting).zip(grace).and_then(|(at, grace)| at.checked_sub(grace));
        let newest = managed.chain(born).chain(binding).chain(asked).max();
        (seen.bound, seen.deleting) = (bound, deleting.is_some());
        if let Some(at) = newest.filter(|&at| at > seen.server) {
            seen.server = at;
            let kind = if fresh { StampKind::Now { lag: SERVER_LAG } } else { StampKind::Past };
            // A time of before bounds nothing where a newer one is known, and contradicts nobody.
            if kind == StampKind::Past && at <= self.newest {
                return;
            }
            self.newest = self.newest.max(at);
            self.stamps.push(Stamp { revision, at, unit: MICROS_PER_SECOND, writer: API_SERVER_WRITER, kind });
        }
    }

    /// Leases, leader annotations, heartbeats and Events carry the clocks of those who write them.
    fn client_stamps(&mut self, revision: i64, object: &Value, created: bool, fresh: bool, seen: &mut Seen) {
        let Some(found) = client_stamp(object, created) else { return };
        if found.at <= seen.client {
            return;
        }
        seen.client = found.at;
        let kind = if fresh { found.kind } else { StampKind::Past };
        let is_of_controllers = found.writer.starts_with("kube-controller-manager on ");
        let writer = self.writer(found.writer);
        if is_of_controllers {
            self.controllers = Some(writer);
        }
        self.stamps.push(Stamp { revision, at: found.at, unit: found.unit, writer, kind });
    }

    /// The node lifecycle controller stamps a node by the clock of kube-controller-manager, right before it writes. `has_before` says that the version
    /// before is known; what a node was created with may be of long before.
    fn controller_stamp(&mut self, revision: i64, node: &Value, has_before: bool, seen: &mut Seen) {
        let Some(found) = controller_time(node).filter(|found| *found > seen.controller) else { return };
        seen.controller = found;
        let kind = if has_before { StampKind::Begun { lag: CLIENT_LAG } } else { StampKind::Past };
        let writer = self.controllers.unwrap_or_else(|| self.writer("kube-controller-manager".to_owned()));
        self.stamps.push(Stamp { revision, at: found.0, unit: MICROS_PER_SECOND, writer, kind });
    }

    fn writer(&mut self, name: String) -> WriterId {
        if let Some(&writer) = self.writers.get(&name) {
            return writer;
        }
        let writer = WriterId(self.names.len() as u32);
        self.names.push(name.clone());
        self.writers.insert(name, writer);
        writer
    }
}

struct ClientStamp {
    at: Micros,
    unit: Micros,
    kind: StampKind,
    writer: String,
}

const PROMPT_STAMP: StampKind = StampKind::Now { lag: CLIENT_LAG };

fn client_stamp(object: &Value, created: bool) -> Option<ClientStamp> {
    match object["kind"].as_str()? {
        "Lease" => {
            let at = micros(&object["spec"]["renewTime"])?;
            Some(ClientStamp { at, unit: 0, kind: PROMPT_STAMP, writer: lease_holder(object)? })
        }
        "Event" => event_stamp(object, created),
        "Node" => {
            let heartbeats =
                object["status"]["conditions"].as_array()?.iter().filter_map(|condition| micros(&condition["lastHeartbeatTime"]));
            Some(ClientStamp {
                at: heartbeats.max()?,
                unit: MICROS_PER_SECOND,
                kind: PROMPT_STAMP,
                writer: node(object["metadata"]["name"].as_str()?),
            })
        }
        "Pod" => {
            let status = &object["status"];
            let states = ["containerStatuses", "initContainerStatuses"].into_iter().filter_map(|list| status[list].as_array()).flatten();
            let times = states.flat_map(|container| {
                let state = &container["state"];
                [&state["running"]["startedAt"], &state["terminated"]["startedAt"], &state["terminated"]["finishedAt"]]
            });
            let at = times.chain([&status["startTime"]]).filter_map(micros).max()?;
            Some(ClientStamp { at, unit: MICROS_PER_SECOND, kind: StampKind::Past, writer: node(object["spec"]["nodeName"].as_str()?) })
        }
        "Endpoints" | "ConfigMap" => leader_annotation(object),
        _ => None,
    }
}

/// The taints that the node lifecycle controller sets (k8s.io/api core/v1/well_known_taints.go); others have a time only if who set them gave one.
const CONTROLLER_TAINTS: [&str; 7] = [
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/network-unavailable",
];
/// Why it sets a node's conditions to `Unknown`.
const SILENCE_REASONS: [&str; 2] = ["NodeStatusUnknown", "NodeStatusNeverUpdated"];

/// The newest time that the node lifecycle controller set in a node, and how many say it: a further one in the same second is a further write.
///
/// Kubernetes 1.36, pkg/controller/util/node/controller_utils.go, `SwapNodeControllerTaint`: `timeAdded` is its own time before the patch, which is tried
/// up to five times, 100 to 200 ms apart (`UpdateTaintBackoff`). The conditions of a silent node get the time at which it updates them
/// (pkg/controller/nodelifecycle/node_lifecycle_controller.go, `tryUpdateNodeHealth`). Both are stored as whole seconds.
fn controller_time(node: &Value) -> Option<(Micros, usize)> {
    let taints = list(&node["spec"]["taints"]).filter(|taint| is_among(&taint["key"], &CONTROLLER_TAINTS));
    let conditions = list(&node["status"]["conditions"]).filter(|condition| is_among(&condition["reason"], &SILENCE_REASONS));
    let set = taints.map(|taint| &taint["timeAdded"]).chain(conditions.map(|condition| &condition["lastTransitionTime"]));
    let times: Vec<Micros> = set.filter_map(micros).collect();
    let newest = times.iter().copied().max()?;
    Some((newest, times.iter().filter(|time| **time == newest).count()))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn is_among(value: &Value, names: &[&str]) -> bool {
    value.as_str().is_some_and(|value| names.contains(&value))
}

/// The recorder names an Event after the object and its clock's nanoseconds, hexadecimal; a repeat moves `lastTimestamp`.
fn event_stamp(event: &Value, created: bool) -> Option<ClientStamp> {
    let name = event["metadata"]["name"].as_str()?;
    let named = name
        .rsplit_once('.')
        .filter(|(_, digits)| created && digits.len() == 16)
        .and_then(|(_, digits)| i64::from_str_radix(digits, 16).ok());
    let precise = named.map(|nanoseconds| nanoseconds / 1000).into_iter().chain(micros(&event["eventTime"]));
    let at = precise.chain(micros(&event["lastTimestamp"])).chain(micros(&event["series"]["lastObservedTime"])).max()?;
    let source = &event["source"];
    let writer = match (source["host"].as_str(), source["component"].as_str().or(event["reportingComponent"].as_str())) {
        (Some(host), Some("kubelet" | "kube-proxy")) if !host.is_empty() => node(host),
        (_, component) => format!("{} (Events)", component.unwrap_or("unknown")),
    };
    Some(ClientStamp { at, unit: MICROS_PER_SECOND, kind: StampKind::Past, writer })
}

/// Up to 1.19 leaders renewed a lock in an annotation of an Endpoints or ConfigMap.
fn leader_annotation(object: &Value) -> Option<ClientStamp> {
    let record: Value =
        serde_json::from_str(object["metadata"]["annotations"]["control-plane.alpha.kubernetes.io/leader"].as_str()?).ok()?;
    let holder = record["holderIdentity"].as_str()?;
    let component = object["metadata"]["name"].as_str()?;
    Some(ClientStamp {
        at: micros(&record["renewTime"])?,
        unit: MICROS_PER_SECOND,
        kind: PROMPT_STAMP,
        writer: format!("{component} on {}", host(holder)),
    })
}

fn lease_holder(lease: &Value) -> Option<String> {
    let name = lease["metadata"]["name"].as_str()?;
    if lease["metadata"]["namespace"] == "kube-node-lease" {
        return Some(node(name));
    }
    Some(format!("{name} on {}", host(lease["spec"]["holderIdentity"].as_str().unwrap_or("?"))))
}

/// Leaders are called `<host>_<uuid>`.
fn host(holder: &str) -> &str {
    holder.split_once('_').map_or(holder, |(host, _)| host)
}

fn node(name: &str) -> String {
    format!("node {name}")
}

fn condition_time(object: &Value, kind: &str, field: &str) -> Option<Micros> {
    let conditions = object["status"]["conditions"].as_array()?;
    micros(&conditions.iter().find(|condition| condition["type"] == kind)?[field])
}

fn micros(value: &Value) -> Option<Micros> {
    value.as_str()?.parse::<Timestamp>().ok().map(|time| time.as_microsecond())
}
