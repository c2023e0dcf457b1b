//! A server that answers as no etcd does: each command ends with an error that names it, and shows nothing of what cannot be true.

use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use etcd_client::proto::{PbEvent, PbKeyValue, PbRangeResponse, PbRangeStreamResponse, PbStatusResponse, PbWatchResponse};
use futures_util::stream::{self, StreamExt};
use ketcd_testing::wait::until;
use prost::Message;
use serde_json::json;
use tonic::Status;

use crate::fake_etcd::{
    Call, FakeEtcd, Messages, RangeRequest, Store, WatchCreateRequest, WatchRequest, header, one, put, refusal, several,
};
use crate::ketcd::ketcd;

/// The most memory that a command may hold, in bytes.
const MOST_MEMORY: u64 = 300 << 20;
const LISTING_COMMANDS: &[&[&str]] = &[&["ls", "pods", "-A"], &["get", "pods", "-A", "-o", "json"]];
const SINGLE_COMMANDS: &[&[&str]] = &[&["get", "pod/lab/p1", "-o", "json"], &["explain", "pod/lab/p1"]];
const HISTORY_COMMANDS: &[&[&str]] = &[&["history", "pods", "-A"], &["history", "pod/lab/p1"]];
const FOLLOWING_COMMANDS: &[&[&str]] = &[&["watch", "pods", "-A"], &["history", "pods", "-A"], &["record", "DIRECTORY"]];

/// What a lie makes of an honest answer.
#[derive(Clone, Copy)]
enum Lie {
    /// Changes ranges; the number counts the calls.
    Range(fn(i64, &RangeRequest, &mut PbRangeResponse)),
    /// Changes what follows the confirmation of a watch that begins at a revision: each time from the beginning.
    Watch(fn(i64, usize) -> Option<PbWatchResponse>),
    /// Changes the confirmation.
    Created(fn(&mut PbWatchResponse)),
    /// Changes a range's stream: the messages that it comes in.
    Stream(fn(PbRangeResponse) -> Vec<PbRangeResponse>),
    Status(fn(&mut PbStatusResponse)),
}

fn pod(name: &str) -> (String, Vec<u8>) {
    let metadata = json!({"name": name, "namespace": "lab", "uid": name, "creationTimestamp": "2026-11-20T22:00:00Z"});
    let spec = json!({"containers": [{"name": "c", "image": "i"}], "nodeName": "n1"});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}});
    (format!("/registry/pods/lab/{name}"), pod.to_string().into_bytes())
}

fn honest() -> Store {
    let node =
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"nodeInfo": {"kubeletVersion": "v1.31.0"}}});
    let node = ("/registry/minions/n1".to_owned(), node.to_string().into_bytes());
    Store::new([node].into_iter().chain((1..=300).map(|number| pod(&format!("p{number}")))))
}

/// A pod that the store does not hold.
fn evil(key: &str, revision: i64) -> PbKeyValue {
    let value = pod("evil").1;
    PbKeyValue { key: key.into(), value, create_revision: revision, mod_revision: revision, version: 1, lease: 0 }
}

/// A change that may be true.
fn event(revision: i64) -> PbEvent {
    put(PbKeyValue { value: pod("p7").1, ..evil("/registry/pods/lab/p7", revision) })
}

fn sent(newest: i64, events: Vec<PbEvent>) -> Option<PbWatchResponse> {
    Some(PbWatchResponse { header: header(newest), events, ..PbWatchResponse::default() })
}

/// One answer after the other until there is none, after which the stream ends.
fn until_none(answer: impl FnMut(usize) -> Option<PbWatchResponse> + Send + 'static) -> Messages {
    stream::iter((0..).map_while(answer).map(|answer| Ok(answer.encode_to_vec()))).boxed()
}

