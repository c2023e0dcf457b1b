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
const until = async (found) => { for (let n = 0; n < 20000 && !found(); n++) await next_turn(); return found(); };
const problems = [];
addEventListener("error", (event) => problems.push(String(event.message)));
addEventListener("unhandledrejection", (event) => problems.push(String(event.reason)));
document.addEventListener("securitypolicyviolation", (event) => problems.push("blocked " + event.blockedURI));
for (const level of ["error", "warn"]) console[level] = (...what) => problems.push(what.join(" "));
const data = JSON.parse(document.querySelector("#data").textContent);
const one = (selector) => document.querySelector(selector);
const all = (selector) => [...document.querySelectorAll(selector)];
const type = (text) => { const box = one("#filter"); box.value = text; box.dispatchEvent(new Event("input", { bubbles: true })); };
const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const objects = () => all("[role=treeitem]:not(.group)");
const names = () => objects().map((row) => `${row.querySelector(".kind").textContent} ${row.querySelector(".text").textContent}`);
const tab = async (name) => { one(`#tab-${name}`).click(); await until(() => one(`#tab-${name}`).getAttribute("aria-selected") === "true" && !one("#tab-body").textContent.includes("Reading…")); };
const result = {};
"##;

/// What every probe ends with: what it found goes into the document for `--dump-dom` to show.
const PROBE_END: &str = r##"
read().catch((error) => problems.push(String(error.stack))).then(() => {
  result.requests = performance.getEntriesByType("resource").length;
  result.problems = problems;
  const answer = document.createElement("div");
  answer.id = "answer"; answer.textContent = btoa(Array.from(new TextEncoder().encode(JSON.stringify(result)), (byte) => String.fromCharCode(byte)).join(""));
  document.body.append(answer);
  clearInterval(ticking);
});
"##;

/// Drives the page as a reader would.
const READER_PROBE: &str = r##"
const read = async () => {
  await until(() => names().length > 10);
  result.rows = names().length;
  result.findings = all(".finding > button").map((finding) => finding.textContent);
  one(".finding > button").click();
  await until(() => one(".panel h2"));
  result.standing = one(".panel h2").textContent;
  result.marks = data.rows.reduce((sum, row) => sum + row.s.length + row.c.length, 0);
  type("ubuntu kind:Pod");
  await until(() => names().length > 0 && names().every((name) => name.startsWith("Pod ubuntu")));
  result.found = names();
  result.counts = one("#counts").textContent;
  objects()[0].querySelector(".name").click();
  await until(() => one(".panel h2")?.textContent === "Pod lab/ubuntu");
  await tab("timeline");
  const change = () => all("#tab-body button.entry").find((entry) => entry.textContent.includes("Scheduled"));
  await until(change);
  change().click();
  await until(() => one(".fields")?.textContent.includes("spec.nodeName"));
  result.diff = one(".fields").textContent;
  result.link = await (async () => { await until(() => location.hash.includes("at=r")); return location.hash; })();
  await tab("yaml");
  await until(() => one(".yaml .code"));
  result.yaml = one(".yaml").textContent;
  await tab("decision");
  await until(() => one("#tab-body table"));
  result.matrix = one("#tab-body table").textContent;
  result.chosen = one("tr.chosen th").textContent;
  one(".panel [aria-label=close]").click();
  result.closed = await until(() => !one(".panel"));
  type("nothing is called like this");
  await until(() => one(".empty"));
  result.none = names().length;
  type("");
  await until(() => names().length > 10);
  press("j");
  result.active = await until(() => all(".row.active").length);
  press("?");
  await until(() => one("dialog[open]"));
  one("dialog[open] button").click();
  result.closes = await until(() => !one("dialog[open]"));
  press("q");
  await until(() => location.hash.includes("quiet=true"));
  result.drawn = all("[role=treeitem]").length;
  press("+");
  result.zoomed = await until(() => location.hash.includes("from="));
};
"##;

