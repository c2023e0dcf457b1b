//! What each command asks of a live etcd, and what that costs etcd's other clients: time, memory, requests, bytes, and how long puts take
//! meanwhile. `tools/bench live SNAPSHOT` starts the etcd and runs it; BENCHMARKS.md has the figures.

#![allow(clippy::print_stdout, reason = "the table is what it is for")]
#![allow(clippy::zombie_processes, reason = "each child is waited for by wait4, which tells its memory")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use etcd_client::{Client, GetOptions, SortOrder, SortTarget};

/// How often the other client writes.
const PUTS_A_SECOND: u64 = 100;
/// A command is run until it ran so long, so that enough puts fall into it.
const LONG_ENOUGH: Duration = Duration::from_secs(3);
/// The key that is written; it is no object's.
const WRITTEN_KEY: &str = "/ketcd-bench/put";

/// How long the puts of late took.
#[derive(Clone, Default)]
struct Puts(Arc<Mutex<Vec<Duration>>>);

impl Puts {
    /// Writes on for ever.
    async fn run(self, mut client: Client) {
        let mut ticks = tokio::time::interval(Duration::from_millis(1000 / PUTS_A_SECOND));
        loop {
            ticks.tick().await;
            let begun = Instant::now();
            client.put(WRITTEN_KEY, "value", None).await.expect("the put fails");
            self.0.lock().unwrap().push(begun.elapsed());
        }
    }

    /// The 99th percentile since the last call.
    fn p99(&self) -> Duration {
        let mut puts = std::mem::take(&mut *self.0.lock().unwrap());
        puts.sort_unstable();
        puts.get(puts.len() * 99 / 100).copied().unwrap_or_default()
    }
}

/// What one run took.
struct Run {
    took: Duration,
    peak: i64,
    code: i32,
}

/// Runs a command and waits for it.
fn run(words: &[&str], endpoint: &str) -> Run {
    let begun = Instant::now();
    let binary = std::env::var("KETCD_BENCH_BINARY").expect("tools/bench names the binary");
    let mut command = Command::new(binary);
    let child = command.args(words).args(["--endpoints", endpoint]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (mut status, pid) = (0, i32::try_from(child.id()).unwrap());
    // SAFETY: `usage` is plain data that the call fills; the child is waited for here alone.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(pid, &raw mut status, 0, &raw mut usage), pid);
        usage
    };
    Run { took: begun.elapsed(), peak: usage.ru_maxrss / 1024, code: std::process::ExitStatus::from_raw(status).code().unwrap_or(-1) }
}

/// Read requests that were begun and bytes that were sent since etcd started, from its metrics.
fn metrics(endpoint: &str) -> (f64, f64) {
    let mut stream = TcpStream::connect(endpoint).unwrap();
    stream.write_all(format!("GET /metrics HTTP/1.0\r\nHost: {endpoint}\r\n\r\n").as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let sum = |wanted: &dyn Fn(&str) -> bool| -> f64 {
        text.lines().filter(|line| wanted(line)).filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
    };
    let requests = sum(&|line| line.starts_with("grpc_server_started_total") && !line.contains("\"Put\""));
    (requests, sum(&|line| line.starts_with("etcd_network_client_grpc_sent_bytes_total")))
}

/// The commands that are measured, on a pod of the past and on the one created last.
async fn commands(client: &mut Client) -> Vec<String> {
    let address = |key: &[u8]| {
        let key = String::from_utf8_lossy(key).into_owned();
        let mut parts = key.rsplit('/');
        let (name, namespace) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        format!("pod/{namespace}/{name}")
    };
    let first = client.get("/registry/pods/", Some(GetOptions::new().with_prefix().with_limit(1).with_keys_only())).await.unwrap();
    let newest = GetOptions::new().with_prefix().with_limit(1).with_keys_only().with_sort(SortTarget::Create, SortOrder::Descend);
    let last = client.get("/registry/pods/", Some(newest)).await.unwrap();
    let revision = first.header().unwrap().revision();
    let (pod, last) = (address(first.kvs()[0].key()), address(last.kvs()[0].key()));
    let middle = revision / 2;
    [
        "status".to_owned(),
        "triage".to_owned(),
        "usage".to_owned(),
        format!("get {pod} -o yaml"),
        format!("get {pod} -o yaml --rev {middle}"),
        format!("history {pod}"),
        format!("blame {pod}"),
        format!("timeline {pod}"),
        format!("diff --rev {middle}.. {pod}"),
        format!("describe {pod}"),
        "ls nodes".to_owned(),
        "ls pods -n kube-system".to_owned(),
        format!("explain {last}"),
        format!("explain {pod}"),
        "ls pods -A".to_owned(),
    ]
    .into()
}

#[tokio::main]
async fn main() {
    let Ok(endpoint) = std::env::var("KETCD_BENCH_ENDPOINT") else {
        println!("this bench needs a running etcd: tools/bench live SNAPSHOT");
        return;
    };
    let mut client = Client::connect([format!("http://{endpoint}")], None).await.expect("no etcd answers");
    let commands = commands(&mut client).await;
    let puts = Puts::default();
    tokio::spawn(puts.clone().run(client));
    tokio::time::sleep(Duration::from_secs(1)).await;
    puts.p99();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let idle = puts.p99();
    println!("p99 of {PUTS_A_SECOND} puts a second, with no other client: {:.1} ms\n", idle.as_secs_f64() * 1e3);
    println!("| command | exit | seconds | peak MiB | requests | MiB sent | p99 of puts, ms | to idle |");
    println!("|---|---|---|---|---|---|---|---|");
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        let (before, begun) = (metrics(&endpoint), Instant::now());
        puts.p99();
        let mut runs = Vec::new();
        while runs.is_empty() || begun.elapsed() < LONG_ENOUGH {
            let (words, endpoint) = (words.iter().map(ToString::to_string).collect::<Vec<_>>(), endpoint.clone());
            let run = tokio::task::spawn_blocking(move || run(&words.iter().map(String::as_str).collect::<Vec<_>>(), &endpoint));
            runs.push(run.await.unwrap());
        }
        let (p99, after) = (puts.p99(), metrics(&endpoint));
        runs.sort_by_key(|run| run.took);
        let (median, count) = (&runs[runs.len() / 2], runs.len() as f64);
        println!(
            "| `{command}` | {} | {:.2} | {} | {:.0} | {:.1} | {:.1} | {:.1} |",
            median.code,
            median.took.as_secs_f64(),
            runs.iter().map(|run| run.peak).max().unwrap_or(0),
            (after.0 - before.0) / count,
            (after.1 - before.1) / count / f64::from(1 << 20),
            p99.as_secs_f64() * 1e3,
            p99.as_secs_f64() / idle.as_secs_f64(),
        );
    }
}
