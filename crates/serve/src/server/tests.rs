//! Limits, held by clients on connections in memory, where time passes when everybody waits, and on sockets, where nobody waits for a time.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use jiff::SignedDuration;
use ketcd_cluster::files;
use ketcd_store::{At, KeyRange, Revision, Until, WatchItem};
use ketcd_testing::{temporary, testdata};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::listening::next;
use super::newcomers::Step;
use super::tls::Certificate;
use super::*;
use crate::access::{Access, Address};

/// A time that nobody waits for.
const FAR_FUTURE: Duration = Duration::from_secs(u32::MAX as u64);

/// The made-up ConfigMaps, whose list is longer than what lies between a client that reads nothing and the server.
const OBJECT_COUNT: usize = 200;

/// The default limits of a process that may open many files.
fn limits() -> Limits {
    Limits::of_files(1 << 16)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

async fn cluster() -> (NamedTempFile, Arc<Cluster>) {
    let text = "x".repeat(1 << 14);
    let object = |number: usize| {
        let metadata = json!({"name": format!("c{number}"), "namespace": "shop"});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}})
    };
    let file = temporary::file((0..OBJECT_COUNT).map(|number| format!("{}\n", object(number))).collect::<String>());
    let opened = files::open(&[file.path().to_str().unwrap().to_owned()], &Default::default()).unwrap();
    (file, Arc::new(Cluster::open(opened.source, Default::default()).await.unwrap()))
}

/// What speaks TLS to a server with this certificate.
fn connector(pem: &str) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots).with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

/// A server, and what its clients need.
struct Fixture {
    serving: Serving,
    token: String,
    tls: TlsConnector,
    _file: NamedTempFile,
}

impl Fixture {
    async fn new(limits: Limits) -> Self {
        let (file, cluster) = cluster().await;
        Self::of(file, Arc::new(Served::new(cluster).await.unwrap()), None, limits)
    }

    fn of(file: NamedTempFile, data: Arc<Served>, replay: Option<Arc<Replay>>, limits: Limits) -> Self {
        let address = Address::new(([127, 0, 0, 1], 6443).into());
        let certificate = Certificate::for_run(address.subjects()).unwrap();
        let (access, token) = Access::new(address).unwrap();
        let app = Arc::new(App::new(data, replay, None, limits));
        let front = Front { access, places: Places::new(&limits), app, has_page_alone: false };
        let serving = Serving::new(router::routes(front), limits, Some(certificate.acceptor));
        Self { serving, token, tls: connector(&certificate.pem), _file: file }
    }

    /// A connection in memory, over which nothing was sent.
    fn open(&self) -> DuplexStream {
        let (near, far) = duplex(1 << 14);
        let (serving, client) = (self.serving.clone(), Arc::new(self.serving.newcomers.arrive([127, 0, 0, 1].into())));
        tokio::spawn(async move { client.while_open(serving.serve(far, &client)).await });
        near
    }

    async fn secured<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) -> TlsStream<S> {
        self.tls.connect("localhost".try_into().unwrap(), stream).await.unwrap()
    }

    /// A connection in memory over which this request was sent.
    async fn asking(&self, request: &str) -> TlsStream<DuplexStream> {
        let mut stream = self.secured(self.open()).await;
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    /// The last request of a connection.
    fn get(&self, path: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n", self.token)
    }

    /// The answer to a request with the token.
    async fn answer(&self, path: &str) -> String {
        rest(self.asking(&self.get(path)).await).await
    }

    /// Listens on a port of its own.
    async fn listen(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(self.serving.clone().accept(listener));
        address
    }
}

/// All that comes until the connection ends, however it does.
async fn rest(mut stream: impl AsyncRead + Unpin) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8(bytes).unwrap()
}

