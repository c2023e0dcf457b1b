//! Who made changes, by audit logs of three policies of one recorded day: refused requests, dry runs, races, and writes past the API server are in it.

use std::collections::{BTreeSet, HashMap};

use futures_util::TryStreamExt;
use serde_json::Value;

use ketcd_cluster::read::Keys;
use ketcd_cluster::{Cluster, Notice, Options, Read};
use ketcd_history::audit::{Authorship, Unexplained};
use ketcd_history::{ActorFrom, AttributedChange};
use ketcd_store::load::{AuditLogs, Limits};
use ketcd_testing::{temporary, testdata};

use crate::fixture::{noting, open};

/// A file of the recorded day.
pub(crate) fn file(name: &str) -> String {
    testdata::path(&format!("audit/{name}")).to_str().unwrap().to_owned()
}

/// Every change of the day, with what a log says of it.
async fn changes(cluster: &Cluster) -> Vec<AttributedChange> {
    let history = cluster.history(Keys::all(), cluster.revision().await.unwrap()).await.unwrap();
    let read: Vec<_> = history.changes().try_collect().await.unwrap();
    read.into_iter().filter_map(|read| if let Read::Item(change) = read { Some(change) } else { None }).collect()
}

pub(crate) async fn opened(log: &str, options: Options) -> Cluster {
    let found = AuditLogs::among(&[file("snapshot.db.zst"), log.to_owned()], &Limits::default()).unwrap();
    let mut cluster = open(&found.others, options).await.unwrap();
    cluster.set_audit_logs(found.logs);
    cluster
}

/// What really made each revision.
pub(crate) struct Author {
    pub(crate) user: Option<String>,
    pub(crate) audit_id: String,
    pub(crate) is_bypass: bool,
}

pub(crate) fn authors() -> HashMap<i64, Author> {
    let lines = String::from_utf8(testdata::read("audit/authors.jsonl.zst")).unwrap();
    let author = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |field: &str| line[field].as_str().map(str::to_owned);
        let author = Author { user: text("user"), audit_id: text("auditID").unwrap_or_default(), is_bypass: !line["bypass"].is_null() };
        (line["revision"].as_i64().unwrap(), author)
    };
    lines.lines().map(author).collect()
}

#[derive(Default, Debug)]
struct Score {
    covered: usize,
    right: usize,
    bypass: usize,
    told: usize,
}

/// Holds every change against what really made it: no author is wrong, none is invented, and nothing else is accused.
async fn score(log: &str) -> Score {
    let policy = String::from_utf8(testdata::read(&format!("audit/{log}"))).unwrap();
    let logged: BTreeSet<String> =
        policy.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["auditID"].as_str().unwrap().to_owned()).collect();
    let (cluster, authors) = (opened(&file(log), Options::default()).await, authors());
    let mut score = Score::default();
    for attributed in changes(&cluster).await {
        let revision = attributed.change.revision.0;
        let is_told = matches!(attributed.request, Some(Authorship::Unexplained(_)));
        let Some(author) = authors.get(&revision) else { continue };
        let is_covered = logged.contains(&author.audit_id);
        score.covered += usize::from(is_covered);
        score.bypass += usize::from(author.is_bypass);
        score.told += usize::from(is_told);
        assert!(!is_told || author.is_bypass, "r{revision} is accused");
        // What is written directly to etcd may name any manager.
        assert!(!is_told || attributed.by().is_none(), "r{revision} has an author");
        if let Some(request) = attributed.request.as_ref().and_then(Authorship::request) {
            assert!(is_covered, "r{revision} has an invented author: {request:?}");
            assert_eq!(Some(&*request.user), author.user.as_deref(), "r{revision}");
            score.right += 1;
            assert_eq!(attributed.by().unwrap().from, ActorFrom::Audited);
        } else if let Some(Authorship::Candidates(requests)) = attributed.request.as_ref().filter(|_| is_covered) {
            assert!(requests.iter().any(|request| Some(&*request.user) == author.user.as_deref()), "r{revision}");
        }
    }
    score
}

#[tokio::test]
async fn a_log_with_bodies_names_nearly_every_author_and_every_write_past_the_api_server() {
    let Score { covered, right, bypass, told } = score("full.jsonl.zst").await;
    assert!(covered > 2000 && right * 1000 >= covered * 995, "{right} of {covered}");
    assert_eq!((bypass, told), (5, 5));
}

