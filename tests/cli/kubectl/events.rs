//! `events`: those stored, by time.

use super::*;

#[test]
fn events_are_those_stored_by_time() {
    let time = |event: &Value| {
        let all = [&event["series"]["lastObservedTime"], &event["lastTimestamp"], &event["eventTime"]];
        all.iter().find_map(|time| time.as_str()).unwrap().parse::<jiff::Timestamp>().unwrap()
    };
    let events = json_of(&["events", "-A", "-o", "json"]);
    let events = events["items"].as_array().unwrap();
    assert!(events.is_sorted_by_key(time));
    let stored: BTreeSet<String> = text(&["ls", "events", "-A", "-o", "name"]).lines().map(str::to_owned).collect();
    let listed: BTreeSet<String> = text(&["events", "-A", "-o", "name"]).lines().map(str::to_owned).collect();
    assert_eq!((events.len(), &listed), (stored.len(), &stored));

    let of = |arguments: &[&str]| json_of(&[&["events", "-o", "json"], arguments].concat())["items"].as_array().unwrap().clone();
    let about = |kind: &str, name: &str| -> Vec<Value> {
        let is_it = |event: &&Value| event["involvedObject"]["kind"] == kind && event["involvedObject"]["name"] == name;
        events.iter().filter(is_it).cloned().collect()
    };
    assert_eq!(of(&["pod/web/crasher"]), about("Pod", "crasher"));
    assert_eq!(of(&["--for", "pod/crasher", "-n", "web"]), about("Pod", "crasher"));
    // A node's are in the namespace default.
    assert_eq!(of(&["node/node2"]), about("Node", "node2"));
    assert!(!about("Node", "node2").is_empty());
    let warnings = of(&["-A", "--types", "warning"]);
    assert!(!warnings.is_empty() && warnings.iter().all(|event| event["type"] == "Warning"));
    let nodes = of(&["nodes"]);
    assert!(!nodes.is_empty() && nodes.iter().all(|event| event["involvedObject"]["kind"] == "Node"));

    let table = text(&["events", "pod/web/crasher"]);
    assert!(table.starts_with("LAST SEEN ") && table.contains("(x7 over 9m16s)"), "{table}");
    assert!(
        text(&["events", "-A", "-o", "wide"])
            .lines()
            .next()
            .unwrap()
            .split_whitespace()
            .eq("NAMESPACE LAST SEEN TYPE REASON OBJECT FROM MESSAGE".split(' '))
    );
    let nothing = run(&["events", "-n", "nowhere"]);
    let said = stderr(&nothing);
    assert!(said.starts_with("ketcd: No events found in nowhere namespace; -A looks in all\n"), "{said}");
    assert!(said.contains("namespace \"nowhere\" does not exist; list the namespaces: "), "{said}");
    assert_eq!((nothing.status.code(), said.lines().count()), (Some(1), 2));
    let key = run(&["events", "/registry/pods/web/crasher"]);
    assert_eq!(key.status.code(), Some(2));
}

#[test]
fn events_are_watched() {
    let from = "1500";
    let before = text(&["events", "-n", "web", "--rev", from]);
    let watched = text(&["events", "-n", "web", "-w", "--rev", from]);
    assert!(watched.starts_with(&before));
    let changes = lines_of(&["history", "events", "-n", "web", "-o", "ndjson"]);
    let later = changes.iter().filter(|change| change["revision"].as_i64().unwrap() > 1500 && change["type"] != "DELETED").count();
    assert!(later > 0);
    assert_eq!(watched.lines().count(), before.lines().count() + later);
}
