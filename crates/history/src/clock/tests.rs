//! A simulated cluster whose true times are known.

use serde_json::{Value, json};

use super::*;

const START_MICROS: Micros = 1_790_000_000 * MICROS_PER_SECOND;

/// One write: when it was committed and what it holds.
struct Write {
    at: Micros,
    key: String,
    created: bool,
    object: Value,
}

fn time(micros: Micros, fine: bool) -> String {
    let time = Timestamp::from_microsecond(micros).unwrap();
    if fine { time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ") } else { time.strftime("%Y-%m-%dT%H:%M:%SZ") }.to_string()
}

/// Three nodes renewing leases every ten seconds, each with its own clock, and objects created at odd moments between.
fn writes(offsets: [Micros; 3], lag: Micros) -> Vec<Write> {
    let mut writes = Vec::new();
    for (node, offset) in offsets.into_iter().enumerate() {
        for beat in 0..30 {
            let at = START_MICROS + beat * 10 * MICROS_PER_SECOND + node as Micros * 3_333_333 + lag;
            let renewed = time(at - lag + offset, true);
            let managed = json!([{"manager": "kubelet", "operation": "Update", "time": time(at - 2_000, false)}]);
            let metadata = json!({"name": format!("n{node}"), "namespace": "kube-node-lease", "managedFields": managed, "creationTimestamp": time(START_MICROS, false)});
            let object =
                json!({"kind": "Lease", "metadata": metadata, "spec": {"holderIdentity": format!("n{node}"), "renewTime": renewed}});
            writes.push(Write { at, key: format!("/registry/leases/kube-node-lease/n{node}"), created: beat == 0, object });
        }
    }
    for number in 0..200 {
        let at = START_MICROS + number * 1_431_007 + 777;
        let metadata = json!({"name": format!("o{number}"), "creationTimestamp": time(at - 3_000, false)});
        let object = json!({"kind": "Secret", "metadata": metadata});
        writes.push(Write { at, key: format!("/registry/secrets/x/o{number}"), created: true, object });
    }
    writes.sort_by_key(|write| write.at);
    writes
}

fn clock(writes: &[Write]) -> Clock {
    let mut evidence = StampCollector::default();
    for (place, write) in writes.iter().enumerate() {
        evidence.observe(Revision(place as i64 + 2), write.key.as_bytes(), write.created, Some(&write.object));
    }
    evidence.finish()
}

/// Share of revisions within their bound; none may run backwards.
fn inside(writes: &[Write], clock: &Clock) -> f64 {
    let mut last = Timestamp::MIN;
    let mut good = 0;
    for (place, write) in writes.iter().enumerate() {
        let dated = clock.date(Revision(place as i64 + 2)).expect("every revision has stamps around it");
        assert!(dated.time >= last, "time runs backwards at {place}");
        last = dated.time;
        let off = (write.at - dated.time.as_microsecond()).abs() as f64 / MICROS_PER_SECOND as f64;
        good += usize::from(off <= dated.error);
    }
    good as f64 / writes.len() as f64
}

#[test]
fn every_revision_lies_within_its_bound() {
    let writes = writes([0; 3], 5_000);
    let clock = clock(&writes);
    assert_eq!(inside(&writes, &clock), 1.0);
    assert_eq!(clock.skews(), []);
    assert!(clock.problems().is_empty(), "{:?}", clock.problems());
}

#[test]
fn skewed_nodes_are_named_and_do_no_harm() {
    for offset in [7 * MICROS_PER_SECOND, -7 * MICROS_PER_SECOND, 900_000, -3_600 * MICROS_PER_SECOND] {
        let writes = writes([0, offset, 0], 5_000);
        let clock = clock(&writes);
        assert_eq!(inside(&writes, &clock), 1.0, "{offset}");
        let [skew] = clock.skews() else { panic!("{offset}: {:?}", clock.skews()) };
        assert_eq!(skew.writer, "node n1");
        let way = if offset > 0 { "ahead of" } else { "behind" };
        assert!(clock.problems()[0].starts_with("the clock of node n1 is ") && clock.problems()[0].contains(way), "{:?}", clock.problems());
        assert!((skew.offset() - offset as f64 / MICROS_PER_SECOND as f64).abs() < 0.6, "{skew:?}");
    }
}

#[test]
fn a_few_wild_times_do_no_harm() {
    let mut writes = writes([0; 3], 5_000);
    for place in [3, 100, 190] {
        writes[place].object["metadata"]["creationTimestamp"] = json!("2031-01-01T00:00:00Z");
        writes[place].created = true;
    }
    assert!(inside(&writes, &clock(&writes)) > 0.98);
}

#[test]
fn what_old_objects_hold_accuses_nobody() {
    let writes = writes([0; 3], 0);
    let mut evidence = StampCollector::default();
    for (place, write) in writes.iter().enumerate() {
        // Versions of leases in between are left out: each may hold times of long before.
        let is_lease = write.object["kind"] == "Lease";
        let mut object = write.object.clone();
        if is_lease {
            evidence.forget(write.key.as_bytes());
            object["metadata"]["managedFields"][0]["time"] = Value::from(time(START_MICROS, false));
        }
        evidence.observe(Revision(place as i64 + 2), write.key.as_bytes(), write.created && !is_lease, Some(&object));
    }
    let clock = evidence.finish();
    assert!(clock.problems().is_empty() && clock.dated_span().is_some(), "{:?}", clock.problems());
}

#[test]
fn without_stamps_nothing_is_dated() {
    let clock = clock(&[]);
    assert_eq!(clock.date(Revision(5)), None);
    assert_eq!(clock.revision_at(Timestamp::UNIX_EPOCH), None);
}

#[test]
fn a_time_is_found_again() {
    let writes = writes([0; 3], 5_000);
    let clock = clock(&writes);
    for place in [5, 60, 200] {
        let revision = Revision(place + 2);
        let found = clock.revision_at(clock.date(revision).unwrap().time).unwrap();
        assert!(found >= revision && clock.date(found).unwrap().time == clock.date(revision).unwrap().time);
    }
    assert_eq!(clock.revision_at(Timestamp::UNIX_EPOCH), None);
    assert_eq!(clock.revision_at(Timestamp::MAX).unwrap(), clock.dated_span().unwrap().1);
}

fn arrival(from: i64, to: i64, time: &str, delay: i64) -> Arrival {
    Arrival { from: Revision(from), to: Revision(to), time: time.parse::<Timestamp>().unwrap().as_microsecond(), delay }
}

#[test]
fn what_a_recorder_received_is_dated_by_its_arrival() {
    let mut evidence = StampCollector::default();
    for arrived in [arrival(9, 9, "2026-01-01T00:00:09.250Z", 4_000), arrival(2, 4, "2026-01-01T00:00:01.250Z", 2_000)] {
        evidence.observe_arrival(&arrived);
    }
    let clock = evidence.finish();
    let dated = |revision: i64| clock.date(Revision(revision)).map(|dated| (dated.time.strftime("%S%.3f").to_string(), dated.error));
    assert_eq!([2, 3, 4].map(dated), [const { None::<()> }; 3].map(|_| Some(("01.249".to_owned(), 0.001))));
    assert_eq!(dated(9), Some(("09.248".to_owned(), 0.002)));
    // What lies between was written between.
    assert_eq!(dated(7), Some(("05.249".to_owned(), 4.002)));
    assert_eq!((dated(1), dated(10)), (None, None));
    let arrived = |revision: i64| clock.arrived(Revision(revision)).map(|arrived| arrived.delay);
    assert_eq!([1, 2, 4, 5, 9, 10].map(arrived), [None, Some(0.002), Some(0.002), None, Some(0.004), None]);
}

#[test]
fn a_recorder_whose_clock_is_wrong_dates_nothing_and_is_reported() {
    let mut evidence = StampCollector::default();
    for number in 0..12 {
        let created = format!("2026-01-01T00:00:{:02}Z", 10 + number);
        let object = json!({"kind": "Pod", "metadata": {"name": number.to_string(), "creationTimestamp": created}});
        evidence.observe(Revision(number + 2), number.to_string().as_bytes(), true, Some(&object));
        evidence.observe_arrival(&arrival(number + 2, number + 2, &format!("2026-01-01T00:01:{:02}.5Z", 10 + number), 1_000));
    }
    let clock = evidence.finish();
    assert!(clock.problems().iter().any(|problem| problem.starts_with("the clock of the recorder is ")), "{:?}", clock.problems());
    assert!(clock.date(Revision(5)).unwrap().time < "2026-01-01T00:00:20Z".parse().unwrap());
    assert!(clock.arrived(Revision(5)).is_some());
}

/// A node: its last heartbeat, since when its conditions are `Unknown`, and when it was tainted, in seconds after the start.
fn node(beat: i64, silent: Option<i64>, tainted: Option<i64>) -> Value {
    let at = |second: i64| time(START_MICROS + second * MICROS_PER_SECOND, false);
    let (status, reason) = if silent.is_some() { ("Unknown", "NodeStatusUnknown") } else { ("True", "KubeletReady") };
    let condition = json!({"type": "Ready", "status": status, "reason": reason, "lastHeartbeatTime": at(beat), "lastTransitionTime": at(silent.unwrap_or(0))});
    let taint = |second: i64| json!({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": at(second)});
    let taints: Vec<Value> = tainted.map(taint).into_iter().collect();
    json!({"kind": "Node", "metadata": {"name": "n1"}, "spec": {"taints": taints}, "status": {"conditions": [condition]}})
}

/// Something that the API server created so many seconds after the start.
fn made(second: i64) -> Value {
    json!({"kind": "Secret", "metadata": {"name": second.to_string(), "creationTimestamp": time(START_MICROS + second * MICROS_PER_SECOND, false)}})
}

/// The clock of versions, each the next one of its key, or (`true`) its first.
fn clock_of(versions: &[(&str, bool, Value)]) -> Clock {
    let mut evidence = StampCollector::default();
    for (place, (key, created, object)) in versions.iter().enumerate() {
        evidence.observe(Revision(place as i64 + 2), key.as_bytes(), *created, Some(object));
    }
    evidence.finish()
}

/// When a revision was written at the earliest and at the latest, in seconds after the start.
fn bounds(clock: &Clock, revision: i64) -> (f64, f64) {
    let dated = clock.date(Revision(revision)).unwrap();
    let middle = (dated.time.as_microsecond() - START_MICROS) as f64 / MICROS_PER_SECOND as f64;
    (middle - dated.error, middle + dated.error)
}

fn is_near((from, to): (f64, f64), (earliest, latest): (f64, f64)) -> bool {
    (from - earliest).abs() < 0.002 && (to - latest).abs() < 0.002
}

/// Nothing else dates the changes between the last heartbeat and the eviction.
#[test]
fn a_taint_is_dated_by_the_time_that_it_was_added() {
    // The conditions and the taint are written in the same second.
    let silent = [
        ("a", true, made(0)),
        ("n1", true, node(0, None, None)),
        ("n1", false, node(0, Some(40), None)),
        ("n1", false, node(0, Some(40), Some(40))),
        ("b", true, made(70)),
    ];
    let clock = clock_of(&silent);
    assert!(is_near(bounds(&clock, 4), (40.0, 41.3)) && is_near(bounds(&clock, 5), (40.0, 41.3)), "{:?}", bounds(&clock, 5));
    // A taint that others set says nothing.
    let mut by_others = node(0, None, Some(40));
    by_others["spec"]["taints"][0]["key"] = json!("example.com/maintenance");
    let clock = clock_of(&[("a", true, made(0)), ("n1", true, node(0, None, None)), ("n1", false, by_others), ("b", true, made(70))]);
    assert!(is_near(bounds(&clock, 4), (0.0, 71.05)), "{:?}", bounds(&clock, 4));
}

#[test]
fn a_taint_that_was_written_late_accuses_nobody() {
    let late = [
        ("a", true, made(0)),
        ("n1", true, node(0, None, None)),
        ("b", true, made(43)),
        ("n1", false, node(0, Some(40), None)),
        ("n1", false, node(0, Some(40), Some(41))),
        ("c", true, made(50)),
    ];
    let clock = clock_of(&late);
    assert!(is_near(bounds(&clock, 5), (43.0, 51.05)) && is_near(bounds(&clock, 6), (43.0, 51.05)), "{:?}", bounds(&clock, 6));
    assert!(clock.problems().is_empty(), "{:?}", clock.problems());
}

/// A node that is made with a taint, as out of a backup, or whose first known version has one, may have been written at any time after it.
#[test]
fn a_taint_whose_change_is_not_known_bounds_from_below_alone() {
    for created in [true, false] {
        let clock = clock_of(&[("a", true, made(10)), ("n1", created, node(30, Some(40), Some(40))), ("b", true, made(60))]);
        assert!(is_near(bounds(&clock, 3), (40.0, 61.05)), "{created}: {:?}", bounds(&clock, 3));
    }
}

/// Their lease shows it, though nothing else contradicts the taint.
#[test]
fn taints_of_controllers_whose_clock_is_wrong_date_nothing() {
    for offset in [-20, 20] {
        let mut versions = vec![("n1".to_owned(), true, node(0, None, None))];
        for second in 0..12 {
            let renewed = time(START_MICROS + (second + offset) * MICROS_PER_SECOND, true);
            let metadata = json!({"name": "kube-controller-manager", "namespace": "kube-system"});
            let lease = json!({"kind": "Lease", "metadata": metadata, "spec": {"holderIdentity": "m1_x", "renewTime": renewed}});
            versions.extend([(second.to_string(), true, made(second)), ("lease".to_owned(), second == 0, lease)]);
        }
        versions.push(("n1".to_owned(), false, node(0, None, Some(40 + offset))));
        versions.push(("last".to_owned(), true, made(70)));
        let versions: Vec<(&str, bool, Value)> =
            versions.iter().map(|(key, created, object)| (key.as_str(), *created, object.clone())).collect();
        let clock = clock_of(&versions);
        assert!(is_near(bounds(&clock, versions.len() as i64), (11.0, 71.05)), "{offset}: {:?}", bounds(&clock, versions.len() as i64));
        let [skew] = clock.skews() else { panic!("{offset}: {:?}", clock.skews()) };
        assert_eq!(skew.writer, "kube-controller-manager on m1");
    }
}

/// A pod: bound or not, with the time that its condition says it was scheduled, in seconds after the start.
fn pod(scheduled: Option<i64>) -> Value {
    let at = |second: i64| time(START_MICROS + second * MICROS_PER_SECOND, false);
    let spec = if scheduled.is_some() { json!({"nodeName": "n1"}) } else { json!({}) };
    let conditions: Vec<Value> =
        scheduled.iter().map(|&second| json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": at(second)})).collect();
    json!({"kind": "Pod", "metadata": {"name": "p", "creationTimestamp": at(10)}, "spec": spec, "status": {"conditions": conditions}})
}

/// The API server writes the condition of a binding. That of a pod that a kubelet mirrors is the kubelet's, as are later ones.
#[test]
fn only_a_binding_is_dated_by_its_condition() {
    let written = |versions: &[Value]| {
        let mut all = vec![("a", true, made(0))];
        all.extend(versions.iter().enumerate().map(|(place, pod)| ("p", place == 0, pod.clone())));
        all.push(("b", true, made(70)));
        let clock = clock_of(&all);
        assert!(clock.problems().is_empty(), "{:?}", clock.problems());
        bounds(&clock, all.len() as i64)
    };
    assert!(is_near(written(&[pod(None), pod(Some(40))]), (40.0, 41.05)));
    assert!(is_near(written(&[pod(Some(40))]), (10.0, 11.05)));
    assert!(is_near(written(&[pod(None), pod(Some(20)), pod(Some(40))]), (20.0, 71.05)));
}