fn server(lie: Lie) -> FakeEtcd {
    let (store, calls) = (Arc::new(honest()), AtomicI64::new(0));
    FakeEtcd::start(move |Call { method, request, more }| match method.as_str() {
        "Range" => {
            let asked = RangeRequest::decode(&request[..]).unwrap();
            let mut answer = store.range(&asked);
            if let Lie::Range(lie) = lie {
                lie(calls.fetch_add(1, Ordering::Relaxed), &asked, &mut answer);
            }
            one(&answer)
        }
        "Watch" => {
            let asked: WatchCreateRequest = WatchRequest::decode(&request[..]).unwrap().create.unwrap();
            let mut answers = store.watch(&asked);
            let from = asked.start_revision;
            match lie {
                Lie::Watch(lie) => {
                    let created = several(vec![answers[0].encode_to_vec()]);
                    created.chain(until_none(move |place| lie(from, place))).boxed()
                }
                Lie::Created(lie) => {
                    lie(&mut answers[0]);
                    let told = several(answers.iter().map(Message::encode_to_vec).collect());
                    told.chain(stream::pending()).boxed()
                }
                _ => {
                    let told = several(answers.iter().map(Message::encode_to_vec).collect());
                    let progress =
                        PbWatchResponse { header: header(store.revision()), watch_id: -1, ..PbWatchResponse::default() }.encode_to_vec();
                    told.chain(more.map(move |asked| asked.map(|_| progress.clone()))).boxed()
                }
            }
        }
        "RangeStream" => {
            let Lie::Stream(lie) = lie else { return refusal(Status::unimplemented("unknown method")) };
            let asked = RangeRequest::decode(&request[..]).unwrap();
            let messages = lie(store.range(&asked)).into_iter().map(|answer| PbRangeStreamResponse { range_response: Some(answer) });
            several(messages.map(|message| message.encode_to_vec()).collect())
        }
        "Status" => {
            let mut answer = store.status();
            if let Lie::Status(lie) = lie {
                lie(&mut answer);
            }
            one(&answer)
        }
        _ => refusal(Status::unimplemented("unknown method")),
    })
}

/// Runs a command to its end; returns how it ended, what it printed, and the most memory that it held.
fn run(endpoint: &str, args: &[&str]) -> (ExitStatus, String, String, u64) {
    let folder = tempfile::tempdir().unwrap();
    let (out, err) = (folder.path().join("out"), folder.path().join("err"));
    let file = |path| Stdio::from(std::fs::File::create(path).unwrap());
    let directory = folder.path().join("recording");
    let args = args.iter().map(|&arg| if arg == "DIRECTORY" { directory.as_os_str() } else { arg.as_ref() });
    let mut command = ketcd();
    command.args(["--endpoints", endpoint]).args(args).stdin(Stdio::null()).stdout(file(&out)).stderr(file(&err));
    let (status, memory) = wait(&mut command);
    let text = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    (status, text(&out), text(&err), memory)
}

/// Waits for a command; returns with its end the most memory that it held, as far as the kernel said so while it ran.
fn wait(command: &mut Command) -> (ExitStatus, u64) {
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    until(|| {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        // Until it has its own name its memory is still that of this process.
        let is_begun = text.starts_with("Name:\tketcd\n");
        let held = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        most = held.filter(|_| is_begun).map_or(most, |held: u64| most.max(held << 10));
        child.try_wait().unwrap().map(|status| (status, most))
    })
}

/// The commands must refuse the server by name, for the reason `expected`.
#[track_caller]
fn check(lie: Lie, commands: &[&[&str]], expected: &str) {
    let server = server(lie);
    for args in commands {
        let (status, out, err, memory) = run(&server.endpoint, args);
        assert_eq!(status.code(), Some(2), "{args:?}: {status}: {err}");
        let said = format!("error: {} answers, but not as etcd does: it {expected}", server.endpoint);
        assert!(err.contains(&said), "{args:?}: {said:?} is not in {err}");
        assert!(!out.contains("evil") && !err.contains("evil"), "{args:?}: {out}{err}");
        assert!(memory < MOST_MEMORY, "{args:?}: {memory} bytes");
    }
}

/// Whether the request is a listing.
fn is_listing(asked: &RangeRequest) -> bool {
    asked.key.starts_with(b"/registry/pods/") && !asked.range_end.is_empty() && !asked.count_only
}