/// Opens every row with every tab, and says what became of the page.
const OPENER_PROBE: &str = r##"
const read = async () => {
  await until(() => names().length > 0);
  press("q");
  await until(() => names().length >= 7);
  result.names = names();
  let shown = one("#page").textContent;
  for (const row of objects().map(({ id }) => id)) {
    one(`#${row} .name`).click();
    await until(() => one(`#${row}`).getAttribute("aria-selected") === "true" && one("#tab-body"));
    for (const name of all("[role=tab]").map(({ id }) => id.replace("tab-", ""))) {
      await tab(name);
      shown += one(".panel").textContent;
      if (name === "yaml" && one(`#${row} .text`).textContent.endsWith("proto")) result.object = all(".yaml .code").map((line) => line.textContent).join("\n");
    }
  }
  result.title = document.title;
  result.shows = ["<\/script><script>window.owned=1<\/script>", '" onmouseover="window.owned=3', "\\u{202e}"].filter((text) => shown.includes(text)).length;
  result.unseen = /[\u202a-\u202e\u2066-\u2069]/.test(one("#page").textContent);
  result.owned = String(window.owned);
  result.polluted = String({}.polluted);
  result.scripts = document.querySelectorAll("script").length;
  result.foreign = document.querySelectorAll("img, iframe, object, embed, link, base, [onmouseover], [onerror], [href], [src]").length;
};
"##;

/// Does what data would do if it got out: runs a script, makes markup of a text, loads an image, asks the network.
const INTRUDER_PROBE: &str = r##"
const read = async () => {
  try { document.body.insertAdjacentHTML("beforeend", "<b>markup</b>"); } catch { problems.push("refused markup"); }
  const script = document.createElement("script");
  try { script.textContent = "window.owned = 1"; document.body.append(script); } catch { problems.push("refused script"); }
  const image = document.createElement("img");
  image.src = "http://127.0.0.1:9/image";
  document.body.append(image);
  await fetch("http://127.0.0.1:9/fetched").catch(() => {});
  await until(() => problems.some((problem) => problem.includes("/fetched")) && problems.some((problem) => problem.includes("/image")));
  result.owned = String(window.owned);
};
"##;

#[test]
fn the_story_is_read_and_clicked_through() {
    let folder = tempfile::tempdir().unwrap();
    let seen = open(folder.path(), &page(folder.path(), "k120-story", &[]), READER_PROBE);
    assert_eq!(seen["problems"], Value::Array(Vec::new()));
    assert_eq!(seen["requests"], 0);
    assert!(number(&seen, "rows") > 10 && number(&seen, "marks") > 100, "{seen}");
    let findings: Vec<&str> = seen["findings"].as_array().unwrap().iter().map(|finding| finding.as_str().unwrap()).collect();
    let finding = |what: &str, who: &str| findings.iter().any(|text| text.contains(what) && text.contains(who) && text.contains("lasts"));
    assert!(finding("CrashLoopBackOff", "Pod web/crasher") && finding("unschedulable", "Pod web/tomcat-7f6f6db99b-sj7wj"), "{findings:?}");
    assert!(seen["standing"].as_str().unwrap().starts_with("Pod web/"), "{seen}");
    assert_eq!(seen["found"][0], "Pod ubuntu");
    assert!(seen["counts"].as_str().unwrap().contains("hidden by the filter"), "{seen}");
    let diff = seen["diff"].as_str().unwrap();
    assert!(diff.contains("spec.nodeName") && diff.contains("node3"), "{diff}");
    let link = seen["link"].as_str().unwrap();
    assert!(link.contains("object=pod/lab/ubuntu") && link.contains("at=r368"), "{link}");
    let yaml = seen["yaml"].as_str().unwrap();
    assert!(yaml.contains("nodeName: node3") && yaml.contains("kube-scheduler"), "{yaml}");
    let matrix = seen["matrix"].as_str().unwrap();
    assert!(["node1", "node2", "node3", "node4", "InterPodAffinity"].iter().all(|word| matrix.contains(word)), "{matrix}");
    assert!(seen["chosen"].as_str().unwrap().starts_with("node3"), "{seen}");
    assert_eq!((&seen["closed"], &seen["closes"], &seen["zoomed"]), (&true.into(), &true.into(), &true.into()), "{seen}");
    assert_eq!((&seen["none"], &seen["active"]), (&0.into(), &1.into()));
    assert!((10..120).contains(&number(&seen, "drawn")), "of all objects only those in sight should be elements: {}", seen["drawn"]);
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
    assert_eq!((&seen["title"], number(&seen, "shows")), (&format!("{title} · ketcd").into(), 3), "{seen}");
    assert_eq!(seen["unseen"], false, "a character that reorders text is in the document");
    let object = seen["object"].as_str().unwrap();
    let spec =
        "spec:\n  __proto__:\n    polluted: 2\n    x: two\n  a: 1\n  constructor:\n    prototype:\n      polluted: 4\n      x: \"no\"";
    assert!(object.contains(spec), "{object}");
}

