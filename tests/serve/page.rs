//! The page that `serve --ui` gives: its files, what its questions are answered with, who may ask, and how much an answer holds.

use serde_json::{Value, json};

use ketcd_render::browser::Link;
use ketcd_render::command_line::Invocation;

use crate::schema;
use crate::server::Server;

const STORY_CAPTURE: &str = "k120-story/snapshot.db.zst";
const HOSTILE_CAPTURE: &str = "../hostile/snapshot.db.zst";

fn start(file: &str, flags: &[&str]) -> Server {
    Server::start_with(file, flags, &["--ui"])
}

/// The schema of one answer.
fn schema_of(answer: &str) -> Value {
    let mut schema = ketcd_render::contract::find("ui").unwrap().schema();
    let root = schema.as_object_mut().unwrap();
    root.remove("anyOf").unwrap();
    root.insert("$ref".to_owned(), json!(format!("#/$defs/{answer}")));
    schema
}

/// An answer that keeps its schema.
#[track_caller]
fn asked(server: &Server, question: &str, answer: &str) -> Value {
    let found = server.found(&format!("/ui/api/{question}"));
    let schema = schema_of(answer);
    schema::know(&schema, &schema);
    if let Err(fault) = schema::check(&schema, &found) {
        panic!("{question}: {} breaks the schema: {found}", fault.pointer());
    }
    found
}