#[tokio::test]
async fn a_log_by_the_policy_of_a_cloud_names_most_authors() {
    let Score { covered, right, .. } = score("eks.jsonl.zst").await;
    assert!(covered > 1500 && right * 100 >= covered * 97, "{right} of {covered}");
}

#[tokio::test]
async fn a_log_without_bodies_names_most_authors() {
    let Score { covered, right, .. } = score("metadata.jsonl.zst").await;
    assert!(covered > 1500 && right * 100 >= covered * 95, "{right} of {covered}");
}

#[tokio::test]
async fn how_an_author_is_known_is_part_of_the_answer() {
    let cluster = opened(&file("full.jsonl.zst"), Options::default()).await;
    let found: HashMap<i64, AttributedChange> = changes(&cluster).await.into_iter().map(|found| (found.change.revision.0, found)).collect();
    let request = |revision: i64| found[&revision].request.as_ref().unwrap();
    let Authorship::Exact(created) = request(335) else { panic!("{:?}", request(335)) };
    assert_eq!((&*created.user, created.verb.as_str()), ("system:serviceaccount:ci:deployer", "create"));
    assert!(matches!(request(593), Authorship::Attributed(requests) if requests.len() == 1 && requests[0].verb.as_str() == "delete"));
    assert!(matches!(request(875), Authorship::Unexplained(Unexplained::SameBytes)));
    assert!(matches!(request(1769), Authorship::Unexplained(Unexplained::NoRequest)));
    assert!(matches!(request(2127), Authorship::Unexplained(Unexplained::Misplaced)));
    // Scaled by a user that another one impersonated.
    assert!(
        found.values().any(|found| found
            .request
            .as_ref()
            .and_then(Authorship::request)
            .is_some_and(|request| request.impersonator.is_some()))
    );
    // The data alone dates a change within a second, its request within some milliseconds.
    let bound = |revision: i64| found[&revision].dated.unwrap().error;
    assert!(bound(335) < 0.2, "{}", bound(335));
}

#[tokio::test]
async fn a_part_of_a_log_accuses_nobody_and_its_damage_is_named() {
    let whole = String::from_utf8(testdata::read("audit/full.jsonl.zst")).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    // A file that was rotated away is missing from the middle, and the line before it is cut.
    let (from, to) = (lines.len() * 2 / 5, lines.len() * 3 / 5);
    let cut = &lines[from][..lines[from].len() / 2];
    let text = [&lines[..from], &[cut], &lines[to..]].concat().join("\n");
    let log = temporary::file(text);
    let (options, notices) = noting(Options::default());
    let cluster = opened(log.path().to_str().unwrap(), options).await;
    let authors = authors();
    for attributed in changes(&cluster).await {
        let revision = attributed.change.revision.0;
        let author = authors.get(&revision);
        if matches!(attributed.request, Some(Authorship::Unexplained(_))) {
            assert!(author.is_none_or(|author| author.is_bypass), "r{revision} is accused");
        }
        if let (Some(request), Some(author)) = (attributed.request.as_ref().and_then(Authorship::request), author) {
            assert_eq!(Some(&*request.user), author.user.as_deref(), "r{revision}");
        }
    }
    let notices = notices.lock().unwrap();
    assert!(notices.iter().any(|notice| matches!(notice, Notice::AuditLines { damaged: 1, first, .. } if first.problem == "is cut short")));
    assert!(notices.iter().any(|notice| matches!(notice, Notice::AuditGap { .. })), "{notices:?}");
}

#[tokio::test]
async fn rotated_and_repeated_files_of_a_folder_are_one_log() {
    let whole = String::from_utf8(testdata::read("audit/full.jsonl.zst")).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let folder = tempfile::tempdir().unwrap();
    let half = lines.len() / 2;
    std::fs::write(folder.path().join("audit-2026-11-24T18-37-40.log"), lines[..half + 100].join("\n")).unwrap();
    std::fs::write(folder.path().join("audit.log"), lines[half..].join("\n")).unwrap();
    let cluster = opened(folder.path().to_str().unwrap(), Options::default()).await;
    let exact = changes(&cluster).await.iter().filter(|attributed| matches!(attributed.request, Some(Authorship::Exact(_)))).count();
    assert!(exact > 2000, "{exact}");
}

