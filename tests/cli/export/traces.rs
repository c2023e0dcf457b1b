//! `export --format otlp` and `perfetto`: files, standard output and servers, and what is refused.

use std::collections::HashSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Output;
use std::thread;

use jiff::Timestamp;
use ketcd_testing::written::Written;
use serde_json::{Value, json};

use super::{capture, lines};
use crate::ketcd::{all, ketcd};

const STORY: &str = "k136-story/snapshot.db.zst";

fn run(words: &[&str]) -> Output {
    ketcd().arg("-f").arg(capture(STORY)).arg("export").args(words).output().unwrap()
}

/// The spans in lines of JSON.
fn spans(text: &[u8]) -> Vec<Value> {
    let items = |value: &Value, field: &str| value[field].as_array().cloned().unwrap_or_default();
    let resources = lines(text).into_iter().flat_map(move |line| items(&line, "resourceSpans"));
    let scopes = resources.flat_map(move |resource| items(&resource, "scopeSpans"));
    scopes.flat_map(move |scope| items(&scope, "spans")).collect()
}

#[test]
fn a_file_is_the_same_each_time_and_the_summary_counts_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traces.jsonl");
    let out = path.to_str().unwrap();
    let written = run(&["--format", "otlp", "--out", out, "-o", "json"]);
    assert!(written.status.success(), "{}", all(&written));
    let summary: Value = serde_json::from_slice(&written.stdout).unwrap();
    let first = fs::read(&path).unwrap();
    let read = spans(&first);
    assert_eq!(summary["spans"].as_u64(), Some(read.len() as u64), "{summary}");
    let traces: HashSet<&str> = read.iter().map(|span| span["traceId"].as_str().unwrap()).collect();
    assert_eq!(summary["traces"].as_u64(), Some(traces.len() as u64));
    let links: usize = read.iter().map(|span| span["links"].as_array().map_or(0, Vec::len)).sum();
    assert_eq!(summary["links"].as_u64(), Some(links as u64));
    // What ketcd wrote is replaced.
    assert!(run(&["--format", "otlp", "--out", out]).status.success());
    assert_eq!(fs::read(&path).unwrap(), first);
    let printed = run(&["--format", "otlp", "--out", "-"]);
    assert!(printed.status.success() && printed.stdout == first, "{}", all(&printed));
    assert!(String::from_utf8_lossy(&printed.stderr).contains(&format!("{} traces, ", traces.len())), "{}", all(&printed));
}

/// Every revision in a document, with the times that stand next to it, in milliseconds.
fn dated(value: &Value, into: &mut HashSet<(i64, i64)>) {
    match value {
        Value::Object(members) => {
            let times = members.values().filter_map(|member| member.as_str()?.parse::<Timestamp>().ok());
            let times: Vec<i64> = times.map(Timestamp::as_millisecond).collect();
            for revision in members.values().filter_map(Value::as_i64) {
                into.extend(times.iter().map(|time| (revision, *time)));
            }
            members.values().for_each(|member| dated(member, into));
        }
        Value::Array(items) => items.iter().for_each(|item| dated(item, into)),
        _ => {}
    }
}

/// The begin and the end of each span, by its attributes and its times.
fn ends(span: &Value) -> [(i64, i64); 2] {
    let number = |text: &Value| text.as_str().unwrap().parse::<i64>().unwrap();
    let attribute = |key: &str| {
        let attributes = span["attributes"].as_array().unwrap();
        number(&attributes.iter().find(|attribute| attribute["key"] == key).unwrap()["value"]["intValue"])
    };
    let at = |revision: &str, time: &str| (attribute(revision), number(&span[time]) / 1_000_000);
    [at("ketcd.begin.revision", "startTimeUnixNano"), at("ketcd.end.revision", "endTimeUnixNano")]
}

#[test]
fn times_of_spans_are_those_of_the_timeline() {
    for name in [STORY, "k120-story/snapshot.db.zst", "k137-whatif/snapshot.db.zst"] {
        let run = |words: &[&str]| {
            let output = ketcd().arg("-f").arg(capture(name)).args(words).output().unwrap();
            assert!(output.status.success(), "{name} {words:?}: {}", all(&output));
            output.stdout
        };
        let mut known = HashSet::new();
        dated(&serde_json::from_slice(&run(&["timeline", "-A", "-o", "json"])).unwrap(), &mut known);
        let spans = spans(&run(&["export", "--format", "otlp", "--out", "-"]));
        assert!(spans.len() > 100, "{name}: {}", spans.len());
        for span in &spans {
            for end in ends(span) {
                assert!(known.contains(&end), "{name}: {end:?} of {span}");
            }
        }
    }
}

