//! The report, opened in a real headless browser: rows, bars, a click that opens a diff, search, no error, no request.
//!
//! The browser is Chromium from `KETCD_TEST_CHROMIUM` or the PATH; `tools/test` installs one.

use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// What every probe begins with: problems are collected, and whatever the policy blocks is one.
const PROBE_BEGINNING: &str = r##"
"use strict";
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
// Virtual time waits neither for frames nor for blobs that are inflated, but jumps to the next timer. So there is always one, and each turn reads a blob,
// which takes real time.
const ticking = setInterval(() => {}, 1);
const next_turn = async () => { await wait(1); await new Blob(["."]).text(); };
const until = async (found) => { for (let n = 0; n < 1000000 && !found(); n++) await next_turn(); return found(); };
const problems = [];
addEventListener("error", (event) => problems.push(String(event.message)));
addEventListener("unhandledrejection", (event) => problems.push(String(event.reason)));
document.addEventListener("securitypolicyviolation", (event) => problems.push("blocked " + event.blockedURI));
for (const level of ["error", "warn"]) console[level] = (...what) => problems.push(what.join(" "));
const type = (text) => { const box = document.querySelector("#search"); box.value = text; box.dispatchEvent(new Event("input")); };
const names = () => [...document.querySelectorAll(".row:not(.space)")].map((row) => row.querySelector(".name").title);
const result = {};
"##;

/// What every probe ends with: what it found goes into the document for `--dump-dom` to show.
const PROBE_END: &str = r##"
read().catch((error) => problems.push(String(error.stack))).then(() => {
  result.requests = performance.getEntriesByType("resource").length;
  result.problems = problems;
  const answer = document.createElement("script");
  answer.type = "application/json"; answer.id = "answer"; answer.textContent = JSON.stringify(result).replaceAll("<", "\\u003c");
  document.body.append(answer);
  clearInterval(ticking);
});
"##;

/// Drives the page as a reader would.
const READER_PROBE: &str = r##"
const read = async () => {
  await until(() => document.querySelector(".row .bar"));
  result.rows = names().length;
  result.chips = [...document.querySelectorAll(".chip")].map((chip) => chip.textContent);
  document.querySelectorAll(".chip")[0].click();
  await until(() => document.querySelector(".panel h2"));
  result.standing = document.querySelector(".panel h2").textContent;
  result.bars = document.querySelectorAll(".row .bar").length;
  result.ticks = document.querySelectorAll(".row .tick").length;
  result.count = document.querySelector(".count").textContent;
  type("pod/lab/ubuntu running");
  await until(() => names().length > 0 && names().every((name) => name.startsWith("Pod lab/ubuntu")));
  result.found = names();
  document.querySelector(".row:not(.space) .tick:nth-of-type(1)").click();
  await until(() => document.querySelector(".panel .diff"));
  result.heading = document.querySelector(".panel h2").textContent;
  for (const change of document.querySelectorAll(".panel .change > button")) if (!change.parentNode.querySelector(".diff")) change.click();
  result.diff = document.querySelector(".panel .body").textContent;
  [...document.querySelectorAll(".tabs button")].find((tab) => tab.textContent === "Scheduling").click();
  result.matrix = document.querySelector(".matrix").textContent;
  result.chosen = document.querySelector("tr.chosen td")?.textContent;
  document.querySelector(".panel .close").click();
  result.closed = document.querySelector(".panel").hidden;
  type("nothing is called like this");
  await until(() => document.querySelector(".empty"));
  result.none = names().length;
  type("");
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }));
  await until(() => document.querySelector('.row[aria-selected="true"]'));
  result.picked = document.querySelectorAll('.row[aria-selected="true"]').length;
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "?", bubbles: true }));
  const dialog = document.querySelector("#keys");
  // The browser closes it at Escape, unless the page takes the key for itself.
  result.escapes = dialog.open && dialog.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true }));
  dialog.close();
  const some = [...data.rows];
  while (data.rows.length < 5000) data.rows.push({ ...some[data.rows.length % some.length], id: data.rows.length });
  choose();
  document.querySelector(".rows").scrollTop = 40000;
  await until(() => document.querySelector(".row:not(.space)") && Number(document.querySelector(".row:not(.space)").dataset.id) >= some.length);
  result.drawn = document.querySelectorAll(".row").length;
  document.querySelector("#in").click();
  result.zoomed = await until(() => view.to - view.from < SPAN);
};
"##;