/// An event's line as an API server whose clock is three seconds ahead would write it.
fn three_seconds_ahead(line: &str) -> String {
    let mut event: Value = serde_json::from_str(line).unwrap();
    for field in ["requestReceivedTimestamp", "stageTimestamp"] {
        let time: jiff::Timestamp = event[field].as_str().unwrap().parse().unwrap();
        event[field] = (time + jiff::SignedDuration::from_secs(3)).strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string().into();
    }
    event.to_string()
}

#[tokio::test]
async fn clocks_of_two_api_servers_that_differ_are_told_and_name_nobody_wrongly() {
    let authors = authors();
    for log in ["full.jsonl.zst", "eks.jsonl.zst", "metadata.jsonl.zst"] {
        let whole = String::from_utf8(testdata::read(&format!("audit/{log}"))).unwrap();
        // Each client stays with one of them.
        let is_ahead = |line: &&str| {
            let event: Value = serde_json::from_str(line).unwrap();
            event["userAgent"].as_str().unwrap_or_default().bytes().map(usize::from).sum::<usize>() % 2 == 1
        };
        let (ahead, others): (Vec<&str>, Vec<&str>) = whole.lines().partition(is_ahead);
        assert!(ahead.len() > 100 && others.len() > 100, "{log}: {} and {}", ahead.len(), others.len());
        let folder = tempfile::tempdir().unwrap();
        let ahead: Vec<String> = ahead.into_iter().map(three_seconds_ahead).collect();
        std::fs::write(folder.path().join("master-0.log"), others.join("\n")).unwrap();
        std::fs::write(folder.path().join("master-1.log"), ahead.join("\n")).unwrap();
        let (options, notices) = noting(Options::default());
        let cluster = opened(folder.path().to_str().unwrap(), options).await;
        for attributed in changes(&cluster).await {
            let Some(author) = authors.get(&attributed.change.revision.0) else { continue };
            let told = format!("{log}: r{}: {:?}", attributed.change.revision, attributed.request);
            match &attributed.request {
                Some(Authorship::Unexplained(_)) => assert!(author.is_bypass, "{told}"),
                Some(found) => assert!(found.request().is_none_or(|request| Some(&*request.user) == author.user.as_deref()), "{told}"),
                None => {}
            }
        }
        let notices = notices.lock().unwrap();
        let is_told = |notice: &Notice| matches!(notice, Notice::AuditClocksDiffer(seconds) if (2.0..=4.0).contains(seconds));
        assert!(notices.iter().any(is_told), "{log}: {notices:?}");
    }
}

/// An archive (ustar) of one file.
fn archive(name: &str, content: &[u8]) -> Vec<u8> {
    const TAR_BLOCK_BYTES: usize = 512;
    let mut header = [0; TAR_BLOCK_BYTES];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[136..147].copy_from_slice(b"00000000000");
    header[148..156].fill(b' ');
    header[156] = b'0';
    header[257..263].copy_from_slice(b"ustar\0");
    header[263..265].copy_from_slice(b"00");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let mut archive = [&header[..], content].concat();
    archive.resize(archive.len().next_multiple_of(TAR_BLOCK_BYTES) + 2 * TAR_BLOCK_BYTES, 0);
    archive
}

#[tokio::test]
async fn a_log_in_an_archive_is_read_whatever_it_is_compressed_with() {
    let packed = std::fs::read(file("full.jsonl.zst")).unwrap();
    let log = temporary::file(archive("host/audit.log.zst", &packed));
    let cluster = opened(log.path().to_str().unwrap(), Options::default()).await;
    assert!(cluster.has_audit_logs());
    let exact = changes(&cluster).await.iter().filter(|attributed| matches!(attributed.request, Some(Authorship::Exact(_)))).count();
    assert!(exact > 2000, "{exact}");
}

#[tokio::test]
async fn a_log_of_another_time_says_so() {
    let whole = String::from_utf8(testdata::read("audit/metadata.jsonl.zst")).unwrap().replace("2026-11-24T", "2026-11-20T");
    let log = temporary::file(whole);
    let (options, notices) = noting(Options::default());
    let cluster = opened(log.path().to_str().unwrap(), options).await;
    assert!(changes(&cluster).await.iter().all(|attributed| attributed.request.is_none()));
    assert!(notices.lock().unwrap().iter().any(|notice| matches!(notice, Notice::AuditElsewhere { span: Some(_) })));
}
