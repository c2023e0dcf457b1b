//! One grammar of addresses: every command about objects takes them in the same words, several or all of a kind, and selects them by the same
//! flags. A command that is new has to say on which side it stands.

use std::collections::BTreeSet;
use std::process::Output;

use ketcd_testing::testdata;
use serde_json::Value;

use crate::ketcd::{all, ketcd};

/// The commands about objects, each with what it needs besides their addresses.
const OF_OBJECTS: &[(&str, &str)] = &[
    ("blame", ""),
    ("describe", ""),
    ("diff", "--rev 300.."),
    ("events", ""),
    ("explain", ""),
    ("extract", ""),
    ("get", ""),
    ("history", ""),
    ("ls", ""),
    ("report", "--out -"),
    ("timeline", ""),
    ("tree", ""),
    ("triage", "-o wide --until 22:20:30"),
    ("usage", "-o wide"),
    ("watch", ""),
];

/// The commands about no object in particular.
const OF_ALL: &[&str] =
    &["completion", "decode", "encryption", "mcp", "plugins", "record", "rehearse", "schema", "serve", "status", "ui", "verify", "what-if"];

/// What searches objects: a pattern comes before their addresses, and `-l` lists objects, as grep's does.
const SEARCHING_COMMAND: &str = "grep";

/// What is about objects and writes elsewhere what it says of them.
const WRITING_COMMANDS: [&str; 2] = ["bundle", "export"];

fn run_on(capture: &str, words: &str) -> Output {
    let file = testdata::path("captures").join(capture).join("snapshot.db.zst");
    ketcd().arg("-f").arg(file).args(words.split_whitespace()).output().unwrap()
}

fn run(words: &str) -> Output {
    run_on("k120-story", words)
}

