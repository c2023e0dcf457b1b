//! A bundle of a bundle, and what is said of a bundle: it is a slice, and what it does not hold was left out of it.

use serde_json::Value;

use super::Files;

/// What a bundle says that it does not hold.
fn not_recorded(files: &Files, folder: &str) -> Vec<String> {
    let status = files.documents(folder, "status -o json").remove(0);
    serde_json::from_value(status["notRecorded"].clone()).unwrap()
}

/// The values of the Secrets of a bundle.
fn secret_values(files: &Files, folder: &str) -> Vec<String> {
    let secrets = files.documents(folder, "get secrets -A -o json --show-secrets").remove(0);
    let data = secrets["items"].as_array().unwrap().iter().filter_map(|secret| secret["data"].as_object());
    data.flat_map(|data| data.values().map(|value| value.as_str().unwrap().to_owned())).collect()
}

const NO_SECRETS: &str = "values of Secrets (bundle --show-secrets holds them)";

#[test]
fn what_the_first_left_out_is_left_out_of_the_second() {
    let files = Files::new();
    files.bundle("whole", "names", "-n web --redact names --salt of-a-test");
    let first = not_recorded(&files, "names");
    assert!(first.iter().any(|phrase| phrase == "what was redacted: names, namespaces"), "{first:?}");
    files.bundle("names", "plain", "-A");
    assert_eq!(not_recorded(&files, "plain"), first);
    files.bundle("names", "more", "-A --redact addresses --salt of-a-test");
    let more = not_recorded(&files, "more");
    assert!(more.iter().any(|phrase| phrase == "what was redacted: names, namespaces, addresses"), "{more:?}");
    assert_eq!(more.len(), first.len(), "{more:?}");
    // One of a bundle of a bundle knows it still.
    files.bundle("more", "third", "-A");
    assert_eq!(not_recorded(&files, "third"), more);
}

#[test]
fn what_stands_in_for_secrets_is_never_data() {
    let files = Files::new();
    files.bundle("whole", "open", "-n web --show-secrets");
    assert!(!not_recorded(&files, "open").iter().any(|phrase| phrase == NO_SECRETS));
    for (first, choice) in [("masked", ""), ("redacted", "--redact all --salt of-a-test")] {
        files.bundle("whole", first, &format!("-n web {choice}"));
        let again = format!("{first}-again");
        let said = files.bundle(first, &again, "-A --show-secrets");
        assert!(said.contains("; values of 3 Secrets masked"), "{said}");
        assert!(not_recorded(&files, &again).iter().any(|phrase| phrase == NO_SECRETS), "{again}");
        let values = secret_values(&files, &again);
        assert!(values.len() > 2 && values.iter().all(|value| value == "***"), "{again}: {values:?}");
        for folder in [first, &again] {
            let output = files.run(folder, "get secrets -A --show-secrets");
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(said.contains("the bundle does not hold the values of Secrets"), "{folder}: {said}");
        }
    }
    let output = files.run("open", "get secrets -A --show-secrets");
    assert!(!String::from_utf8(output.stderr).unwrap().contains("does not hold"));
    // A mask is not counted as a value that was replaced, and stays one.
    files.bundle("masked", "passed-on", "-A --redact addresses --salt of-a-test");
    let values = secret_values(&files, "passed-on");
    assert!(values.len() > 2 && values.iter().all(|value| value == "***"), "{values:?}");
}

#[test]
fn a_bundle_is_called_a_bundle_and_nothing_of_it_was_compacted() {
    let files = Files::new();
    files.bundle("whole", "late", "-n lab --since 1500");
    let page = files.text("late", "status");
    assert!(page.contains("\nsource        a bundle, which is a slice of a cluster\n"), "{page}");
    assert!(page.contains("\nbegins        at revision 1500: what happened before was left out of the bundle\n"), "{page}");
    let status = files.documents("late", "status -o json").remove(0);
    assert_eq!(status["source"]["kind"], "bundle");
    assert_eq!((&status["revisions"]["compacted"], &status["revisions"]["oldestReadable"]), (&Value::Null, &1500.into()));
    for words in ["triage --at 2026-11-21T00:15:00Z", "get pods -n lab --rev 1400"] {
        let output = files.run("late", words);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        assert!(said.contains(" was left out of the bundle; the oldest that can be read is 1500; ask for --rev 1500 or newer"), "{said}");
    }
    let said = String::from_utf8(files.run("late", "history -n lab").stderr).unwrap();
    assert!(said.contains("earlier revisions were left out of the bundle"), "{said}");
    for words in ["status", "triage", "history -n lab", "timeline -n lab", "usage", "grep nothing-of-that-name"] {
        let output = files.run("late", words);
        let said = [output.stdout, output.stderr].concat();
        assert!(!String::from_utf8_lossy(&said).contains("compacted"), "{words}: {}", String::from_utf8_lossy(&said));
    }
}

#[test]
fn figures_of_a_bundle_are_said_to_be_the_slices() {
    let files = Files::new();
    files.bundle("whole", "slice", "-n lab");
    let page = files.text("slice", "usage --quota 8Gi");
    assert!(page.starts_with("bundle    a slice of a cluster: all figures are the slice's, not the cluster's\nwritten "), "{page}");
    assert!(page.contains("\nfile      ") && !page.contains("\ndatabase "), "{page}");
    let document = files.documents("slice", "usage --quota 8Gi -o json").remove(0);
    assert_eq!((&document["slice"], &document["daysToQuota"]), (&true.into(), &Value::Null));
    let whole = files.documents("whole", "usage --quota 8Gi -o json").remove(0);
    assert_eq!(whole["slice"], false);
    assert!(whole["daysToQuota"].as_f64().is_some());
    assert!(!files.text("whole", "usage").contains("slice"));
    let triage = files.text("slice", "triage");
    assert!(!triage.contains("etcd itself") && triage.lines().any(|line| line.starts_with("file  ")), "{triage}");
}