fn rows(answer: &Value) -> Vec<&Value> {
    answer["rows"].as_array().unwrap().iter().collect()
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[test]
fn every_question_is_answered_as_its_schema_says() {
    let server = start(STORY_CAPTURE, &[]);
    let window = asked(&server, "window?buckets=200", "PageWindow");
    assert_eq!((&window["last"]["revision"], &window["live"], &window["release"]), (&json!(1787), &json!(false), &json!("1.20")));
    assert_eq!(window["density"]["counts"].as_array().unwrap().len(), 200);
    let findings = asked(&server, "findings", "PageFindings");
    assert!(!findings["triage"]["findings"].as_array().unwrap().is_empty());
    assert_eq!(findings["places"].as_object().unwrap().values().filter(|place| place["turnedOut"] == "over").count(), 0, "{findings}");
    for grouping in ["namespace", "owner", "node", "none"] {
        let all = asked(&server, &format!("rows?group={grouping}&limit=500&quiet=true"), "PageRows");
        assert!(rows(&all).len() > 100 && all["counts"]["quiet"] == 0, "{grouping}: {}", all["counts"]);
    }
    let pods = asked(&server, "rows?kind=Pod&namespace=web", "PageRows");
    let pod = rows(&pods)[0]["address"].as_str().unwrap().to_owned();
    for (question, answer) in [
        ("object?object=deploy%2Fweb%2Ftomcat".to_owned(), "PageObject"),
        ("history?object=deploy%2Fweb%2Ftomcat".to_owned(), "PageHistory"),
        ("diff?object=deploy%2Fweb%2Ftomcat&from=r600&to=r800".to_owned(), "PageDiff"),
        (format!("timeline?object={}", encoded(&pod)), "PageTimelines"),
        (format!("decision?object={}", encoded(&pod)), "PageDecision"),
        ("decision?object=pod%2Flab%2Fspread-5".to_owned(), "PageDecision"),
        ("node?object=node%2Fnode2".to_owned(), "PageNode"),
        ("changed?from=r600&to=r800".to_owned(), "PageChanged"),
    ] {
        let found = asked(&server, &question, answer);
        assert!(found["command"].as_str().unwrap().starts_with("ketcd "), "{question}: {found}");
    }
}

#[test]
fn of_many_findings_the_weightiest_are_shown_and_the_others_counted() {
    let pod = |number: usize| {
        let owner = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "name": format!("d{number}"), "uid": format!("u{number}"), "controller": true});
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": format!("p{number}"), "namespace": "shop", "creationTimestamp": "2026-11-20T00:00:00Z", "ownerReferences": [owner]},
            "spec": {"nodeName": "a", "containers": [{"name": "c", "image": "i"}]},
            "status": {"phase": "Running", "containerStatuses": [{"name": "c", "ready": false, "restartCount": 7, "image": "i", "imageID": "",
                "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}})
    };
    let pods: Vec<Value> = (0..203).map(pod).collect();
    let file = tempfile::NamedTempFile::with_suffix(".json").unwrap();
    std::fs::write(file.path(), json!({"apiVersion": "v1", "kind": "List", "items": pods}).to_string()).unwrap();
    let server = start(file.path().to_str().unwrap(), &[]);
    let findings = asked(&server, "findings", "PageFindings");
    assert_eq!((findings["triage"]["findings"].as_array().unwrap().len(), &findings["findingsLeft"]), (200, &json!(3)));
    assert_eq!(findings["places"].as_object().unwrap().len(), 200);
}

#[test]
fn an_object_is_shown_as_it_was_with_who_set_its_lines() {
    let server = start(STORY_CAPTURE, &[]);
    let then = asked(&server, "object?object=deploy%2Fweb%2Ftomcat&at=r600", "PageObject");
    assert_eq!((&then["state"], &then["object"]["kind"]), (&json!("there"), &json!("Deployment")));
    let lines: Vec<&str> = then["lines"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert!(lines.contains(&"kind: Deployment") && !lines.iter().any(|line| line.contains("managedFields")), "{lines:#?}");
    let set = then["lines"].as_array().unwrap().iter().map(|line| line["set"].as_u64().unwrap() as usize).max().unwrap();
    assert!(set < then["setters"].as_array().unwrap().len());
    let owned = then["owned"].as_array().unwrap();
    assert!(owned.iter().any(|owned| owned["kind"] == "ReplicaSet"), "{owned:?}");
    let before = asked(&server, "object?object=deploy%2Fweb%2Ftomcat&at=r10", "PageObject");
    assert_eq!(before["state"], "notYet");
    assert_eq!(server.get("/ui/api/object?object=deploy%2Fweb%2Fnobody").0, 404);
    assert_eq!(server.get("/ui/api/object?object=pods").0, 400);
    // The patches of its versions make the object that is shown.
    let history = asked(&server, "history?object=deploy%2Fweb%2Ftomcat&to=r600", "PageHistory");
    let mut object = Value::Null;
    for version in history["versions"].as_array().unwrap() {
        match version.get("patch") {
            Some(patch) => json_patch::patch(&mut object, &serde_json::from_value::<json_patch::Patch>(patch.clone()).unwrap()).unwrap(),
            None => object = version["object"].clone(),
        }
    }
    assert_eq!(object, then["object"]);
}

#[test]
fn rows_are_filtered_counted_and_paged() {
    let server = start(STORY_CAPTURE, &[]);
    let all = asked(&server, "rows?group=none&limit=500", "PageRows");
    let counts = &all["counts"];
    let number = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!(number("objects"), number("matching") + number("filtered") + number("quiet"), "{counts}");
    assert_eq!(all["total"].as_u64().unwrap(), number("matching"));
    let by_name = asked(&server, "rows?q=tomcat&kind=Pod&group=none&limit=500", "PageRows");
    assert!(rows(&by_name).len() > 2 && rows(&by_name).iter().all(|row| row["name"].as_str().unwrap().contains("tomcat")));
    assert!(by_name["counts"]["filtered"].as_u64().unwrap() > 0 && by_name["counts"]["deleted"].as_u64().unwrap() > 0);
    let by_user = asked(&server, "rows?by=kubectl&group=none&limit=500", "PageRows");
    assert!(!rows(&by_user).is_empty() && rows(&by_user).len() < rows(&all).len());
    let refused = asked(&server, "rows?reason=FailedScheduling&group=none&limit=500", "PageRows");
    assert!(rows(&refused).iter().any(|row| row["kind"] == "Pod"), "{refused}");
    let labelled = asked(&server, "rows?label=app%3Dtomcat&kind=Pod&group=none&limit=500", "PageRows");
    assert!(rows(&labelled).len() > 2, "{labelled}");
    // Page by page the same rows come in the same order.
    let addresses = |answer: &Value| rows(answer).iter().map(|row| format!("{} {}", row["address"], row["uid"])).collect::<Vec<_>>();
    let mut paged = Vec::new();
    for offset in (0..rows(&all).len()).step_by(50) {
        paged.extend(addresses(&asked(&server, &format!("rows?group=none&in=all&offset={offset}&limit=50"), "PageRows")));
    }
    assert_eq!(paged, addresses(&all));
    // A group alone, and a stretch of time alone.
    let group = all["groups"][0]["id"].as_str().unwrap();
    assert_eq!(rows(&asked(&server, &format!("rows?group=none&in={group}&limit=9999"), "PageRows")).len(), rows(&all).len().min(500));
    let some = asked(&server, "rows?from=r600&to=r700&group=none&limit=500", "PageRows");
    assert!(some["counts"]["quiet"].as_u64().unwrap() > 0 && rows(&some).len() < rows(&all).len());
    for row in rows(&some) {
        assert!(row["ticks"].as_array().unwrap().iter().all(|tick| (601..=700).contains(&tick[3].as_i64().unwrap())), "{row}");
    }
}

/// The command of each answer is the one that a link of the same view shows: `ketcd --link`.
#[test]
fn the_command_of_a_view_is_that_of_its_link() {
    let server = start(STORY_CAPTURE, &[]);
    let pod = "object=pod%2Flab%2Fspread-5";
    for (question, field, link) in [
        ("findings?at=r812".to_owned(), "command", "at=r812".to_owned()),
        ("rows?to=r900".to_owned(), "command", "to=r900".to_owned()),
        (
            "rows?from=r600&to=r800&kind=Pod&namespace=web&label=app%3Dtomcat&node=node3".to_owned(),
            "command",
            "from=r600&to=r800&kind=Pod&namespace=web&label=app%3Dtomcat&node=node3".to_owned(),
        ),
        ("rows?revision=r812".to_owned(), "command", "revision=r812".to_owned()),
        ("changed?from=r600&to=r800&namespace=web".to_owned(), "command", "view=changed&a=r600&b=r800&namespace=web".to_owned()),
        (format!("timeline?{pod}&at=r900"), "command", format!("{pod}&at=r900")),
        (format!("object?{pod}&at=r900"), "command", format!("{pod}&tab=yaml&at=r900")),
        (format!("object?{pod}&at=r900"), "eventsCommand", format!("{pod}&tab=events&at=r900")),
        (format!("object?{pod}&at=r900"), "relatedCommand", format!("{pod}&tab=related&at=r900")),
        (format!("diff?{pod}&from=r600&to=r900"), "command", format!("{pod}&tab=diff&a=r600&b=r900")),
        (format!("history?{pod}"), "command", format!("{pod}&tab=diff")),
        (format!("decision?{pod}"), "command", format!("{pod}&tab=decision")),
        (format!("decision?{pod}&at=r900&node=node2"), "command", format!("{pod}&tab=decision&at=r900&pick=node2")),
        ("node?object=node%2Fnode2&at=r900".to_owned(), "command", "object=node%2Fnode2&tab=node&at=r900".to_owned()),
    ] {
        let view = Link::read(&format!("http://127.0.0.1/ui/#{link}")).unwrap().view;
        let command = server.found(&format!("/ui/api/{question}"))[field].as_str().unwrap().to_owned();
        let expected = view.command(&Invocation::new("", []));
        assert!(command.starts_with("ketcd ") && command.ends_with(&expected.to_string()), "{question}: {command}, not {expected}");
    }
}

#[test]
fn pods_are_where_they_run() {
    let server = start(STORY_CAPTURE, &[]);
    let by_node = asked(&server, "rows?group=node&kind=Pod&limit=500", "PageRows");
    let groups: Vec<&str> = by_node["groups"].as_array().unwrap().iter().map(|group| group["id"].as_str().unwrap()).collect();
    assert!(["node:node1", "node:node2", "node:node3", "node:node4"].iter().all(|node| groups.contains(node)), "{groups:?}");
    assert!(
        rows(&by_node)
            .iter()
            .filter(|row| row["node"].is_string())
            .all(|row| row["group"] == format!("node:{}", row["node"].as_str().unwrap()))
    );
    let node = asked(&server, "node?object=node%2Fnode2", "PageNode");
    let names: Vec<&str> = node["pods"].as_array().unwrap().iter().map(|pod| pod["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"spread-1") && names.iter().any(|name| name.starts_with("agent-")), "{names:?}");
    let on_node = asked(&server, "rows?node=node2&kind=Pod&group=none&limit=500", "PageRows");
    assert!(rows(&on_node).iter().all(|row| row["node"] == "node2") && rows(&on_node).len() == names.len(), "{names:?}");
}

#[test]
fn an_object_that_is_looked_for_has_a_row() {
    let server = start(STORY_CAPTURE, &[]);
    let question = "rows?group=namespace&limit=500&from=r1000&to=r1010";
    let all = asked(&server, question, "PageRows");
    assert!(all["found"].is_null());
    // Nothing happened to it there.
    let with = asked(&server, &format!("{question}&object=pod%2Flab%2Fubuntu"), "PageRows");
    let row = |answer: &Value| rows(answer).iter().position(|row| row["address"] == "pod/lab/ubuntu");
    assert_eq!((row(&all), with["total"].as_u64()), (None, all["total"].as_u64().map(|total| total + 1)), "{}", with["found"]);
    let of_group: Vec<&Value> = rows(&with).into_iter().filter(|row| row["group"] == with["found"]["group"]).collect();
    assert_eq!(of_group[with["found"]["index"].as_u64().unwrap() as usize]["address"], "pod/lab/ubuntu");
    // What a filter hides stays hidden.
    assert!(asked(&server, &format!("{question}&object=pod%2Flab%2Fubuntu&kind=Node"), "PageRows")["found"].is_null());
    assert!(asked(&server, &format!("{question}&object=pod%2Flab%2Fnobody"), "PageRows")["found"].is_null());
}

#[test]
fn data_needs_the_token_and_the_page_itself_holds_none() {
    let server = start(STORY_CAPTURE, &[]);
    let nobody = [("authorization", "Basic x")];
    let (code, page) = server.send("GET", "/ui/", &nobody, "");
    assert_eq!(code, 200);
    assert!(!page.contains("style=") && !page.contains("<style") && !page.contains(server.token()), "{page}");
    let scripts: Vec<&str> = page.split("<script").skip(1).collect();
    assert!(scripts.len() == 1 && scripts[0].contains(" src=\"/ui/page.") && scripts[0].contains("integrity=\"sha256-"), "{page}");
    for part in ["src=\"", "stylesheet\" href=\""] {
        let file = page.split(part).nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(server.send("GET", file, &nobody, "").0, 200, "{file}");
    }
    for name in ["window", "findings", "rows", "object", "history", "diff", "timeline", "decision", "node", "changed", "nothing", ""] {
        let path = format!("/ui/api/{name}");
        assert_eq!(server.send("GET", &path, &nobody, "").0, 401, "{path}");
        assert_eq!(server.code(&path, &[("origin", "https://evil.example")]), Some(403), "{path}");
    }
    assert_eq!(server.code("/ui/", &[("host", "evil.example")]), Some(403));
    assert_eq!(server.get("/ui/api/nothing").0, 404);
    assert_eq!(server.send("POST", "/ui/api/window", &[], "").0, 404);
    // Without the flag there is none.
    assert_eq!(Server::start(STORY_CAPTURE, &[]).get("/ui/").0, 404);
}

#[test]
fn browsers_are_told_to_run_nothing_else_and_to_keep_nothing() {
    let server = start(STORY_CAPTURE, &[]);
    let page = server.headers("/ui/", &[]);
    let policy = page["content-security-policy"].to_str().unwrap();
    for rule in
        ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "trusted-types"]
    {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
    let answer = server.headers("/ui/api/window", &[]);
    assert_eq!(answer["content-type"], "application/json");
    for headers in [&page, &answer] {
        assert_eq!(
            (&headers["x-content-type-options"], &headers["referrer-policy"]),
            (&"nosniff".parse().unwrap(), &"no-referrer".parse().unwrap())
        );
    }
    assert_eq!((&answer["cache-control"], answer.contains_key("etag")), (&"no-store".parse().unwrap(), true));
    // Nothing is sent again while nothing happened.
    let tag = answer["etag"].to_str().unwrap();
    assert_eq!(server.code("/ui/api/rows", &[("if-none-match", tag)]), Some(304));
}

#[test]
fn hostile_data_stays_text() {
    let server = start(HOSTILE_CAPTURE, &[]);
    let answer = asked(&server, "rows?group=none&in=all&limit=500&quiet=true", "PageRows");
    assert!(rows(&answer).len() > 3);
    for row in rows(&answer) {
        let object = encoded(row["address"].as_str().unwrap());
        for (question, kind) in [("object", "PageObject"), ("history", "PageHistory"), ("timeline", "PageTimelines"), ("diff", "PageDiff")]
        {
            asked(&server, &format!("{question}?object={object}"), kind);
        }
        if row["kind"] == "Pod" {
            let (code, answer) = server.get(&format!("/ui/api/decision?object={object}"));
            assert!(matches!(code, 200 | 404), "{answer}");
        }
    }
    for (question, kind) in [("window", "PageWindow"), ("findings", "PageFindings"), ("changed", "PageChanged")] {
        asked(&server, question, kind);
    }
    // No control character comes as itself.
    let (_, text) = server.send("GET", "/ui/api/rows?group=none&in=all&limit=500&quiet=true", &[], "");
    assert!(!text.contains(|char: char| char.is_ascii_control()), "{text}");
}

#[test]
fn secrets_are_masked_in_every_answer() {
    let server = start(STORY_CAPTURE, &[]);
    let secrets = asked(&server, "rows?kind=Secret&group=none&in=all&limit=500&quiet=true", "PageRows");
    assert!(!rows(&secrets).is_empty());
    for row in rows(&secrets).into_iter().take(12) {
        let object = encoded(row["address"].as_str().unwrap());
        for question in ["object", "history", "diff", "timeline"] {
            let (code, text) = server.send("GET", &format!("/ui/api/{question}?object={object}"), &[], "");
            // What every token of a service account begins with, as base64.
            assert!(code == 200 && !text.contains("ZXlKaGJHY2lPaUpT") && !text.contains("LS0tLS1CRUdJTi"), "{question}: {text}");
        }
    }
}

#[test]
fn wrong_questions_are_refused_in_a_sentence() {
    let server = start(STORY_CAPTURE, &[]);
    for (question, code) in [
        ("rows?group=colour", 400),
        ("rows?limit=some", 400),
        ("rows?from=r99999999", 400),
        ("rows?label=a%20in", 400),
        ("findings?at=yesterday%20evening", 400),
        ("object", 400),
        ("object?object=nokind%2Fa%2Fb", 400),
        ("decision?object=node%2Fnode1", 400),
        ("node?object=deploy%2Fweb%2Ftomcat", 400),
        ("decision?object=pod%2Fweb%2Fnobody", 404),
    ] {
        let (found, status) = server.get(&format!("/ui/api/{question}"));
        assert!(found == code && status["message"].as_str().is_some_and(|message| !message.is_empty()), "{question}: {found} {status}");
    }
    let nobody = [("impersonate-user", "jane")];
    assert_eq!(server.code("/ui/api/window", &nobody), Some(403));
}
