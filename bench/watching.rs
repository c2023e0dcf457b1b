//! What following a busy cluster costs: `watch` of all pods, of which a thousand are written a second, as a table and as JSON. `tools/bench watching` starts
//! the etcd and runs it; BENCHMARKS.md has the figures.

#![allow(clippy::print_stdout, reason = "the table is what it is for")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use etcd_client::Client;
use futures_util::TryStreamExt;
use ketcd_store::{EventKind, KeyRange, KeyValue, Revision, Until, WatchItem};
use ketcd_testing::testdata;

const PUTS_A_SECOND: u64 = 1_000;
/// Puts that are under way at once: each waits for etcd's disk.
const CONCURRENT_WRITERS: u64 = 50;
/// How long each command is watched.
const WATCH_DURATION: Duration = Duration::from_secs(20);
/// What is late by more has not kept up.
const MAX_LAG: Duration = Duration::from_secs(5);

/// Every version of every pod of a recorded cluster.
async fn versions() -> Vec<KeyValue> {
    let file = testdata::path("captures/k136-random/snapshot.db.zst");
    let source = ketcd_store::load::open(&[file.to_str().expect("a path in UTF-8").to_owned()], &|_| None).expect("the capture opens");
    let items: Vec<WatchItem> =
        source.watch(KeyRange::prefix("/registry/pods/"), Revision(1), Until::Forever).try_collect().await.expect("the capture is read");
    let put = |item| match item {
        WatchItem::Event(event) if event.kind == EventKind::Put => Some(event.key_value),
        _ => None,
    };
    items.into_iter().filter_map(put).collect()
}

/// Writes versions, evenly spread over time, until it is stopped; counts them.
async fn write(client: Client, versions: Arc<Vec<KeyValue>>, stop: Arc<AtomicBool>) -> u64 {
    let count = Arc::new(AtomicU64::new(0));
    let writer = |number: u64| {
        let (mut client, versions, stop, count) = (client.clone(), Arc::clone(&versions), Arc::clone(&stop), Arc::clone(&count));
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(Duration::from_micros(1_000_000 * CONCURRENT_WRITERS / PUTS_A_SECOND));
            let mut next = number as usize;
            while !stop.load(Ordering::Relaxed) {
                ticks.tick().await;
                let version = &versions[next % versions.len()];
                next += CONCURRENT_WRITERS as usize;
                client.put(&version.key[..], &version.value[..], None).await.expect("the put fails");
                count.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    let writers: Vec<_> = (0..CONCURRENT_WRITERS).map(writer).collect();
    for writer in writers {
        writer.await.expect("a writer");
    }
    count.load(Ordering::Relaxed)
}

/// Seconds of CPU that a process took so far.
fn cpu(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process runs");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|field| field.parse::<f64>().expect("ticks")).sum();
    // SAFETY: it only reads a number.
    ticks / unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64
}

/// Lines that a command has written, counted as they come.
fn count_lines(child: &mut Child) -> Arc<AtomicU64> {
    let lines = Arc::new(AtomicU64::new(0));
    let (counted, stdout) = (Arc::clone(&lines), child.stdout.take().expect("a pipe"));
    std::thread::spawn(move || {
        for _ in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    lines
}

#[tokio::main]
async fn main() {
    let Ok(endpoint) = std::env::var("KETCD_BENCH_ENDPOINT") else {
        println!("this bench needs a running etcd: tools/bench watching");
        return;
    };
    let client = Client::connect([format!("http://{endpoint}")], None).await.expect("no etcd answers");
    let versions = Arc::new(versions().await);
    let binary = std::env::var("KETCD_BENCH_BINARY").expect("tools/bench names the binary");
    println!("| command | puts a second | lines | late by, s | CPU of ketcd, % of a core |");
    println!("|---|---|---|---|---|");
    for format in ["table", "ndjson"] {
        let words = ["watch", "pods", "-A", "-o", format, "--endpoints", &endpoint];
        let mut child = Command::new(&binary).args(words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("ketcd starts");
        let lines = count_lines(&mut child);
        tokio::time::sleep(Duration::from_secs(2)).await;
        // What it shows before the first change.
        let (beginning, cpu_before, begun) = (lines.load(Ordering::Relaxed), cpu(child.id()), Instant::now());
        let stop = Arc::new(AtomicBool::new(false));
        let writing = tokio::spawn(write(client.clone(), Arc::clone(&versions), Arc::clone(&stop)));
        tokio::time::sleep(WATCH_DURATION).await;
        stop.store(true, Ordering::Relaxed);
        let puts = writing.await.expect("the writers");
        let (took, ended) = (begun.elapsed(), Instant::now());
        let shown = || lines.load(Ordering::Relaxed) - beginning;
        while shown() < puts && ended.elapsed() < MAX_LAG {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let (late, used) = (ended.elapsed().as_secs_f64(), cpu(child.id()) - cpu_before);
        println!(
            "| `{}` | {:.0} | {} of {puts} | {late:.2} | {:.1} |",
            words[..5].join(" "),
            puts as f64 / took.as_secs_f64(),
            shown(),
            used / took.as_secs_f64() * 100.0
        );
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }
}