#[test]
fn pages_that_do_not_follow_one_another() {
    let first_again = |_, asked: &RangeRequest, answer: &mut PbRangeResponse| {
        if is_listing(asked) {
            *answer = honest().range(&RangeRequest { key: b"/registry/pods/".to_vec(), ..asked.clone() });
        }
    };
    check(Lie::Range(first_again), LISTING_COMMANDS, "sent keys that were not asked for");
    let one_again = |_, asked: &RangeRequest, answer: &mut PbRangeResponse| {
        if is_listing(asked) {
            (answer.kvs, answer.more, answer.count) = (vec![evil("/registry/pods/lab/p1", 3)], true, 1_000_000);
        }
    };
    check(Lie::Range(one_again), LISTING_COMMANDS, "sent fewer keys than were asked for, and says that there are more");
    let none = |_, asked: &RangeRequest, answer: &mut PbRangeResponse| {
        if is_listing(asked) {
            (answer.kvs, answer.more, answer.count) = (Vec::new(), true, 5);
        }
    };
    check(Lie::Range(none), LISTING_COMMANDS, "sent fewer keys than were asked for, and says that there are more");
    let backwards = |_, asked: &RangeRequest, answer: &mut PbRangeResponse| {
        if is_listing(asked) {
            answer.kvs.reverse();
        }
    };
    check(Lie::Range(backwards), LISTING_COMMANDS, "sent keys out of order, or one of them twice");
    let other_revision = |_, asked: &RangeRequest, answer: &mut PbRangeResponse| {
        if is_listing(asked) && asked.revision > 0 {
            answer.header = header(asked.revision - 1);
        }
    };
    check(Lie::Range(other_revision), LISTING_COMMANDS, "answered for revision 302, and says that the newest is 301");
}

#[test]
fn ranges_of_other_keys_or_of_more_than_were_asked_for() {
    let outside = |_, _: &RangeRequest, answer: &mut PbRangeResponse| {
        let of_pods = answer.kvs.iter_mut().filter(|kv| kv.key.starts_with(b"/registry/pods/"));
        of_pods.for_each(|kv| *kv = evil("/registry/secrets/lab/evil", kv.mod_revision));
    };
    check(Lie::Range(outside), LISTING_COMMANDS, "sent keys that were not asked for");
    check(Lie::Range(outside), &SINGLE_COMMANDS[..1], "sent keys that were not asked for");
    let all = |_, asked: &RangeRequest, answer: &mut PbRangeResponse| {
        if is_listing(asked) {
            answer.kvs = (0..100_000).map(|number| evil(&format!("/registry/pods/lab/evil{number:06}"), 300)).collect();
            answer.count = 200_000;
            answer.more = true;
        }
    };
    check(Lie::Range(all), LISTING_COMMANDS, "sent more keys than were asked for");
    let with_keys = |_, asked: &RangeRequest, answer: &mut PbRangeResponse| {
        if asked.count_only {
            answer.kvs.push(evil("/registry/pods/lab/evil", 3));
        }
    };
    check(Lie::Range(with_keys), HISTORY_COMMANDS, "sent keys where their number was asked for");
}

#[test]
fn counts_that_contradict_what_is_sent() {
    let impossible = "counts more keys than an etcd can hold, or a negative number of them";
    check(Lie::Range(|_, _, answer| answer.count = 1 << 62), LISTING_COMMANDS, impossible);
    check(Lie::Range(|_, _, answer| answer.count = i64::MIN), LISTING_COMMANDS, impossible);
    let other = "counts other keys than it sent";
    check(Lie::Range(|_, asked, answer| answer.more &= !is_listing(asked)), LISTING_COMMANDS, other);
    let more = |_, asked: &RangeRequest, answer: &mut PbRangeResponse| answer.count += i64::from(is_listing(asked) && answer.more);
    check(Lie::Range(more), LISTING_COMMANDS, "counts the keys of one revision differently from page to page");
}