/// Opens every row with every tab and every change, and says what became of the page.
const OPENER_PROBE: &str = r##"
const read = async () => {
  view.hidden.clear();
  choose();
  await until(() => names().length >= 7);
  result.names = names();
  let shown = "";
  for (const row of data.rows) {
    await open(row);
    for (const tab of view.open.tabs) {
      view.open.tab = tab; show();
      for (const change of document.querySelectorAll(".panel .change > button")) if (!change.parentNode.querySelector(".diff")) change.click();
      shown += document.querySelector(".panel").textContent;
    }
    if (row.n === "proto") result.object = document.querySelector(".panel pre")?.textContent;
  }
  result.title = document.title;
  result.shows = ["<\/script><script>window.owned=1<\/script>", '" onmouseover="window.owned=3', "\u202e"].filter((text) => shown.includes(text)).length;
  result.owned = String(window.owned);
  result.polluted = String({}.polluted);
  result.scripts = document.querySelectorAll("script").length;
  result.foreign = document.querySelectorAll("img, iframe, object, embed, link, base, [onmouseover], [onerror], [href], [src]").length;
};
"##;

/// Does what data would do if it got out: runs a script, loads an image, asks the network, sends a form.
const INTRUDER_PROBE: &str = r##"
const read = async () => {
  const script = document.createElement("script");
  script.textContent = "window.owned = 1";
  const image = document.createElement("img");
  image.setAttribute("onerror", "window.owned = 2");
  image.src = "http://127.0.0.1:9/image";
  document.body.append(script, image);
  await fetch("http://127.0.0.1:9/fetched").catch(() => {});
  await until(() => problems.length >= 3);
  result.owned = String(window.owned);
};
"##;

#[test]
fn the_story_is_read_and_clicked_through() {
    let folder = tempfile::tempdir().unwrap();
    let seen = open(folder.path(), &page(folder.path(), "k120-story", &[]), READER_PROBE);
    assert_eq!(seen["problems"], Value::Array(Vec::new()));
    assert_eq!(seen["requests"], 0);
    assert!(number(&seen, "rows") > 10 && number(&seen, "bars") > 10 && number(&seen, "ticks") > 20, "{seen}");
    // The same words and weights as triage's.
    let chips: Vec<&str> = seen["chips"].as_array().unwrap().iter().map(|chip| chip.as_str().unwrap()).collect();
    assert!(chips[0].starts_with("node/node2 silent, 6 min ") && !chips[0].ends_with(", still"), "{chips:?}");
    assert!(chips[1].starts_with("pod/web/crasher CrashLoopBackOff, 7 min ") && chips[1].ends_with(", still"), "{chips:?}");
    assert!(chips[2].starts_with("pod/web/tomcat-7f6f6db99b-sj7wj unschedulable, ") && chips[2].ends_with(", still"), "{chips:?}");
    assert_eq!((chips.len(), &seen["standing"]), (8, &"Node node2".into()), "{chips:?}");
    assert_eq!(seen["found"][0], "Pod lab/ubuntu");
    assert_eq!(seen["heading"], "Pod lab/ubuntu");
    let diff = seen["diff"].as_str().unwrap();
    assert!(diff.contains("spec.nodeName  node3") && diff.contains("status.phase  Pending → Running"), "{diff}");
    let matrix = seen["matrix"].as_str().unwrap();
    assert!(["node1", "node2", "node3", "node4", "InterPodAffinity"].iter().all(|word| matrix.contains(word)), "{matrix}");
    assert_eq!(seen["chosen"], "node3");
    assert_eq!(seen["closed"], true);
    assert_eq!(seen["none"], 0);
    assert_eq!((&seen["picked"], &seen["escapes"]), (&1.into(), &true.into()));
    assert_eq!(seen["zoomed"], true);
    assert!((10..120).contains(&number(&seen, "drawn")), "of 5,000 objects only those in sight should be drawn: {}", seen["drawn"]);
}

/// Names, reasons and messages that would like to be markup, script or a prototype are shown as they are written.
#[test]
fn data_stays_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    let hostile = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/hostile/snapshot.db.zst");
    let title = "</title><script>window.owned=4</script>";
    run(&["-f", hostile, "report", "--out", path.to_str().unwrap(), "--title", title]);
    let seen = open(folder.path(), &path, OPENER_PROBE);
    assert_eq!(seen["problems"], Value::Array(Vec::new()));
    assert_eq!((&seen["owned"], &seen["polluted"], &seen["requests"]), (&"undefined".into(), &"undefined".into(), &0.into()));
    // The page's data, its details, its script and the probe; nothing that loads or listens.
    assert_eq!((number(&seen, "scripts"), number(&seen, "foreign")), (4, 0), "{seen}");
    assert_eq!((&seen["title"], number(&seen, "shows")), (&title.into(), 3), "{seen}");
    let object: Value = serde_json::from_str(seen["object"].as_str().unwrap()).unwrap();
    let spec = r#"{"a":1,"__proto__":{"x":"two","polluted":2},"constructor":{"prototype":{"polluted":4,"x":"no"}}}"#;
    assert_eq!(object["spec"], serde_json::from_str::<Value>(spec).unwrap());
}