/// What a command prints that worked, be it that something differs or that a part is missing.
#[track_caller]
fn text(words: &str) -> String {
    let output = run(words);
    let wanted = i32::from(words.starts_with("diff ") || (words.contains(" nothing ") && !words.starts_with("events ")));
    assert_eq!(output.status.code(), Some(wanted), "{words}: {}", all(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_command_takes_all_of_the_grammar_or_none_of_it() {
    let mut sides: BTreeSet<&str> = OF_ALL.iter().copied().collect();
    sides.extend(OF_OBJECTS.iter().map(|(name, _)| name));
    sides.extend([SEARCHING_COMMAND]);
    sides.extend(WRITING_COMMANDS);
    let shown = ::ketcd::command();
    let shown: BTreeSet<&str> = shown.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
    assert_eq!(sides, shown, "a new command takes addresses or does not");
    for name in shown {
        let help = String::from_utf8(ketcd().args([name, "--help"]).output().unwrap().stdout).unwrap();
        let usage = help.lines().find(|line| line.starts_with("Usage: ")).unwrap();
        let takes_several = ["[ADDRESS]...", "<ADDRESS>...", "[KIND]...", "[ADDRESS|FILE]..."].iter().any(|form| usage.contains(form));
        let is_about_objects = !OF_ALL.contains(&name);
        assert_eq!(takes_several, is_about_objects, "{name}: {usage}");
        for flag in
            [if name == SEARCHING_COMMAND { "--selector <SELECTOR>" } else { "-l, --selector <SELECTOR>" }, "--field-selector <SELECTOR>"]
        {
            assert_eq!(help.contains(flag), is_about_objects, "{name} {flag}: {help}");
        }
        for flag in ["-n, --namespace <NAMESPACE>", "-A, --all-namespaces"] {
            assert!(help.contains(flag), "{name} {flag}: {help}");
        }
    }
}

/// All commands read addresses alike: which of the other ways each is asked in goes round.
#[test]
fn a_name_is_written_in_three_ways() {
    for ((name, more), words) in OF_OBJECTS.iter().zip(["pod/crasher -n web", "pod crasher -n web", "Pods crasher -n web"].iter().cycle()) {
        let whole = text(&format!("{name} pod/web/crasher {more}"));
        assert!(!whole.is_empty(), "{name}");
        assert_eq!(text(&format!("{name} {words} {more}")), whole, "{name} {words}");
    }
}

#[test]
fn several_are_named_and_all_of_a_kind() {
    for (name, more) in OF_OBJECTS {
        // One waits when triage looks, the other is there at the end.
        let two = format!("pod/web/crasher pod/lab/spread-{}", if *name == "triage" { 5 } else { 2 });
        for words in [&two, "pod crasher nothing -n web", "pods -n lab"] {
            let printed = text(&format!("{name} {words} {more}"));
            let other = if words.ends_with("web") { "" } else { "spread-" };
            assert!(printed.contains(other), "{name} {words}: {printed}");
        }
    }
}

#[test]
fn selectors_select_in_every_command() {
    for (name, more) in OF_OBJECTS {
        let of_all = text(&format!("{name} pods -A {more}"));
        let selected = text(&format!("{name} pods -A -l app=spread {more}"));
        assert!(of_all.contains("spread-"), "{name}: {of_all}");
        assert!(selected.contains("spread-") && !selected.contains("crasher") && selected.len() < of_all.len(), "{name}: {selected}");
        let nobody = run(&format!("{name} pods -A -l app=nobody {more}"));
        // Nothing differs between two states of nothing.
        let is_same = *name == "diff" && String::from_utf8_lossy(&nobody.stdout).contains("  0 added, 0 deleted, 0 changed");
        assert!(is_same || (nobody.status.code(), nobody.stdout.len()) == (Some(1), 0), "{name}: {}", all(&nobody));
        let wrong = run(&format!("{name} pods -A -l ,= {more}"));
        assert_eq!(wrong.status.code(), Some(2), "{name}: {}", all(&wrong));
        if *name == "events" {
            continue;
        }
        let selected = text(&format!("{name} pods -A --field-selector metadata.name=crasher {more}"));
        assert!(selected.contains("crasher") && !selected.contains("spread-5"), "{name}: {selected}");
    }
}

/// The names of the objects in the rows of a table, as `export` writes them.
fn exported(words: &str, table: &str, field: &str) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("dataset");
    text(&format!("export --format ndjson --tables {table} --cluster c --out {} {words}", out.display()));
    let mut names = BTreeSet::new();
    for day in std::fs::read_dir(out.join(format!("table={table}/cluster=c"))).unwrap() {
        for file in std::fs::read_dir(day.unwrap().path()).unwrap() {
            let lines = zstd::decode_all(std::fs::File::open(file.unwrap().path()).unwrap()).unwrap();
            let rows = String::from_utf8(lines).unwrap();
            let name = |row: &str| serde_json::from_str::<Value>(row).unwrap()[field].as_str().unwrap_or_default().to_owned();
            names.extend(rows.lines().map(name));
        }
    }
    names
}

#[test]
fn rows_of_some_objects_are_exported() {
    let all = exported("", "history", "name");
    assert!(all.contains("crasher") && all.contains("spread-5"));
    for words in ["pod/web/crasher", "pod crasher -n web", "pods -A --field-selector metadata.name=crasher"] {
        let one = BTreeSet::from(["crasher".to_owned()]);
        assert_eq!(exported(words, "history", "name"), one, "{words}");
        assert_eq!(exported(words, "objects", "name"), one, "{words}");
        assert_eq!(exported(words, "events", "about_name"), one, "{words}");
        assert_eq!(exported(words, "decisions", "pod"), one, "{words}");
    }
    let spread = exported("pods -A -l app=spread", "decisions", "pod");
    assert!(!spread.is_empty() && spread.iter().all(|name| name.starts_with("spread-")), "{spread:?}");
    let of_namespace = exported("-n web", "objects", "namespace");
    assert!(
        of_namespace.contains("web") && of_namespace.iter().all(|namespace| namespace.is_empty() || namespace == "web"),
        "{of_namespace:?}"
    );
}

#[test]
fn rows_of_some_objects_are_not_mixed_with_those_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let export = |words: &str| run(&format!("export --format ndjson --tables history --out {} {words}", folder.path().join("d").display()));
    assert_eq!(export("pods -n web").status.code(), Some(0));
    assert_eq!(export("pods -n web").status.code(), Some(0), "the same rows are there already");
    for words in ["", "pods -n lab"] {
        let refused = export(words);
        assert!(refused.status.code() == Some(2) && all(&refused).contains("has rows of other objects"), "{words}: {}", all(&refused));
    }
    assert_eq!(export("pods -n lab --cluster lab").status.code(), Some(0));
}

#[test]
fn findings_are_those_of_the_objects_asked_for() {
    let triage = |words: &str| serde_json::from_str::<Value>(&text(&format!("triage {words} -o json"))).unwrap();
    let all = triage("");
    let one = triage("pod/web/crasher");
    assert_eq!((all["selected"].as_bool(), one["selected"].as_bool()), (Some(false), Some(true)));
    let found = one["findings"].as_array().unwrap();
    assert!(found.len() == 1 && all["findings"].as_array().unwrap().contains(&found[0]) || !found.is_empty(), "{one}");
    assert!(one["changes"].as_array().unwrap().len() < all["changes"].as_array().unwrap().len());
    let well = text("triage node/node1");
    assert!(well.starts_with("nothing is wrong with what was asked for at "), "{well}");
    let nobody = run("triage pod/web/nobody");
    assert_eq!(nobody.status.code(), Some(1), "{}", crate::ketcd::all(&nobody));
    assert!(crate::ketcd::all(&nobody).contains("nobody"), "{}", crate::ketcd::all(&nobody));
}

#[test]
fn without_a_kind_selectors_select_of_what_is_shown_then() {
    for words in [
        "timeline -n lab",
        "history -n lab",
        "events -n lab",
        "report -n lab --out -",
        "extract -n lab --all",
        "diff -n lab --rev 300..",
        "triage -n lab --until 22:20:30",
        "usage -n lab -o wide",
    ] {
        let selected = text(&format!("{words} -l app=spread"));
        assert!(selected.contains("spread-") && !selected.contains("ubuntu-tainted"), "{words}: {selected}");
    }
    let decided = |words: &str| -> BTreeSet<String> {
        let name = |line: &str| serde_json::from_str::<Value>(line).unwrap()["pod"]["name"].as_str().unwrap().to_owned();
        text(words).lines().map(name).collect()
    };
    let of_spread = decided("explain --all -o ndjson -l app=spread");
    assert!(!of_spread.is_empty() && of_spread.iter().all(|name| name.starts_with("spread-")), "{of_spread:?}");
}

#[test]
fn events_are_selected_by_labels_of_what_they_are_about_and_fields_of_their_own() {
    let events = |words: &str| -> Vec<Value> {
        let lines = text(&format!("events -A -o ndjson {words}"));
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let failed = events("--field-selector reason=FailedScheduling");
    assert!(!failed.is_empty() && failed.iter().all(|event| event["reason"] == "FailedScheduling"));
    let of_spread = events("-l app=spread");
    assert!(of_spread.iter().all(|event| event["involvedObject"]["name"].as_str().unwrap().starts_with("spread-")) && of_spread.len() > 1);
    let both = events("-l app=spread --field-selector reason=FailedScheduling");
    let wanted = of_spread.iter().filter(|event| event["reason"] == "FailedScheduling").count();
    assert!(wanted > 0 && wanted < of_spread.len());
    assert_eq!(both.len(), wanted);
}

#[test]
fn what_is_selected_may_be_gone_where_the_past_is_told() {
    // The pods of a rollout that is over had its labels.
    let gone = "get pods -n web -l app=tomcat -o name";
    let there: BTreeSet<String> = text(gone).lines().map(str::to_owned).collect();
    let told: Value = serde_json::from_str(&text("timeline pods -n web -l app=tomcat -o json")).unwrap();
    let told = told.as_array().or(told["items"].as_array()).unwrap().iter();
    let told: BTreeSet<String> = told.map(|one| format!("pod/{}", one["object"]["name"].as_str().unwrap())).collect();
    assert!(told.is_superset(&there) && told.len() > there.len(), "{told:?} {there:?}");
}

#[test]
fn what_owns_pods_is_explained_by_name_by_kind_and_by_labels() {
    let pods = |words: &str| -> BTreeSet<String> {
        let output = run_on("k136-story", &format!("explain {words} -o ndjson"));
        assert_eq!(output.status.code(), Some(0), "{words}: {}", all(&output));
        let lines = String::from_utf8(output.stdout).unwrap();
        let name = |line: &str| serde_json::from_str::<Value>(line).unwrap()["pod"]["name"].as_str().unwrap().to_owned();
        lines.lines().map(name).collect()
    };
    for (kind, namespace, name) in [("deploy", "web", "tomcat"), ("sts", "web", "store"), ("ds", "lab", "agent"), ("job", "web", "burst")] {
        let of_one = pods(&format!("{kind}/{namespace}/{name}"));
        assert!(!of_one.is_empty() && of_one.iter().all(|pod| pod.starts_with(&format!("{name}-"))), "{kind}: {of_one:?}");
        assert!(pods(&format!("{kind} -A")).is_superset(&of_one), "{kind}");
        // The other ways to name it are those of all commands, each tried with one kind.
        match kind {
            "deploy" => assert!(pods("rs -n web").is_superset(&of_one)),
            "sts" => assert_eq!(pods(&format!("{kind} {name} -n {namespace}")), of_one),
            "ds" => assert!(pods(&format!("{kind} -n {namespace}")).is_superset(&of_one)),
            _ => assert!(pods(&format!("{kind} -A --field-selector metadata.name={name}")).is_superset(&of_one)),
        }
    }
    let none = run_on("k136-story", "explain cronjobs -n kube-system");
    assert_eq!(none.status.code(), Some(1), "{}", all(&none));
    assert!(all(&none).contains("no cronjob.batch owns pods in namespace \"kube-system\""), "{}", all(&none));
}

#[test]
fn many_objects_are_blamed_one_after_the_other() {
    let one = text("blame deploy/web/tomcat");
    let many = text("blame deploy,svc -n web");
    assert!(many.contains("---\n") && many.contains(one.lines().last().unwrap()), "{many}");
    let list: Value = serde_json::from_str(&text("blame pods -n web -o json")).unwrap();
    let lines = text("blame pods -n web -o ndjson");
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((list["kind"].as_str(), list["items"].as_array().unwrap()), (Some("List"), &lines));
    assert!(lines.len() > 2);
}
