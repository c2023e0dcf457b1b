//! A running `ketcd watch` through faults: it says what happened and when it is over, and misses nothing.

use std::fs;
use std::time::Instant;

use etcd_client::PutOptions;
use ketcd_testing::on_each_release;
use ketcd_testing::wait::until_async;
use serde_json::Value;

use crate::cluster::{leader, three};
use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{flags, ketcd, start_watching};
use crate::pki::{Pair, Pki};
use crate::streamed::metrics;
use crate::watcher::Watching;

const SETTINGS_KEY: &str = "/registry/configmaps/lab/settings";

/// Writes a ConfigMap whose data is `value`.
async fn put(etcd: &Etcd, value: i64) {
    let object =
        format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"settings","namespace":"lab"}},"data":{{"n":"{value}"}}}}"#);
    // After a lost leader a write may fail and count all the same: it is written until it succeeds.
    let mut writer = etcd.writer().await;
    until_async(async || writer.put(SETTINGS_KEY, object.clone(), None::<PutOptions>).await.ok()).await;
}

fn watch(endpoints: &str, pki: &Pki) -> Watching {
    watch_with(endpoints, pki, &[])
}

fn watch_with(endpoints: &str, pki: &Pki, words: &[&str]) -> Watching {
    let client = Pair { cert: pki.path("client.crt"), key: pki.path("client.key") };
    let mut command = ketcd();
    flags(&mut command, endpoints, &pki.ca(), &client).args(["watch", "configmap/lab/settings", "-o", "ndjson"]);
    Watching::run(command.args(words))
}

/// The next line must be the change that wrote `value`, dated so that it was written neither before the watch began nor after now.
fn expect(watching: &Watching, value: i64) -> Value {
    let line: Value = serde_json::from_str(&watching.line()).unwrap();
    let written: i64 = line["object"]["data"]["n"].as_str().unwrap_or_else(|| panic!("{line}")).parse().unwrap();
    if written == value - 1 && line["patch"].as_array().is_some_and(Vec::is_empty) {
        // Written twice.
        return expect(watching, value);
    }
    assert_eq!(written, value, "{line}");
    let time: jiff::Timestamp = line["time"].as_str().unwrap().parse().unwrap();
    let age = jiff::Timestamp::now().duration_since(time).as_secs_f64();
    assert!((-0.01..=error(&line) + watching.begun.elapsed().as_secs_f64()).contains(&age), "{line}");
    line
}

/// How far a change's time may be wrong, in seconds.
fn error(line: &Value) -> f64 {
    line["timeErrorSeconds"].as_f64().unwrap_or_else(|| panic!("{line}"))
}