fn code(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

/// The frames of a watch.
fn frames(answer: &str) -> Vec<Value> {
    answer.lines().filter(|line| line.starts_with("{\"")).map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_the_token_ends_at_its_time() {
    let fixture = Fixture::new(Limits { token: seconds(7), ..limits() }).await;
    let begun = Instant::now();
    let mut greeting = fixture.open();
    greeting.write_all(b"\x16\x03\x01").await.unwrap();
    let (silent, asking) = (fixture.secured(fixture.open()).await, fixture.asking("GET /version HTTP/1.1\r\nHost: loc").await);
    let refused = fixture.asking("GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let ended = async |stream: TlsStream<DuplexStream>| {
        let answer = rest(stream).await;
        (answer, begun.elapsed())
    };
    assert_eq!(rest(greeting).await.len(), 0);
    assert_eq!(begun.elapsed(), seconds(7));
    assert_eq!(ended(silent).await, (String::new(), seconds(7)));
    assert_eq!(ended(asking).await, (String::new(), seconds(7)));
    // It was answered, and ends all the same.
    let (answer, after) = ended(refused).await;
    assert_eq!((code(&answer), after), ("401", seconds(7)));
}

#[tokio::test(start_paused = true)]
async fn heads_and_bodies_come_in_time_or_never() {
    let fixture = Fixture::new(Limits { token: FAR_FUTURE, head: seconds(20), body: seconds(9), ..limits() }).await;
    let begun = Instant::now();
    let known = format!("GET /version HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n", fixture.token);
    let review = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews HTTP/1.1\r\nConnection: close\r\nContent-Length: 9";
    let bodiless = fixture.asking(&known.replace("GET /version HTTP/1.1", review)).await;
    let answer = rest(bodiless).await;
    assert_eq!((code(&answer), begun.elapsed()), ("400", seconds(9)));
    assert!(answer.contains("the body did not come in time"), "{answer}");
    // A client that is known has no more time than others.
    let begun = Instant::now();
    let headless = fixture.asking(&format!("{known}GET /version HTTP/1.1\r\nHost: loc")).await;
    let answer = rest(headless).await;
    assert_eq!(code(&answer), "200");
    assert_eq!(begun.elapsed().as_secs(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_loses_its_place_to_those_who_wait() {
    let fixture = Fixture::new(Limits { requests: 1, turn: seconds(20), unread: seconds(30), ..limits() }).await;
    let list = "/api/v1/configmaps";
    let begun = Instant::now();
    let whole = fixture.answer(list).await;
    assert_eq!((code(&whole), begun.elapsed()), ("200", seconds(0)));
    let mut unread = fixture.asking(&fixture.get(list)).await;
    unread.read_u8().await.unwrap();
    let told = fixture.answer(list).await;
    assert_eq!((code(&told), begun.elapsed()), ("429", seconds(20)));
    assert!(told.to_lowercase().contains("\r\nretry-after: "), "{told}");
    let waited = fixture.answer(list).await;
    assert_eq!((waited.len(), begun.elapsed()), (whole.len(), seconds(30)));
    assert!(rest(unread).await.len() < whole.len() / 2);
}

/// Watches have places of their own, and those that are not read hold up no one who writes.
#[tokio::test(start_paused = true)]
async fn watches_that_are_not_read_hinder_no_answer() {
    let fixture = Fixture::new(Limits { requests: 1, watches: 8, unread: FAR_FUTURE, turn: seconds(10), ..limits() }).await;
    let begun = Instant::now();
    let mut unread = Vec::new();
    for _ in 0..8 {
        let mut watch = fixture.asking(&fixture.get("/api/v1/configmaps?watch=true")).await;
        watch.read_u8().await.unwrap();
        unread.push(watch);
    }
    assert_eq!((code(&fixture.answer("/api/v1/configmaps").await), begun.elapsed()), ("200", seconds(0)));
    let more = fixture.answer("/api/v1/configmaps?watch=true").await;
    assert_eq!((code(&more), begun.elapsed()), ("429", seconds(10)));
}

#[tokio::test(start_paused = true)]
async fn a_client_without_a_place_waits_for_one_and_is_told() {
    let fixture = Fixture::new(Limits { connections: 1, entry: seconds(5), ..limits() }).await;
    let mut first = fixture.asking(&fixture.get("/api/v1/configmaps?watch=true")).await;
    first.read_u8().await.unwrap();
    let begun = Instant::now();
    let told = fixture.answer("/version").await;
    assert_eq!((code(&told), begun.elapsed()), ("429", seconds(5)));
    let waiting = fixture.asking(&fixture.get("/version")).await;
    drop(first);
    assert_eq!((code(&rest(waiting).await), begun.elapsed()), ("200", seconds(5)));
}

#[tokio::test(start_paused = true)]
async fn a_watch_stays_open_for_its_time_and_says_so_meanwhile() {
    let fixture = Fixture::new(Limits { watch: seconds(100), longest_watch: seconds(1000), bookmarks: seconds(60), ..limits() }).await;
    let lasts = async |query: &str| {
        let begun = Instant::now();
        let frames = frames(&fixture.answer(&format!("/api/v1/configmaps?watch=true&{query}")).await);
        (frames, begun.elapsed())
    };
    let (changes, lasted) = lasts("timeoutSeconds=2").await;
    assert_eq!((changes.len(), lasted), (OBJECT_COUNT, seconds(2)));
    assert_eq!(lasts("timeoutSeconds=31536001").await.1, seconds(1000));
    let (marked, lasted) = lasts("timeoutSeconds=150&allowWatchBookmarks=true").await;
    assert_eq!(lasted, seconds(150));
    // When all is said, and each minute.
    let kinds: Vec<&str> = marked[OBJECT_COUNT..].iter().map(|frame| frame["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["BOOKMARK"; 3]);
    // Those that ask for no time do not end together.
    let mut usual = BTreeSet::new();
    for _ in 0..5 {
        usual.insert(lasts("").await.1);
    }
    assert!(usual.len() > 1 && usual.iter().all(|lasted| (seconds(100)..=seconds(201)).contains(lasted)), "{usual:?}");
}

/// While a history is replayed, a watch brings each change once, in order, and when it is due.
#[tokio::test(start_paused = true)]
async fn a_watch_of_a_replay_brings_what_is_due_by_then() {
    const SPEED: f64 = 20.0;
    let file = temporary::file(testdata::read("captures/k136-story/snapshot.db.zst"));
    let opened = files::open(&[file.path().to_str().unwrap().to_owned()], &Default::default()).unwrap();
    let options = ketcd_cluster::Options { at: At::Revision(Revision(900)), ..Default::default() };
    let data = Arc::new(Served::new(Arc::new(Cluster::open(opened.source, options).await.unwrap())).await.unwrap());
    let replay = Arc::new(Replay::begin(Arc::clone(&data), SPEED).await.unwrap());
    let mut made = Vec::new();
    let mut changes = data.source().watch(KeyRange::prefix(b"/registry/pods/".to_vec()), Revision(901), Until::Revision(replay.last()));
    while let Some(item) = changes.next().await {
        if let WatchItem::Event(event) = item.unwrap() {
            made.push((event.revision.0, data.date(event.revision).await.unwrap()));
        }
    }
    drop(changes);
    let fixture = Fixture::of(file, data, Some(Arc::clone(&replay)), limits());
    let (mut left, mut from) = (&made[..], 900);
    for lasts in [1, 4, 7] {
        let answer = fixture.answer(&format!("/api/v1/pods?watch=true&resourceVersion={from}&timeoutSeconds={lasts}")).await;
        let revision = |frame: &Value| frame["object"]["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        let brought: Vec<i64> = frames(&answer).iter().map(revision).collect();
        let (due, later) = left.split_at(brought.len());
        assert_eq!(brought, due.iter().map(|(revision, _)| *revision).collect::<Vec<_>>());
        // Timers go off at whole milliseconds.
        let (ended, slack) = (replay.now(), SignedDuration::from_millis(2 * SPEED as i64));
        assert!(due.last().is_none_or(|(_, made)| *made <= ended + slack) && later[0].1 + slack >= ended, "{lasts} s: {brought:?}");
        (left, from) = (later, brought.last().copied().unwrap_or(from));
    }
    assert!(made.len() - left.len() > 20, "{} of {} changes", made.len() - left.len(), made.len());
}

/// However far connections without the token go, the longest there makes room for the next, and no client has to wait until their time is up.
#[tokio::test]
async fn strangers_make_room() {
    const CONNECTION_ROOM: usize = 4;
    let fixture = Fixture::new(Limits { newcomers: CONNECTION_ROOM, token: FAR_FUTURE, head: FAR_FUTURE, ..limits() }).await;
    let address = fixture.listen().await;
    let connect = async || TcpStream::connect(address).await.unwrap();
    let mut strangers = Vec::new();
    for step in [Step::Silent, Step::Handshake, Step::Asking] {
        let mut ends: FuturesUnordered<Pin<Box<dyn Future<Output = String>>>> = FuturesUnordered::new();
        for _ in 0..3 * CONNECTION_ROOM {
            let mut stream = connect().await;
            match step {
                Step::Silent => {}
                Step::Handshake => stream.write_all(b"\x16\x03\x01").await.unwrap(),
                Step::Asking => {
                    let mut secured = fixture.secured(stream).await;
                    secured.write_all(b"GET /version HTTP/1.1\r\nHost: loc").await.unwrap();
                    ends.push(Box::pin(rest(secured)));
                    continue;
                }
            }
            ends.push(Box::pin(rest(stream)));
        }
        for _ in 0..2 * CONNECTION_ROOM {
            assert_eq!(ends.next().await.as_deref(), Some(""), "{step:?}");
        }
        let mut client = fixture.secured(connect().await).await;
        client.write_all(fixture.get("/version").as_bytes()).await.unwrap();
        assert_eq!(code(&rest(client).await), "200", "{step:?}");
        strangers.push(ends);
    }
}

#[tokio::test]
async fn what_is_written_goes_out_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, from) = next(&listener).await.unwrap();
    assert_eq!(from, client.local_addr().unwrap());
    assert!(stream.nodelay().unwrap());
}

/// Watches end with the server.
#[tokio::test]
async fn a_server_that_is_dropped_ends_its_connections() {
    let (_file, cluster) = cluster().await;
    let options = Options { listen: ([127, 0, 0, 1], 0).into(), certificate: None, kubeconfig: None, files: 1024, speed: None, page: None };
    let server = Server::start(cluster, &options).await.unwrap();
    let config: Value = serde_saphyr::from_str(&std::fs::read_to_string(server.kubeconfig().unwrap()).unwrap()).unwrap();
    let text = |pointer: &str| config.pointer(pointer).unwrap().as_str().unwrap().to_owned();
    let pem = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text("/clusters/0/cluster/certificate-authority-data"));
    let tls = connector(&String::from_utf8(pem.unwrap()).unwrap());
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let mut watch = tls.connect("localhost".try_into().unwrap(), stream).await.unwrap();
    let token = text("/users/0/user/token");
    let request = format!("GET /api/v1/configmaps?watch=true HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n");
    watch.write_all(request.as_bytes()).await.unwrap();
    watch.read_u8().await.unwrap();
    drop(server);
    rest(watch).await;
}
