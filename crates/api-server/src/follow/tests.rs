//! What a recorder reads of a server that a test plays.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use ketcd_store::{At, Error, EventKind, KeyRange, Revision, Source, Until, Want, WatchItem};
use tokio::time::Instant;

use super::ApiServer;
use super::watcher::{MIN_WATCH_TIMEOUT, WATCH_GRACE};
use crate::kubeconfig::Access;
use crate::limits::Limits;
use crate::mock::{Mock, MockAnswer, discovery};
use crate::objects::{PresentState, WantedResources};

fn pod(name: &str, revision: i64) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","namespace":"shop","resourceVersion":"{revision}"}}}}"#)
}

fn line(kind: &str, name: &str, revision: i64) -> String {
    let object =
        format!(r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{name}","namespace":"shop","resourceVersion":"{revision}"}}}}"#);
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

fn list(revision: i64, token: &str, items: &[String]) -> MockAnswer {
    let metadata = format!(r#"{{"resourceVersion":"{revision}","continue":"{token}"}}"#);
    MockAnswer::json(format!(r#"{{"kind":"List","apiVersion":"v1","metadata":{metadata},"items":[{}]}}"#, items.join(",")))
}

fn bookmark(revision: i64) -> String {
    format!("{{\"type\":\"BOOKMARK\",\"object\":{{\"metadata\":{{\"resourceVersion\":\"{revision}\"}}}}}}\n")
}

/// A key, its revision, what it replaced, and its version.
type Told = (String, i64, i64, i64);

fn told(item: &WatchItem) -> Option<Told> {
    let WatchItem::Event(event) = item else { return None };
    let kind = if event.kind == EventKind::Delete { "- " } else { "" };
    let entry = &event.key_value;
    Some((format!("{kind}{}", String::from_utf8_lossy(&entry.key)), entry.mod_revision.0, entry.replaced.0, entry.version))
}

async fn take(server: &ApiServer, from: i64, upto: i64) -> Vec<WatchItem> {
    let mut items = server.watch(KeyRange::all(), Revision(from), Until::Forever);
    let mut found = Vec::new();
    while let Some(item) = items.next().await {
        let item = item.unwrap();
        let is_last = matches!(item, WatchItem::Progress(revision) if revision.0 >= upto);
        found.push(item);
        if is_last {
            break;
        }
    }
    found
}

#[tokio::test]
async fn changes_of_all_watches_come_in_order_and_know_what_they_replaced() {
    let mock = Mock::start(|path, _| {
        let is_pods = path.starts_with("/api/v1/pods?");
        match path {
            path if path.contains("watch=true") && is_pods => {
                let lines =
                    [line("MODIFIED", "old", 12), line("ADDED", "new", 14), line("MODIFIED", "new", 17), line("DELETED", "old", 18)];
                MockAnswer::Open(lines.concat() + &bookmark(20))
            }
            path if path.contains("watch=true") => MockAnswer::Open(line("ADDED", "lease", 13) + &bookmark(20)),
            _ if is_pods => list(10, "", &[pod("old", 7)]),
            path => discovery(path).unwrap_or_else(|| list(10, "", &[])),
        }
    });
    let server = ApiServer::new(mock.access(), WantedResources::default());
    let told: Vec<Told> = take(&server, 11, 20).await.iter().filter_map(told).collect();
    let expected = [
        ("/registry/pods/shop/old", 12, 7, 0),
        ("/registry/leases/shop/lease", 13, 0, 1),
        ("/registry/pods/shop/new", 14, 0, 1),
        ("/registry/pods/shop/new", 17, 14, 2),
        ("- /registry/pods/shop/old", 18, 0, 0),
    ];
    assert_eq!(told, expected.map(|(key, revision, replaced, version)| (key.to_owned(), revision, replaced, version)));
    let asked = mock.asked();
    assert!(asked.iter().all(|line| line.starts_with("GET /") && !line.contains("secrets")), "{asked:?}");
}

#[tokio::test]
async fn what_a_server_has_forgotten_is_a_gap_and_the_watch_goes_on_behind_it() {
    let mock = Mock::start(|path, _| match path {
        path if path.contains("watch=true") && path.contains("resourceVersion=10&") && path.contains("pods") => MockAnswer::json(
            "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"message\":\"too old resource version: 10 (25)\"}}\n",
        ),
        path if path.contains("watch=true") && path.contains("resourceVersion=10&") => MockAnswer::Open(bookmark(31)),
        path if path.contains("watch=true") => MockAnswer::Open(bookmark(40)),
        path if path.contains("limit=1") && !path.contains("limit=5") => list(31, "", &[]),
        path => discovery(path).unwrap_or_else(|| list(10, "", &[])),
    });
    let server = ApiServer::new(mock.access(), WantedResources::default());
    let items = take(&server, 11, 40).await;
    assert!(items.contains(&WatchItem::Gap { from: Revision(11), to: Revision(30) }), "{items:?}");
    assert_eq!(server.missed(), "the API server did not have the changes of pods after revision 10 any more");
}

#[tokio::test(start_paused = true)]
async fn a_state_is_read_page_by_page_at_one_revision() {
    let mock = Mock::start(|path, count| match path {
        "/api/v1/pods?limit=500&resourceVersion=30&resourceVersionMatch=Exact" => list(30, "next", &[pod("a", 7), pod("b", 9)]),
        // A server that is overloaded for a moment is asked again.
        "/api/v1/pods?limit=500&continue=next" if count == 0 => MockAnswer::Whole(429, "retry-after: 0\r\n", String::new()),
        "/api/v1/pods?limit=500&continue=next" => list(30, "", &[pod("c", 8)]),
        path => discovery(path).unwrap_or_else(|| list(30, "", &[])),
    });
    let server = ApiServer::new(mock.access(), WantedResources { resources: vec!["pods".to_owned()], secrets: false });
    let listing = server.range(KeyRange::all(), At::Revision(Revision(30)), Want::Values).await.unwrap();
    let entries: Vec<_> = listing.entries.map(Result::unwrap).collect().await;
    let keys: Vec<_> = entries.iter().map(|entry| String::from_utf8_lossy(&entry.key).into_owned()).collect();
    assert_eq!(keys, ["/registry/pods/shop/a", "/registry/pods/shop/b", "/registry/pods/shop/c"]);
    assert_eq!(entries[0].value, r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"shop","resourceVersion":"7"}}"#);
}

/// A server that repeats a page, or its keys, could keep a reader busy forever.
#[tokio::test]
async fn a_list_that_does_not_go_on_is_refused() {
    for (first, next) in [("more", "more"), ("more", "other")] {
        let mock = Mock::start(move |path, _| {
            let page = if path.contains("continue=") { next } else { first };
            discovery(path).unwrap_or_else(|| list(20, page, &[pod("a", 7)]))
        });
        let server = ApiServer::new(mock.access(), WantedResources::default());
        let listing = server.range(KeyRange::prefix("/registry/pods/"), At::Revision(Revision(20)), Want::Values).await.unwrap();
        let found: Vec<Result<_, Error>> = listing.entries.collect().await;
        let error = found.last().unwrap().as_ref().unwrap_err().to_string();
        assert!(error.contains("something other than a list"), "{error}");
    }
}

#[tokio::test]
async fn a_state_that_expires_between_two_pages_is_said_to_be_compacted() {
    let mock = Mock::start(|path, _| match path {
        "/api/v1/pods?limit=500&continue=next" => MockAnswer::status(410, "The provided continue parameter is too old"),
        path if path.starts_with("/api/v1/pods?limit=500") => list(30, "next", &[pod("a", 7)]),
        path => discovery(path).unwrap_or_else(|| list(30, "", &[])),
    });
    let server = ApiServer::new(mock.access(), WantedResources { resources: vec!["pods".to_owned()], secrets: false });
    let listing = server.range(KeyRange::all(), At::Revision(Revision(30)), Want::Values).await.unwrap();
    let entries: Vec<_> = listing.entries.collect().await;
    assert!(matches!(entries[..], [Ok(_), Err(Error::Compacted { asked: Revision(30), .. })]), "{entries:?}");
    // A question about the present ends with it.
    let moment = PresentState::new(mock.access(), false, |_| {});
    let error = moment.range(KeyRange::prefix("/registry/pods/"), At::Newest, Want::Values).await.err().unwrap().to_string();
    assert!(error.contains("revision 30 was compacted while ketcd read it"), "{error}");
}

#[tokio::test]
async fn what_a_user_may_not_list_is_left_out_or_refused_by_name() {
    let denied = || MockAnswer::status(403, "leases is forbidden: User \\\"me\\\" cannot list resource");
    let mock = Mock::start(move |path, _| match path {
        path if path.starts_with("/apis/coordination.k8s.io/v1/leases") => denied(),
        path => discovery(path).unwrap_or_else(|| list(30, "", &[])),
    });
    let server = ApiServer::new(mock.access(), WantedResources::default());
    assert_eq!(server.lacking().await.unwrap(), ["Secrets", "leases.coordination.k8s.io"]);
    assert_eq!(server.left_out().await.unwrap(), ["left out, as this user may not list them: leases.coordination.k8s.io"]);
    let moment = PresentState::new(mock.access(), false, |_| {});
    assert!(moment.range(KeyRange::all(), At::Newest, Want::Values).await.is_ok());
    let error = moment.range(KeyRange::prefix("/registry/leases/"), At::Newest, Want::Values).await.err().unwrap();
    assert!(error.is_denied() && error.to_string().contains("User \"me\" cannot list"), "{error}");
}

#[tokio::test]
async fn events_of_another_etcd_are_left_out() {
    let mock = Mock::start(|path, _| match path {
        "/api/v1" => MockAnswer::json(
            r#"{"resources":[{"name":"pods","singularName":"","namespaced":true,"kind":"Pod","verbs":["list","watch"]},{"name":"events","singularName":"","namespaced":true,"kind":"Event","verbs":["list","watch"]}]}"#,
        ),
        path if path.starts_with("/api/v1/events") => list(5, "", &[]),
        path => discovery(path).unwrap_or_else(|| list(3000, "", &[])),
    });
    let server = ApiServer::new(mock.access(), WantedResources::default());
    let left_out = server.left_out().await.unwrap();
    assert_eq!(left_out, ["Events are left out: they are at revision 5, all else is at 3000, so they lie in another etcd"]);
}

/// A server of pods alone, whose watches are answered by their number.
fn pods(watches: impl Fn(usize) -> MockAnswer + Send + Sync + 'static) -> (Mock, ApiServer) {
    let asked = AtomicUsize::new(0);
    let mock = Mock::start(move |path, _| match path {
        path if path.contains("watch=true") => watches(asked.fetch_add(1, Ordering::Relaxed)),
        path => discovery(path).unwrap_or_else(|| list(10, "", &[])),
    });
    let server = ApiServer::new(mock.access(), WantedResources { resources: vec!["pods".to_owned()], secrets: false });
    (mock, server)
}

/// A connection may be dead without a sign: a watch that brings nothing for longer than it was asked to last begins again.
#[tokio::test(start_paused = true)]
async fn a_watch_that_is_silent_for_too_long_begins_again() {
    let (_mock, server) = pods(|number| MockAnswer::Open(if number == 0 { String::new() } else { bookmark(20) }));
    let begun = Instant::now();
    take(&server, 11, 20).await;
    let (least, most) = (MIN_WATCH_TIMEOUT + WATCH_GRACE, MIN_WATCH_TIMEOUT * 2 + WATCH_GRACE + Duration::from_secs(1));
    assert!((least..most).contains(&begun.elapsed()), "{:?}", begun.elapsed());
}

/// After each failure it waits longer, and goes on where it was.
#[tokio::test(start_paused = true)]
async fn a_server_that_is_lost_is_tried_again_less_and_less_often() {
    let (mock, server) = pods(|number| match number {
        0 => MockAnswer::json(line("ADDED", "a", 12) + &bookmark(12)),
        1..7 => MockAnswer::Lost,
        _ => MockAnswer::Open(line("ADDED", "b", 14) + &bookmark(20)),
    });
    let begun = Instant::now();
    let told: Vec<Told> = take(&server, 11, 20).await.iter().filter_map(told).collect();
    assert_eq!(told.iter().map(|(key, ..)| key.as_str()).collect::<Vec<_>>(), ["/registry/pods/shop/a", "/registry/pods/shop/b"]);
    // From 0.4 s on twice as long each time, and up to twice of that by chance.
    let least = Duration::from_millis(400 * 63);
    assert!((least..least * 2 + Duration::from_secs(1)).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    let watches: Vec<String> = mock.asked().into_iter().filter(|line| line.contains("watch=true")).collect();
    assert!(watches.len() == 8 && watches[1..].iter().all(|line| line.contains("resourceVersion=12&")), "{watches:?}");
}

/// Follows a server of pods alone to its error.
async fn error_of(server: &ApiServer) -> (Vec<WatchItem>, String) {
    let mut items = server.watch(KeyRange::all(), Revision(11), Until::Forever);
    let mut found = Vec::new();
    loop {
        match items.next().await.unwrap() {
            Ok(item) => found.push(item),
            Err(error) => return (found, error.to_string()),
        }
    }
}

/// A revision that cannot be, one far beyond what lists have, and one that was there: none is passed on, and the server is named.
#[tokio::test(start_paused = true)]
async fn revisions_that_do_not_exist_are_refused() {
    let cases = [
        (bookmark(i64::MAX), "sent what is not a change of it"),
        (line("ADDED", "a", i64::MAX / 2), "sent what is not a change of it"),
        (line("ADDED", "a", -5), "sent what is not a change of it"),
        ("{\"type\":5}\n".to_owned(), "sent what is not a change of it"),
        (bookmark(1 << 61), "sends revision 2305843009213693952 in its watches, but the newest in its lists is 10"),
        (line("ADDED", "a", 1 << 40), "sends revision 1099511627776 in its watches"),
        (line("ADDED", "a", 12) + &line("MODIFIED", "a", 12), "sent revision 12 after all up to 12 had come"),
    ];
    for (lines, problem) in cases {
        let (mock, server) = pods(move |_| MockAnswer::Open(lines.clone()));
        let (items, error) = error_of(&server).await;
        assert!(error.contains(problem) && error.contains("http://mock"), "{error}");
        let is_true = |item: &WatchItem| match item {
            WatchItem::Event(event) => event.revision == Revision(12),
            WatchItem::Progress(revision) => *revision <= Revision(12),
            _ => false,
        };
        assert!(items.iter().all(is_true), "{items:?}");
        assert!(mock.asked().len() < 50, "{:?}", mock.asked());
    }
}

/// A server that calls its newest revision expired has lost nothing: there is no gap, and after some times there is an error.
#[tokio::test(start_paused = true)]
async fn a_server_that_calls_everything_expired_is_given_up() {
    let expired = || MockAnswer::json("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"message\":\"old\"}}\n");
    for answer in [expired as fn() -> MockAnswer, || MockAnswer::status(410, "old")] {
        let (mock, server) = pods(move |_| answer());
        let (items, error) = error_of(&server).await;
        assert_eq!(items, []);
        assert!(error.contains("says again and again that its changes after revision 10 expired"), "{error}");
        let watches = mock.asked().iter().filter(|line| line.contains("watch=true")).count();
        assert_eq!(watches, 11);
    }
}

/// What a list names as the newest is older than what watches brought: the server was restored, or lies. No gap is made of it.
#[tokio::test(start_paused = true)]
async fn a_server_that_goes_back_is_refused() {
    let (_mock, server) = pods(|number| match number {
        0 => MockAnswer::json(line("ADDED", "a", 12) + &bookmark(20)),
        _ => MockAnswer::status(410, "old"),
    });
    let (items, error) = error_of(&server).await;
    assert!(error.contains("names 10 as its newest revision after its watches have brought 20"), "{error}");
    assert!(!items.iter().any(|item| matches!(item, WatchItem::Gap { .. })), "{items:?}");
}

#[tokio::test(start_paused = true)]
async fn watches_that_end_at_once_are_given_up() {
    let (mock, server) = pods(|_| MockAnswer::json(""));
    let (items, error) = error_of(&server).await;
    assert_eq!(items, []);
    assert!(error.contains("ends each watch of pods at once and sends nothing"), "{error}");
    assert_eq!(mock.asked().iter().filter(|line| line.contains("watch=true")).count(), 30);
}

/// One watch brings changes without end, and another does not stand: what waits for it is bounded.
#[tokio::test(start_paused = true)]
async fn changes_that_wait_for_another_watch_are_bounded() {
    let mock = Mock::start(|path, _| match path {
        path if path.contains("watch=true") && path.contains("/pods") => {
            MockAnswer::Open((11..400).map(|at| line("ADDED", &format!("a{at}"), at)).collect())
        }
        path if path.contains("watch=true") => MockAnswer::Never,
        path => discovery(path).unwrap_or_else(|| list(10, "", &[])),
    });
    let access = mock.access();
    let limits = Limits { waiting: 40 << 10, ..access.limits };
    let server = ApiServer::new(Access { limits, ..access }, WantedResources::default());
    let (items, error) = error_of(&server).await;
    assert_eq!(items, []);
    assert!(error.contains("wait for the watch of leases.coordination.k8s.io"), "{error}");
}

/// A list that never ends, one that is empty for ever, one that does not come, and one that comes byte by byte: each ends with an error that names the
/// server, within a time that the clock shows, not the machine.
#[tokio::test(start_paused = true)]
async fn a_list_without_an_end_ends() {
    let whole: &[(&str, fn(usize) -> MockAnswer)] = &[
        ("of objects, pods among them, and no more are held", |page| {
            let items: Vec<String> = (0..50).map(|item| pod(&format!("p{page:09}-{item:03}"), 7)).collect();
            list(30, &format!("t{page}"), &items)
        }),
        ("pages without end that have no objects", |page| list(30, &format!("t{page}"), &[])),
        ("is larger than 0 MiB", |_| MockAnswer::json(" ".repeat(200_000))),
        ("sent almost nothing of the answer for 15 s", |_| MockAnswer::Never),
        ("sent almost nothing of the answer for 15 s", |_| MockAnswer::Slow),
        ("answered 429", |_| MockAnswer::Whole(429, "retry-after: 99999999999\r\n", String::new())),
        ("an object of revision 31 in a list at revision 30", |_| list(30, "", &[pod("a", 31)])),
        ("something other than a list", |_| MockAnswer::json(r#"{"kind":"List","metadata":[],"items":[]}"#)),
        ("something other than a list", |_| list(i64::MAX, "", &[])),
    ];
    for (problem, answer) in whole {
        let pages = AtomicUsize::new(0);
        let answer = *answer;
        let mock = Mock::start(move |path, _| match path {
            path if path.contains("/pods?") && path.contains("limit=500") => answer(pages.fetch_add(1, Ordering::Relaxed)),
            path => discovery(path).unwrap_or_else(|| list(30, "", &[])),
        });
        let access = mock.access();
        let limits = Limits { state: 200_000, document: 100_000, ..access.limits };
        let (moment, begun) = (PresentState::new(Access { limits, ..access }, false, |_| {}), Instant::now());
        let error = moment.range(KeyRange::prefix("/registry/pods/"), At::Newest, Want::Values).await.err().unwrap().to_string();
        assert!(error.contains(problem) && error.contains("http://mock"), "{problem}: {error}");
        assert!(begun.elapsed() < Duration::from_secs(60) && mock.asked().len() < 150, "{:?} {}", begun.elapsed(), mock.asked().len());
    }
}

#[tokio::test(start_paused = true)]
async fn names_of_versions_are_names_and_not_without_end() {
    for (versions, problem) in [
        (r#""v1","../../evil?x=""#.to_owned(), "names the version \"../../evil?x=\""),
        (r#""v1 HTTP/1.1""#.to_owned(), "which is not a version"),
        ((0..3000).map(|number| format!("\"v{number}\"")).collect::<Vec<_>>().join(","), "names 3001 versions of its groups"),
    ] {
        let mock = Mock::start(move |path, _| match path {
            "/api" => MockAnswer::json(format!(r#"{{"kind":"APIVersions","versions":[{versions}]}}"#)),
            path => discovery(path).unwrap_or_else(|| list(30, "", &[])),
        });
        let moment = PresentState::new(mock.access(), false, |_| {});
        let error = moment.span().await.err().unwrap().to_string();
        assert!(error.contains(problem), "{error}");
        assert_eq!(mock.asked().len(), 2);
    }
}

/// HTTP/1.1 with connections that are used again, as `kubectl proxy` and many ingresses speak it: pages follow one another on a connection whose task has not
/// seen yet that the last answer was read, and on one that the server has ended meanwhile.
#[tokio::test(start_paused = true)]
async fn pages_are_read_over_http_1_whenever_the_server_ends_connections() {
    for ends in [false, true] {
        let mock = Mock::start(move |path, _| {
            let page = path.split("continue=t").nth(1).map_or(0, |page| page.parse::<usize>().unwrap());
            let next = if page < 30 { format!("t{}", page + 1) } else { String::new() };
            let MockAnswer::Whole(code, headers, body) = list(30, &next, &[pod(&format!("p{page:03}"), 7)]) else { unreachable!() };
            match discovery(path) {
                Some(answer) => answer,
                None if ends && page % 3 == 0 => MockAnswer::Last(body),
                None => MockAnswer::Whole(code, headers, body),
            }
        });
        let moment = PresentState::new(mock.access(), false, |_| {});
        let listing = moment.range(KeyRange::prefix("/registry/pods/"), At::Newest, Want::Values).await.unwrap();
        assert_eq!(listing.entries.count().await, 31, "{ends}");
    }
}
