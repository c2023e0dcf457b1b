//! A simulated cluster whose true times are known.

use serde_json::{Value, json};

use super::*;

const START: Micros = 1_790_000_000 * SECOND;

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
            let at = START + beat * 10 * SECOND + node as Micros * 3_333_333 + lag;
            let renewed = time(at - lag + offset, true);
            let managed = json!([{"manager": "kubelet", "operation": "Update", "time": time(at - 2_000, false)}]);
            let metadata = json!({"name": format!("n{node}"), "namespace": "kube-node-lease", "managedFields": managed, "creationTimestamp": time(START, false)});
            let object =
                json!({"kind": "Lease", "metadata": metadata, "spec": {"holderIdentity": format!("n{node}"), "renewTime": renewed}});
            writes.push(Write { at, key: format!("/registry/leases/kube-node-lease/n{node}"), created: beat == 0, object });
        }
    }
    for number in 0..200 {
        let at = START + number * 1_431_007 + 777;
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
        let off = (write.at - dated.time.as_microsecond()).abs() as f64 / SECOND as f64;
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
    for offset in [7 * SECOND, -7 * SECOND, 900_000, -3_600 * SECOND] {
        let writes = writes([0, offset, 0], 5_000);
        let clock = clock(&writes);
        assert_eq!(inside(&writes, &clock), 1.0, "{offset}");
        let [skew] = clock.skews() else { panic!("{offset}: {:?}", clock.skews()) };
        assert_eq!(skew.writer, "node n1");
        let way = if offset > 0 { "ahead of" } else { "behind" };
        assert!(clock.problems()[0].starts_with("the clock of node n1 is ") && clock.problems()[0].contains(way), "{:?}", clock.problems());
        assert!((skew.offset() - offset as f64 / SECOND as f64).abs() < 0.6, "{skew:?}");
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
            object["metadata"]["managedFields"][0]["time"] = Value::from(time(START, false));
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