#[test]
fn revisions_and_versions_that_cannot_be() {
    let is_none = "sent 9223372036854775807, which cannot be a revision";
    check(Lie::Range(|_, _, answer| answer.kvs.iter_mut().for_each(|kv| kv.mod_revision = i64::MAX)), LISTING_COMMANDS, is_none);
    check(
        Lie::Range(|_, _, answer| answer.kvs.iter_mut().for_each(|kv| kv.mod_revision = 303)),
        SINGLE_COMMANDS,
        "sent a change of revision 303, where the newest is 302",
    );
    let created = "sent a key that was created at a revision that is not there";
    check(Lie::Range(|_, _, answer| answer.kvs.iter_mut().for_each(|kv| kv.create_revision = 303)), SINGLE_COMMANDS, created);
    check(Lie::Range(|_, _, answer| answer.kvs.iter_mut().for_each(|kv| kv.create_revision = -1)), SINGLE_COMMANDS, created);
    let version = "sent a key that was written more often than there are revisions";
    check(Lie::Range(|_, _, answer| answer.kvs.iter_mut().for_each(|kv| kv.version = -7)), SINGLE_COMMANDS, version);
    check(Lie::Range(|_, _, answer| answer.kvs.iter_mut().for_each(|kv| kv.version = 303)), SINGLE_COMMANDS, version);
    check(
        Lie::Range(|_, _, answer| answer.header = header(i64::MAX)),
        &[LISTING_COMMANDS[0], HISTORY_COMMANDS[0], FOLLOWING_COMMANDS[2]],
        is_none,
    );
    check(Lie::Range(|_, _, answer| answer.header = header(-5)), LISTING_COMMANDS, "sent -5, which cannot be a revision");
    check(Lie::Range(|_, _, answer| answer.header = header(0)), LISTING_COMMANDS, "sent 0, which cannot be a revision");
    check(Lie::Range(|_, _, answer| answer.header = None), LISTING_COMMANDS, "sent no header, which has the newest revision");
}

#[test]
fn streams_of_a_range_that_are_not_the_range() {
    let listing = &LISTING_COMMANDS[1..];
    let ended = |answer: PbRangeResponse| vec![PbRangeResponse { kvs: Vec::new(), ..answer }];
    check(Lie::Stream(ended), listing, "ended a listing 100 keys before its end");
    let outside = |mut answer: PbRangeResponse| {
        answer.kvs[0] = evil("/registry/secrets/lab/evil", 3);
        vec![answer]
    };
    check(Lie::Stream(outside), listing, "sent keys that were not asked for");
    let nothing = |answer: PbRangeResponse| vec![PbRangeResponse::default(), answer];
    check(Lie::Stream(nothing), listing, "sent a part of a listing that holds nothing");
    let again = |answer: PbRangeResponse| vec![PbRangeResponse { header: None, ..answer.clone() }, answer];
    check(Lie::Stream(again), listing, "sent keys that were not asked for");
}

#[test]
fn a_revision_that_never_ends() {
    let fragments = |from: i64, place: usize| {
        let value = vec![0; 1 << 20];
        let version = PbKeyValue { value, ..evil(&format!("/registry/pods/lab/evil{place}"), from.max(2)) };
        sent(from.max(2), vec![put(version)]).map(|answer| PbWatchResponse { fragment: true, ..answer })
    };
    check(Lie::Watch(fragments), FOLLOWING_COMMANDS, "sent more than 128 MiB as the changes of one revision");
}