#[test]
fn the_page_runs_its_own_script_alone_and_asks_no_network() {
    let folder = tempfile::tempdir().unwrap();
    let seen = open(folder.path(), &page(folder.path(), "k120-story", &["node/node1"]), INTRUDER_PROBE);
    assert_eq!(seen["owned"], "undefined");
    let blocked = seen["problems"].to_string();
    for what in ["refused markup", "refused script", "blocked http://127.0.0.1:9/image", "blocked http://127.0.0.1:9/fetched"] {
        assert!(blocked.contains(what), "{blocked}");
    }
}

/// Looks at what is only counted, and at the pod that fits no node.
const SUMMARY_PROBE: &str = r##"
const read = async () => {
  await until(() => names().length > 0 || one(".row.group"));
  result.total = data.rows.reduce((sum, row) => sum + (row.q ? row.q.reduce((sum, state) => sum + state[2], 0) : 1), 0);
  result.rows = data.rows.filter((row) => !row.q).length;
  result.storied = data.rows.filter((row) => row.k === "Pod" && row.s.some((state) => state[1] === "bad" || state[1] === "waiting")).map((row) => row.n);
  result.counted = one(".counted").textContent;
  const decided = data.rows.find((row) => row.a);
  if (decided) {
    location.hash = `#object=pod/${decided.ns}/${decided.n}&tab=decision`;
    await until(() => one("#tab-decision")?.getAttribute("aria-selected") === "true" && !one("#tab-body").textContent.includes("Reading…"));
    result.scheduling = one("#tab-body").textContent;
  }
  type("nothing is called like this");
  await until(() => one(".empty"));
  result.empty = one(".empty").textContent;
};
"##;

/// With more objects than fit on a page, those with something to show have rows and the others are counted; none is lost.
/// `KETCD_SCALE_CAPTURE=FILE` looks at a large cluster's file instead of a made-up one.
#[test]
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
    assert!(words.contains("Running") && words.contains("only counted"), "{words}");
    assert!(seen["empty"].as_str().unwrap().contains("hidden by the filter"), "{seen}");
    assert!(!seen["scheduling"].as_str().unwrap().is_empty(), "{seen}");
    if synthetic.exists() {
        assert_eq!(seen["storied"], serde_json::json!(["pending-0"]));
        assert_eq!(number(&seen, "total"), objects, "{seen}");
    }
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
    let answer = dom.split_once(r#"id="answer">"#).and_then(|(_, rest)| rest.split_once("</div>"));
    let (answer, _) = answer.unwrap_or_else(|| panic!("the page did not answer"));
    serde_json::from_slice(&base64::engine::general_purpose::STANDARD.decode(answer).unwrap()).unwrap()
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

fn browser() -> PathBuf {
    if let Some(path) = std::env::var_os("KETCD_TEST_CHROMIUM") {
        return path.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let found = std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name))).find(|path| path.is_file());
    found.expect("no Chromium: install it (Debian: chromium), name it in KETCD_TEST_CHROMIUM, or run tools/test, which installs one")
}