#[test]
fn addresses_namespaces_and_windows_choose_traces() {
    let count = |words: &[&str]| {
        let printed = run(&[words, &["--format", "otlp", "--out", "-"]].concat());
        assert!(printed.status.success(), "{words:?}: {}", all(&printed));
        spans(&printed.stdout).len()
    };
    let everything = count(&[]);
    for words in [&["-n", "web"][..], &["deploy/tomcat", "-n", "web"], &["node/node2"], &["--since", "2500"], &["--until", "1000"]] {
        let some = count(words);
        assert!(some > 0 && some < everything, "{words:?}: {some} of {everything}");
    }
    let nothing = run(&["configmaps", "-A", "--format", "otlp", "--out", "-"]);
    assert_eq!((nothing.status.code(), nothing.stdout.len()), (Some(1), 0), "{}", all(&nothing));
}

#[test]
fn perfetto_is_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("story.pftrace");
    let written = run(&["--format", "perfetto", "--out", path.to_str().unwrap()]);
    assert!(written.status.success(), "{}", all(&written));
    let file = fs::read(&path).unwrap();
    assert!(file[0] == 0x0a && file.len() > 10_000, "{}", file.len());
    assert!(run(&["--format", "perfetto", "--out", path.to_str().unwrap()]).status.success(), "its own file is replaced");
    assert_eq!(fs::read(&path).unwrap(), file);
}

#[test]
fn flags_that_do_not_go_together_are_refused_and_so_is_a_file_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let (path, foreign) = (folder.path().join("new"), folder.path().join("notes"));
    fs::write(&foreign, "mine").unwrap();
    let (new, foreign) = (path.to_str().unwrap(), foreign.to_str().unwrap());
    for (words, message) in [
        (&["--format", "otlp", "--tables", "history", "--out", new][..], "choose rows of tables"),
        (&["--format", "perfetto", "--endpoint", "http://127.0.0.1:1"], "takes traces of OTLP alone"),
        (&["--endpoint", "http://127.0.0.1:1"], "are for traces"),
        (&["--trace-parent", "a", "--out", new], "are for traces"),
        (&["--format", "otlp"], "--out"),
        (&["--format", "otlp", "--out", new, "--endpoint", "http://127.0.0.1:1"], "cannot be used with"),
        (&["--format", "otlp", "--out", foreign], "not a file of traces that ketcd wrote"),
        (&["--format", "otlp", "--endpoint", "127.0.0.1:4318"], "invalid --endpoint"),
        (&["--format", "otlp", "--endpoint", "http://127.0.0.1:1"], "cannot send traces to http://127.0.0.1:1/v1/traces"),
    ] {
        let refused = run(words);
        assert_eq!(refused.status.code(), Some(2), "{words:?}: {}", all(&refused));
        assert!(String::from_utf8_lossy(&refused.stderr).contains(message), "{words:?}: {}", all(&refused));
        assert!(!path.exists(), "{words:?} wrote a file");
    }
    assert_eq!(fs::read(foreign).unwrap(), b"mine");
}

/// Takes requests until the sender ends its connection, and answers each with `answer`; returns their bodies.
fn take(listener: &TcpListener, answer: &str) -> Vec<Vec<u8>> {
    let (mut stream, _) = listener.accept().unwrap();
    let (mut bodies, mut heard) = (Vec::new(), Vec::new());
    let mut some = [0; 1 << 16];
    loop {
        let head = heard.windows(4).position(|part| part == b"\r\n\r\n").map(|end| end + 4);
        if let Some(head) = head {
            let text = String::from_utf8_lossy(&heard[..head]).to_lowercase();
            let length = text.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap().parse::<usize>().unwrap();
            if heard.len() >= head + length {
                bodies.push(heard[head..head + length].to_vec());
                heard.drain(..head + length);
                stream.write_all(answer.as_bytes()).unwrap();
                continue;
            }
        }
        match stream.read(&mut some).unwrap() {
            0 => return bodies,
            read => heard.extend_from_slice(&some[..read]),
        }
    }
}