#[test]
fn the_page_runs_its_own_script_alone_and_asks_no_network() {
    let folder = tempfile::tempdir().unwrap();
    let seen = open(folder.path(), &page(folder.path(), "k120-story", &["node/node1"]), INTRUDER_PROBE);
    assert_eq!(seen["owned"], "undefined");
    let blocked = seen["problems"].to_string();
    for what in ["blocked inline", "blocked http://127.0.0.1:9/image", "blocked http://127.0.0.1:9/fetched"] {
        assert!(blocked.contains(what), "{blocked}");
    }
}

/// Clicks what stands for objects without rows, and the pod that fits no node.
const SUMMARY_PROBE: &str = r##"
const read = async () => {
  await until(() => document.querySelector(".row .bar"));
  result.count = document.querySelector(".count").textContent;
  result.total = data.rows.reduce((sum, row) => sum + (row.q ? row.q.reduce((sum, state) => sum + state[2], 0) : 1), 0);
  result.rows = data.rows.filter((row) => !row.q).length;
  result.storied = data.rows.filter((row) => row.k === "Pod" && row.s.some((state) => state[1] === "bad" || state[1] === "waiting")).map((row) => row.n);
  const counted = data.rows.find((row) => row.q && row.k === "Pod");
  find(counted);
  await until(() => document.querySelector(".panel .state"));
  result.counted = document.querySelector(".panel").textContent;
  await until(() => document.querySelector('.row[aria-selected="true"] .bar'));
  result.bar = document.querySelector('.row[aria-selected="true"] .bar').textContent;
  const decided = data.rows.find((row) => row.a);
  if (decided) {
    await open(decided, null, "Scheduling");
    result.scheduling = document.querySelector(".panel .body").textContent;
  }
  type(counted.n.split(" ")[0] + " nothing is called like this");
  await until(() => document.querySelector(".empty"));
  result.empty = document.querySelector(".empty").textContent;
};
"##;

/// Says how long the page took until its rows were laid out; before the document is complete, so that `--dump-dom` shows it.
const OPENING_PROBE: &str = r##"
paint();
document.body.dataset.height = document.querySelector(".row .bar").getBoundingClientRect().height;
document.body.dataset.opened = performance.now();
"##;