#[test]
fn changes_out_of_order_or_of_other_keys() {
    let backwards = |from: i64, place: usize| sent(from + 100, vec![event(from + 90 - place as i64)]);
    check(Lie::Watch(backwards), FOLLOWING_COMMANDS, "sent a change of revision");
    let mixed = |from: i64, _| sent(from + 10, [5, 3, 4, 2].map(|after| event(from + after)).into());
    check(Lie::Watch(mixed), FOLLOWING_COMMANDS, "sent a change of revision");
    let after_progress = |from: i64, place: usize| sent(from + 2, if place == 0 { Vec::new() } else { vec![event(from + 1)] });
    check(Lie::Watch(after_progress), FOLLOWING_COMMANDS, "sent a change of revision");
    let newer = |from: i64, _| sent(from + 1, vec![event(from + 2)]);
    check(Lie::Watch(newer), FOLLOWING_COMMANDS, "sent a change of revision");
    let outside = |from: i64, _| sent(from + 1, vec![put(evil("/a/evil", from + 1))]);
    check(Lie::Watch(outside), &[FOLLOWING_COMMANDS[0], HISTORY_COMMANDS[1]], "sent changes of keys that were not asked for");
    let twice = |from: i64, _| sent(from + 1, vec![event(from + 1), event(from + 1)]);
    check(Lie::Watch(twice), FOLLOWING_COMMANDS, "sent two changes of one key in one revision");
    let other_watch = |from: i64, _| sent(from + 1, vec![event(from + 1)]).map(|answer| PbWatchResponse { watch_id: 99, ..answer });
    check(Lie::Watch(other_watch), FOLLOWING_COMMANDS, "sent answers of a watch that was not asked for");
    let no_key = |from: i64, _| sent(from + 1, vec![PbEvent::default(); 1000]);
    check(Lie::Watch(no_key), FOLLOWING_COMMANDS, "sent a change of no key");
    let neither = |from: i64, _| sent(from + 1, vec![PbEvent { r#type: 7, ..event(from + 1) }]);
    check(Lie::Watch(neither), FOLLOWING_COMMANDS, "sent a change that is neither a put nor a deletion");
}

#[test]
fn watches_at_revisions_that_cannot_be() {
    let is_none = "sent 9223372036854775807, which cannot be a revision";
    check(Lie::Watch(|_, _| sent(i64::MAX, vec![event(i64::MAX)])), FOLLOWING_COMMANDS, is_none);
    check(Lie::Watch(|_, _| sent(i64::MAX, Vec::new())), FOLLOWING_COMMANDS, is_none);
    check(Lie::Watch(|from, _| sent(from + 1, vec![event(-1)])), FOLLOWING_COMMANDS, "sent -1, which cannot be a revision");
    // Each goes on a hundred times; one of them is enough.
    check(
        Lie::Watch(|from, _| compacted(from + 1)),
        &HISTORY_COMMANDS[..1],
        "says that every revision it is asked to begin from was compacted",
    );
    check(
        Lie::Watch(|from, _| compacted(from + 1)),
        &FOLLOWING_COMMANDS[..1],
        "answered for revision 304, and says that the newest is 302",
    );
    check(Lie::Watch(|_, _| compacted(1)), HISTORY_COMMANDS, "refuses revision 1 as compacted at 1");
    check(Lie::Watch(|_, _| compacted(i64::MAX)), FOLLOWING_COMMANDS, is_none);
}

/// The end of a watch that would begin before a compaction.
fn compacted(compact_revision: i64) -> Option<PbWatchResponse> {
    Some(PbWatchResponse { compact_revision, canceled: true, ..PbWatchResponse::default() })
}

#[test]
fn watches_that_lead_nowhere() {
    let silent = |_: i64, _: usize| None;
    check(Lie::Watch(silent), &FOLLOWING_COMMANDS[..1], "ends the watch again and again, and sends nothing");
    let flood = |_: i64, _: usize| sent(1, Vec::new());
    check(Lie::Watch(flood), &FOLLOWING_COMMANDS[..1], "sends empty answers without end");
    check(Lie::Created(|created| created.created = false), FOLLOWING_COMMANDS, "sent changes before it confirmed the watch");
    check(Lie::Created(|created| created.events = vec![event(303)]), FOLLOWING_COMMANDS, "sent changes with the confirmation of a watch");
    check(Lie::Created(|created| created.header = None), FOLLOWING_COMMANDS, "sent no header, which has the newest revision");
}

#[test]
fn a_watch_that_is_never_confirmed() {
    let store = honest();
    let server = FakeEtcd::start(move |Call { method, request, .. }| match method.as_str() {
        "Range" => one(&store.range(&RangeRequest::decode(&request[..]).unwrap())),
        "Status" => one(&store.status()),
        _ => stream::pending().boxed(),
    });
    let (status, _, err, _) = run(&server.endpoint, &["watch", "pods", "-A", "--command-timeout", "1s", "--dial-timeout", "1s"]);
    assert_eq!(status.code(), Some(2), "{err}");
    assert!(err.contains(&format!("error: {} did not answer within 1s", server.endpoint)), "{err}");
}

#[test]
fn a_status_that_no_etcd_has() {
    let version = "names a version that no etcd has";
    check(Lie::Status(|status| status.version = "\x1b]0;evil\x07\n3.5".to_owned()), &[&["status"], HISTORY_COMMANDS[0]], version);
    check(Lie::Status(|status| status.version = "3".repeat(1 << 20)), &[&["status"], HISTORY_COMMANDS[0]], version);
    check(Lie::Status(|status| status.db_size = i64::MIN), &[&["status"]], "reports a negative size of its database");
    check(Lie::Status(|status| status.header = None), &[&["status"]], "sent no header, which has the newest revision");
}

#[test]
fn what_a_server_says_is_cut_short_and_drives_nothing() {
    let server = server(Lie::Status(|status| status.errors = vec![format!("\x1b[2Jalarm {}", "x".repeat(2000)); 1000]));
    let (_, out, err, _) = run(&server.endpoint, &["status"]);
    assert!(out.len() + err.len() < 20_000 && !out.contains('\x1b') && !err.contains('\x1b'), "{out}{err}");
    assert!(out.contains("alarm xxx") || err.contains("alarm xxx"), "{out}{err}");
    drop(server);
    let server = self::server(Lie::Watch(|_, _| {
        let cancel_reason = format!("\x1b]0;pwn\x07{}\nfake line", "y".repeat(1 << 20));
        Some(PbWatchResponse { canceled: true, cancel_reason, ..PbWatchResponse::default() })
    }));
    for args in FOLLOWING_COMMANDS {
        let (status, out, err, _) = run(&server.endpoint, args);
        assert_eq!(status.code(), Some(2), "{args:?}: {err}");
        assert!(out.len() + err.len() < 5_000 && !err.contains('\x1b') && err.contains(&server.endpoint), "{args:?}: {out}{err}");
    }
}

#[test]
fn large_values_come_in_small_pages_and_one_that_is_too_large_is_refused() {
    let large = Store::new((0..100).map(|number| {
        let (key, value) = pod(&format!("p{number}"));
        let filled = String::from_utf8(value).unwrap().replace("\"image\":\"i\"", &format!("\"image\":\"{}\"", "i".repeat(1 << 20)));
        (key, filled.into_bytes())
    }));
    let server = FakeEtcd::start(move |Call { method, request, .. }| match method.as_str() {
        "Range" => one(&large.range(&RangeRequest::decode(&request[..]).unwrap())),
        "Status" => one(&large.status()),
        _ => refusal(Status::unimplemented("unknown method")),
    });
    let (status, out, err, memory) = run(&server.endpoint, &["ls", "pods", "-A"]);
    assert_eq!((status.code(), out.lines().filter(|line| line.contains(" p")).count()), (Some(0), 100), "{out}{err}");
    assert!(memory < MOST_MEMORY, "{memory} bytes");
    drop(server);
    let server = self::server(Lie::Range(|_, _, answer| answer.kvs.iter_mut().take(1).for_each(|kv| kv.value = vec![0; 70 << 20])));
    let (status, _, err, memory) = run(&server.endpoint, &["get", "pod/lab/p1"]);
    assert_eq!(status.code(), Some(2), "{err}");
    assert!(err.contains(&format!("{} answers with more than 64 MiB at once", server.endpoint)) && memory < MOST_MEMORY, "{err} {memory}");
}

#[test]
fn a_message_of_many_small_parts_is_not_decoded() {
    let many = "sent a message of more parts than an etcd's has";
    let keys = |_, asked: &RangeRequest, answer: &mut PbRangeResponse| {
        if is_listing(asked) {
            answer.kvs = vec![PbKeyValue::default(); 600_000];
        }
    };
    check(Lie::Range(keys), &LISTING_COMMANDS[..1], many);
    check(Lie::Watch(|from, _| sent(from, vec![PbEvent::default(); 600_000])), &FOLLOWING_COMMANDS[..2], many);
}
