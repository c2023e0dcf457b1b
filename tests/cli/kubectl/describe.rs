//! `describe`: one page about an object.

use super::*;

#[test]
fn a_description_holds_what_the_other_commands_show() {
    let description = json_of(&["describe", "pod/web/crasher", "-o", "json"]);
    assert_eq!(description["object"], json_of(&["get", "pod/web/crasher", "-o", "json"]));
    assert_eq!(description["events"], json_of(&["events", "pod/web/crasher", "-o", "json"])["items"]);
    let history = lines_of(&["history", "pod/web/crasher", "-o", "ndjson"]);
    assert!(history.len() > 10 && description["hasEarlierChanges"] == true);
    let last = description["changes"].as_array().unwrap();
    assert_eq!(last.len(), 10);
    for (change, recorded) in last.iter().zip(&history[history.len() - 10..]) {
        for field in ["revision", "type", "by", "byFrom", "time", "timeErrorSeconds", "patch"] {
            assert_eq!(change[field], recorded[field], "{field} of {change}");
        }
    }
    let page = text(&["describe", "pod/web/crasher"]);
    for wanted in ["CrashLoopBackOff", "Terminated: Error, exit code 1", "Restarts:    6", "BackOff", "r2586  ~ kubelet node1", "cpu 50m"] {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
}

#[test]
fn descriptions_mask_secrets_and_refuse_what_they_are_not() {
    let page = text(&["describe", "secrets", "-A"]);
    assert!(page.contains("\"***\""));
    for secret in json_of(&["get", "secrets", "-A", "-o", "json", "--show-secrets"])["items"].as_array().unwrap() {
        for value in secret["data"].as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str()) {
            assert!(value.len() < 9 || !page.contains(value), "{}", secret["metadata"]["name"]);
        }
    }
    for command in ["describe", "tree"] {
        let refused = run(&[command, "pod/web/crasher", "-o", "yaml"]);
        assert_eq!(refused.status.code(), Some(2));
        assert_eq!(stderr(&refused), format!("ketcd: error: {command} has no output format yaml; use one of table, json, ndjson\n"));
    }
    let refused = run(&["events", "-w", "-o", "yaml"]);
    assert!(stderr(&refused).contains("events --watch has no output format yaml"), "{}", stderr(&refused));
}

#[test]
fn every_object_can_be_described() {
    for capture in ["k120-story", STORY_CAPTURE] {
        let kinds: Value = serde_json::from_slice(&run_on(capture, &["ls", "-o", "json"]).stdout).unwrap();
        let stored = kinds["items"].as_array().unwrap().iter().filter_map(|row| row["resource"].as_str());
        let stored: Vec<&str> = stored.filter(|resource| !resource.starts_with('(') && *resource != "events").collect();
        let output = run_on(capture, &["describe", &stored.join(","), "-A"]);
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{capture}");
        let objects = run_on(capture, &["ls", &stored.join(","), "-A", "-o", "name"]).stdout.iter().filter(|byte| **byte == b'\n').count();
        let page = String::from_utf8(output.stdout).unwrap();
        assert_eq!(page.matches("\nLast written: ").count(), objects, "{capture}");
        assert!(stored.len() > 30 && objects > 300, "{capture}: {objects} objects of {} kinds", stored.len());
    }
}

#[test]
fn descriptions_and_trees_fit_the_terminal() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(STORY_CAPTURE);
    for words in ["describe pods,nodes,deploy,sts,job,pvc -n web", "tree deploy,sts -n web", "events pod/web/crasher"] {
        let mut command = ketcd();
        command.args(["-f", "snapshot.db.zst"]).args(words.split(' ')).current_dir(&folder);
        let (shown, status) = crate::pty::run(80, &mut command);
        assert_eq!(status.code(), Some(0), "{words}: {shown}");
        let shown = anstream::adapter::strip_str(&shown).to_string();
        // Progress stands in a line until what follows is written over it.
        let lines: Vec<&str> = shown.lines().filter_map(|line| line.trim_end_matches('\r').rsplit('\r').next()).collect();
        let wide: Vec<&&str> = lines.iter().filter(|line| line.chars().count() > 80).collect();
        assert!(
            lines.len() > 5 && wide.is_empty(),
            "{words}: {} of {} lines are too wide, the first: {:?}",
            wide.len(),
            lines.len(),
            wide.first()
        );
    }
}