#[test]
fn a_server_gets_what_the_file_has() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let taker = thread::spawn(move || take(&listener, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    let sent = run(&["--format", "otlp", "--endpoint", &endpoint]);
    assert!(sent.status.success(), "{}", all(&sent));
    let bodies = taker.join().unwrap();
    assert!(bodies.iter().all(|body| body.len() < 1 << 20));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traces.pb");
    assert!(run(&["--format", "otlp", "--out", path.to_str().unwrap()]).status.success());
    assert_eq!(bodies.concat(), fs::read(path).unwrap());
}

#[test]
fn what_a_server_refuses_is_quoted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let answer = "HTTP/1.1 413 Payload Too Large\r\nContent-Length: 8\r\n\r\ntoo\u{1b}[31m";
    let taker = thread::spawn(move || take(&listener, answer));
    let refused = run(&["--format", "otlp", "--endpoint", &endpoint]);
    taker.join().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(message.contains("answered 413 Payload Too Large: too\\x1b[31m"), "{message}");
}

#[test]
fn objects_of_one_moment_have_no_traces() {
    let objects = ketcd().arg("-f").arg(capture(STORY)).args(["get", "pods", "-A", "-o", "yaml"]).output().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("objects.yaml");
    fs::write(&path, objects.stdout).unwrap();
    let refused = ketcd().arg("-f").arg(&path).args(["export", "--format", "otlp", "--out", "-"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", all(&refused));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("traces need a history"), "{}", all(&refused));
}

/// A database of more changes than a story holds at once: a pod in each of two namespaces, written again and again.
fn many_changes() -> Vec<u8> {
    const CHANGES: usize = 10_500;
    let pod = |namespace: &str, node: Value, status: Value| {
        let metadata =
            json!({"name": "app", "namespace": namespace, "uid": format!("uid-{namespace}"), "creationTimestamp": "2026-11-20T10:00:00Z"});
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": node}, "status": status}).to_string()
    };
    let namespaces = ["a", "a-b"];
    let mut written = Written::default();
    let mut put = |node: &Value, status: &Value| {
        for namespace in namespaces {
            written.put(&format!("/registry/pods/{namespace}/app"), pod(namespace, node.clone(), status.clone()));
        }
    };
    put(&Value::Null, &json!({}));
    (1..CHANGES).for_each(|_| put(&json!("n1"), &json!({})));
    put(&json!("n1"), &json!({"conditions": [{"type": "Ready", "status": "True"}]}));
    let later = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "a", "uid": "c", "creationTimestamp": "2026-11-20T10:06:00Z"}});
    written.put("/registry/configmaps/a/c", later.to_string());
    written.finish()
}

#[test]
fn many_changes_are_told_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.db");
    fs::write(&path, many_changes()).unwrap();
    let run = |words: &[&str]| {
        let output = ketcd().arg("-f").arg(&path).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", all(&output));
        output.stdout
    };
    let items = |text: &[u8]| serde_json::from_slice::<Value>(text).unwrap()["items"].as_array().unwrap().clone();
    let whole = items(&run(&["timeline", "pods", "-A", "-o", "json"]));
    // Keys are in another order than names: `-` is before `/`.
    let apart =
        [items(&run(&["timeline", "pods", "-n", "a-b", "-o", "json"])), items(&run(&["timeline", "pods", "-n", "a", "-o", "json"]))];
    assert_eq!(whole, apart.concat());
    let parts = lines(&run(&["timeline", "pods", "-A", "-o", "ndjson"]));
    assert_eq!(parts, whole);
    let text = String::from_utf8(run(&["timeline", "pods", "-A"])).unwrap();
    assert!(["pod/a/app", "pod/a-b/app", "Ready"].iter().all(|word| text.contains(word)), "{text}");
    let exported = spans(&run(&["export", "--format", "otlp", "--out", "-"]));
    let starts: Vec<&Value> = exported.iter().filter(|span| span["name"] == "pod start").collect();
    assert_eq!(starts.len(), 2, "{exported:?}");
    let perfetto = folder.path().join("many.pftrace");
    let written = run(&["export", "--format", "perfetto", "--out", perfetto.to_str().unwrap(), "-o", "json"]);
    let summary: Value = serde_json::from_slice(&written).unwrap();
    assert_eq!((summary["traces"].as_u64(), summary["spans"].as_u64()), (Some(2), Some(exported.len() as u64)), "{summary}");
    let none = ketcd().arg("-f").arg(&path).args(["timeline", "pods", "-A", "--since", "21003", "-o", "json"]).output().unwrap();
    assert_eq!(none.status.code(), Some(1), "{}", all(&none));
}