/// With more objects than fit on a page, those with something to show have rows and the others are counted; none is lost.
/// `KETCD_SCALE_CAPTURE=FILE` looks at a large cluster's file instead of a made-up one. How long the page took to open is printed.
#[test]
#[allow(clippy::print_stdout, reason = "the time is what it is run for")]
fn a_large_cluster_is_summarised_nightly() {
    let folder = tempfile::tempdir().unwrap();
    let synthetic = folder.path().join("synthetic.db");
    let file = std::env::var("KETCD_SCALE_CAPTURE").unwrap_or_else(|_| {
        ketcd_synthetic::write(5_000, 1, &synthetic).unwrap();
        synthetic.to_str().unwrap().to_owned()
    });
    let path = folder.path().join("report.html");
    run(&["-f", &file, "--no-cache", "report", "--out", path.to_str().unwrap()]);
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size <= 50_000_000, "{size} bytes");

    let seen = open(folder.path(), &path, SUMMARY_PROBE);
    assert_eq!(seen["problems"], Value::Array(Vec::new()));
    let listed = Command::new(env!("CARGO_BIN_EXE_ketcd")).args(["-f", &file, "--no-cache", "ls", "-o", "json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let is_shown =
        |kind: &&Value| !["events", "leases.coordination.k8s.io"].contains(&kind["resource"].as_str().unwrap()) && kind["kind"].is_string();
    let objects: i64 = listed["items"].as_array().unwrap().iter().filter(is_shown).map(|kind| number(kind, "objects")).sum();
    assert!(number(&seen, "rows") < 10_000 && number(&seen, "total") >= objects, "{objects} objects: {seen}");
    let words = seen["counted"].as_str().unwrap();
    assert!(words.contains("Running") && words.contains("ketcd ls pod -n "), "{words}");
    assert!(seen["bar"].as_str().unwrap().contains("Running") && seen["empty"].as_str().unwrap().contains("only counted"), "{seen}");
    assert!(seen["count"].as_str().unwrap().contains("counted"), "{seen}");
    assert!(!seen["scheduling"].as_str().unwrap().is_empty(), "{seen}");
    if synthetic.exists() {
        assert_eq!(seen["storied"], serde_json::json!(["pending-0"]));
        assert_eq!(number(&seen, "total"), objects, "{seen}");
    }

    let milliseconds: f64 =
        attribute(&dump(folder.path(), &probed(folder.path(), &path, OPENING_PROBE), &[]), "data-opened").parse().unwrap();
    println!("a page of {size} bytes with {} rows opened in {milliseconds:.0} ms", seen["rows"]);
}

#[test]
fn secrets_are_masked_unless_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let details = |flags: &[&str]| {
        let text = std::fs::read_to_string(page(folder.path(), "k120-story", &[&["secrets", "-A"], flags].concat())).unwrap();
        let (_, packed) = text.split_once(r#"id="details">"#).unwrap();
        let packed: Vec<String> = serde_json::from_str(packed.split_once("</script>").unwrap().0).unwrap();
        packed.iter().map(|one| inflate(one)).collect::<String>()
    };
    let (masked, open) = (details(&[]), details(&["--show-secrets"]));
    assert!(masked.contains(r#""***""#) && !masked.contains("ZXlKaGJHY2"), "a token is shown");
    assert!(!open.contains(r#""token":"***""#) && open.contains("ZXlKaGJHY2"), "the tokens are not shown though asked for");
}

#[test]
fn what_was_compacted_is_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(page(folder.path(), "k120-story", &["node/node1"])).unwrap();
    assert!(text.contains("complete since the cluster began"));
    let output = folder.path().join("compacted.html");
    run(&["-f", &capture("k120-story", "compacted.db.zst"), "report", "--out", output.to_str().unwrap()]);
    let text = std::fs::read_to_string(output).unwrap();
    let (_, data) = text.split_once(r#"id="data">"#).unwrap();
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    assert!(data["reach"].as_str().unwrap().contains("compacted away"), "{}", data["reach"]);
    let gaps = data["rows"].as_array().unwrap().iter().filter(|row| row["b"].as_i64() < row["f"].as_i64()).count();
    assert!(gaps > 0, "no object has a gap between its creation and its first readable version");
}

fn number(seen: &Value, name: &str) -> i64 {
    seen[name].as_i64().unwrap_or_default()
}

fn inflate(packed: &str) -> String {
    use std::io::Read as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(packed).unwrap();
    let mut text = String::new();
    flate2::read::DeflateDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    text
}

fn capture(name: &str, file: &str) -> String {
    format!("{}/testdata/captures/{name}/{file}", env!("CARGO_MANIFEST_DIR"))
}

fn page(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let path = folder.join("report.html");
    let snapshot = capture(name, "snapshot.db.zst");
    run(&[&["-f", &snapshot, "report", "--out", path.to_str().unwrap()], arguments].concat());
    path
}

fn run(arguments: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_ketcd")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Opens a page with a probe in it and returns what the probe found.
fn open(folder: &Path, page: &Path, probe: &str) -> Value {
    let probed = probed(folder, page, &[PROBE_BEGINNING, probe, PROBE_END].concat());
    let dom = dump(folder, &probed, &["--virtual-time-budget=900000000"]);
    let answer = dom.split_once(r#"id="answer">"#).and_then(|(_, rest)| rest.split_once("</script>"));
    let (answer, _) = answer.unwrap_or_else(|| panic!("the page did not answer"));
    serde_json::from_str(answer).unwrap()
}

/// Puts a script at the end of a page, which its policy allows by its digest.
fn probed(folder: &Path, page: &Path, script: &str) -> PathBuf {
    let text = std::fs::read_to_string(page).unwrap();
    let digest = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(script));
    let (before, after) = text.split_once("script-src ").expect("the page has a policy");
    let text = format!("{before}script-src 'sha256-{digest}' {after}");
    let (before, after) = text.rsplit_once("</body>").unwrap();
    let probed = folder.join("probed.html");
    std::fs::write(&probed, format!("{before}<script>{script}</script></body>{after}")).unwrap();
    probed
}

/// The document that a page has become.
fn dump(folder: &Path, page: &Path, flags: &[&str]) -> String {
    let output = Command::new(browser())
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,900"])
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom"])
        .args(flags)
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The value of an attribute of the document.
fn attribute(dom: &str, name: &str) -> String {
    let value = dom.split_once(&format!("{name}=\"")).and_then(|(_, rest)| rest.split_once('"'));
    value.unwrap_or_else(|| panic!("the document has no {name}")).0.to_owned()
}

fn browser() -> PathBuf {
    if let Some(path) = std::env::var_os("KETCD_TEST_CHROMIUM") {
        return path.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let found = std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name))).find(|path| path.is_file());
    found.expect("no Chromium: install it (Debian: chromium), name it in KETCD_TEST_CHROMIUM, or run tools/test, which installs one")
}