fn initial(watching: &Watching) -> Value {
    let line: Value = serde_json::from_str(&watching.line()).unwrap();
    assert_eq!(line["type"], "INITIAL", "{line}");
    line
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_begins_with_what_is_there_and_dates_changes_by_their_arrival() {
    let pki = Pki::new();
    pki.client();
    let etcd = Etcd::mutual(&pki).await;
    let watching = watch(&etcd.endpoint(), &pki);
    let absent = initial(&watching);
    assert_eq!(
        (&absent["exists"], &absent["revision"], &absent["member"]),
        (&false.into(), &1.into(), &etcd.endpoint().into()),
        "{absent}"
    );
    put(&etcd, 1).await;
    let added = expect(&watching, 1);
    assert!(error(&added) < watching.begun.elapsed().as_secs_f64(), "{added}");
    etcd.writer().await.delete(SETTINGS_KEY, None).await.unwrap();
    let deleted: Value = serde_json::from_str(&watching.line()).unwrap();
    assert_eq!(deleted["type"], "DELETED");
    assert!(deleted["time"].is_string() && error(&deleted) < watching.begun.elapsed().as_secs_f64(), "{deleted}");
    watching.end();

    put(&etcd, 2).await;
    let there = initial(&watch(&etcd.endpoint(), &pki));
    assert_eq!((&there["exists"], &there["revision"], &there["object"]["data"]["n"]), (&true.into(), &4.into(), &"2".into()), "{there}");
    let text = start_watching(&etcd, &pki, &["watch", "configmap/lab/settings"]).line();
    assert_eq!(text.split("  ").collect::<Vec<_>>()[..2], [&format!("r4 at {}", etcd.endpoint()), "configmap/lab/settings"], "{text}");
    assert!(text.contains("DATA 1, AGE"), "{text}");
    let text = start_watching(&etcd, &pki, &["watch", "configmap/lab/none"]).line();
    assert_eq!(text, format!("r4 at {}  configmap/lab/none  does not exist", etcd.endpoint()));
    let text = start_watching(&etcd, &pki, &["watch", "configmaps", "-n", "lab"]).line();
    assert_eq!(text, format!("r4 at {}  /registry/configmaps/lab/  is watched", etcd.endpoint()));
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_rotate_under_a_running_watch() {
    let (old, new) = (Pki::new(), Pki::new());
    let client = old.client();
    let mut etcd = Etcd::mutual(&old).await;
    let mut watching = watch(&etcd.endpoint(), &old);
    initial(&watching);
    put(&etcd, 1).await;
    expect(&watching, 1);

    // etcd has the new certificates first.
    etcd.stop();
    etcd.set_transport(Transport::Mutual(new.server(), new.ca()));
    etcd.resume().await;
    put(&etcd, 2).await;
    assert!(watching.says("ketcd resumes the watch at revision 3").contains("the connection to"));
    let why = watching.says("not connected for");
    assert!(why.contains("is not signed by") && why.contains("--cacert"), "{why}");
    let (renewed, again) = (new.client(), Instant::now());
    fs::copy(new.ca(), old.ca()).unwrap();
    // Half of a pair is no pair: that is said, and tried again.
    fs::copy(renewed.cert, client.cert).unwrap();
    watching.says("is not that of the certificate in");
    fs::copy(renewed.key, client.key).unwrap();
    assert_eq!(watching.says("again"), format!("ketcd: connected to {} again, nothing missed since r2", etcd.endpoint()));
    let late = expect(&watching, 2);
    assert!(error(&late) > 5.0, "it may be as old as the outage: {late}");
    put(&etcd, 3).await;
    let soon = expect(&watching, 3);
    assert!(error(&soon) < again.elapsed().as_secs_f64(), "{soon}");
}

async fn a_member_that_stops_with_good_manners(release: EtcdRelease) {
    let pki = Pki::new();
    pki.client();
    let mut etcd = Etcd::start_with(release, Transport::Mutual(pki.server(), pki.ca()), &[]).await;
    put(&etcd, 1).await;
    let mut watching = watch(&etcd.endpoint(), &pki);
    initial(&watching);
    put(&etcd, 2).await;
    expect(&watching, 2);
    etcd.signal("TERM");
    etcd.wait();
    let why = watching.says("ketcd resumes the watch at revision 4");
    assert!(why.contains(&format!("{} ended the watch early, as etcd does when it shuts down", etcd.endpoint())), "{why}");
    etcd.resume().await;
    watching.says("again, nothing missed since r3");
    put(&etcd, 3).await;
    expect(&watching, 3);
}

on_each_release!(a_member_that_stops_with_good_manners);

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_hangs_is_left_for_another() {
    let pki = Pki::new();
    pki.client();
    let members = three(EtcdRelease::V35, &pki).await;
    let endpoints = [&members[0], &members[1], &members[2]].map(Etcd::endpoint).join(",");
    let mut watching = watch_with(&endpoints, &pki, &["--dial-timeout", "2s", "--command-timeout", "5s"]);
    assert_eq!(initial(&watching)["member"], members[0].endpoint());
    put(&members[0], 1).await;
    expect(&watching, 1);
    members[0].signal("STOP");
    put(&members[1], 2).await;
    // A busy machine may let the member pass on the second write before it hangs.
    let why = watching.says("ketcd resumes the watch at revision ");
    let next: u64 = why.split("at revision ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).expect("a revision");
    assert!(next >= 3, "{why}");
    assert!(why.contains(&format!("{} has not answered for 15s: the connection was given up", members[0].endpoint())), "{why}");
    watching.says(&format!("connected to {} again, nothing missed since r{}", members[1].endpoint(), next - 1));
    expect(&watching, 2);
    members[0].signal("CONT");
    watching.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn leaders_are_killed_one_after_the_other() {
    let pki = Pki::new();
    pki.client();
    let mut members = three(EtcdRelease::V35, &pki).await;
    let endpoints = [&members[0], &members[1], &members[2]].map(Etcd::endpoint).join(",");
    let watching = watch(&endpoints, &pki);
    initial(&watching);
    for round in 0..6 {
        let first = leader(&members).await;
        members[first].stop();
        put(&members[(first + 1) % 3], round).await;
        expect(&watching, round);
        members[first].resume().await;
    }
    watching.end();
}

/// How often a member was asked for its status.
async fn times_looked(member: &Etcd) -> u64 {
    let metrics = metrics(member).await;
    let line = metrics.lines().find(|line| line.starts_with("grpc_server_started_total") && line.contains("grpc_method=\"Status\""));
    line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
}

async fn a_watch_without_a_leader_goes_on_when_there_is_one(release: EtcdRelease) {
    let pki = Pki::new();
    pki.client();
    let mut members = three(release, &pki).await;
    put(&members[0], 1).await;
    let endpoints = [&members[0], &members[1], &members[2]].map(Etcd::endpoint).join(",");
    let mut watching = watch(&endpoints, &pki);
    initial(&watching);
    members[0].stop();
    members[1].stop();
    watching.says(&format!("no leader of the cluster answers: what follows is what {} holds", members[2].endpoint()));
    // Nothing is said again and again, though it is looked for a leader every five seconds.
    let before = times_looked(&members[2]).await;
    until_async(async || (times_looked(&members[2]).await >= before + 2).then_some(())).await;
    assert!(watching.runs());
    members[0].resume().await;
    put(&members[0], 2).await;
    expect(&watching, 2);
    watching.says(", which has a leader, nothing missed since r");
    put(&members[0], 3).await;
    expect(&watching, 3);
    let said = watching.end();
    assert!(said.lines().count() < 9, "{release:?}: {said}");
    assert_eq!(said.matches("no leader of the cluster answers").count(), 1, "{release:?}: {said}");
}

on_each_release!(a_watch_without_a_leader_goes_on_when_there_is_one);
