//! Clusters that lost their quorum, over mutual TLS: every command reads what a member still holds, says so once, and ends.

use std::process::{Command, Output};
use std::thread;

use ketcd_testing::on_each_release;
use serde_json::Value;

use crate::cluster::{leader, lost_its_leader, three};
use crate::etcd::{Etcd, EtcdRelease};
use crate::ketcd::{flags, ketcd, run, stderr};
use crate::pki::Pki;
use crate::replay::{changes, write};

const NO_LEADER_SENTENCE: &str = "no leader of the cluster answers: what follows is what";

/// What a report's data stands behind.
const REPORT_DATA_MARK: &str = r#"<script type="application/json" id="data">"#;

/// Every command that reads a live etcd and ends by itself. The object is in the capture.
const LIVE_COMMANDS: [&str; 10] = [
    "ls pods -A",
    "get pod/lab/ubuntu -o yaml",
    "history pod/lab/ubuntu",
    "timeline pod/lab/ubuntu",
    "blame pod/lab/ubuntu",
    "diff pod/lab/ubuntu --rev 400..500",
    "explain pod/lab/ubuntu",
    "grep node3",
    "report --out -",
    "status",
];

fn command(endpoints: &str, pki: &Pki, words: &str) -> Command {
    let mut command = ketcd();
    flags(&mut command, endpoints, &pki.ca(), &pki.client()).args(words.split(' '));
    command
}

/// Three members with the first third of a capture in them; the endpoints of all.
async fn filled(release: EtcdRelease, pki: &Pki) -> (Vec<Etcd>, String) {
    let members = three(release, pki).await;
    let first = &members[leader(&members).await];
    write(&mut first.writer().await, &changes("k120-story").await[..600]).await;
    let endpoints: Vec<String> = members.iter().map(Etcd::endpoint).collect();
    (members, endpoints.join(","))
}

/// What is printed, but for how long ago things were: hours may pass into days between two commands.
fn ageless(printed: &[u8]) -> Vec<String> {
    // As in `3d12h`, `90s` and `6 (3d12h ago)`.
    let is_age = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.trim_end_matches(|c: char| c.is_ascii_digit() || "smhdy".contains(c)).is_empty()
            && word.ends_with(char::is_alphabetic)
    };
    let words = |line: &str| {
        line.split_whitespace().map(|word| if is_age(word.trim_start_matches('(')) { "AGE" } else { word }).collect::<Vec<_>>().join(" ")
    };
    String::from_utf8_lossy(printed).lines().map(|line| historic(line).unwrap_or_else(|| words(line))).collect()
}

/// The data of a report, but for what is wrong as it is written: how long that lasts, and members that were stopped.
fn historic(line: &str) -> Option<String> {
    let data = line.strip_prefix(REPORT_DATA_MARK)?.strip_suffix("</script>")?;
    let mut data: Value = serde_json::from_str(data).unwrap();
    data.as_object_mut().unwrap().remove("findings").unwrap();
    Some(data.to_string())
}

/// The output of each command; all run at the same time, since each may wait for etcd's own timeouts.
fn together(endpoints: &str, pki: &Pki) -> Vec<Output> {
    let commands = LIVE_COMMANDS.map(|words| command(endpoints, pki, words));
    thread::scope(|scope| {
        let running = commands.map(|mut command| scope.spawn(move || run(&mut command)));
        running.map(|command| command.join().unwrap()).into()
    })
}

async fn every_command_reads_what_is_left(release: EtcdRelease) {
    let pki = Pki::new();
    let (mut members, endpoints) = filled(release, &pki).await;
    let before = together(&endpoints, &pki);
    for (words, output) in LIVE_COMMANDS.iter().zip(&before) {
        assert!(!stderr(output).contains(NO_LEADER_SENTENCE), "{release:?} {words}: {}", stderr(output));
    }
    // The third is left, and not asked first.
    members[0].stop();
    members[1].stop();
    // Before that it may tell a watch that there is a leader, after a read that none answered.
    lost_its_leader(&members[2]).await;
    let after = together(&endpoints, &pki);
    for ((words, before), output) in LIVE_COMMANDS.iter().zip(&before).zip(&after) {
        let stderr = stderr(output);
        assert_eq!(stderr.matches(NO_LEADER_SENTENCE).count(), 1, "{release:?} {words}: {stderr}");
        assert!(stderr.contains(&format!("what {} holds by itself", members[2].endpoint())), "{release:?} {words}: {stderr}");
        if *words == "status" {
            assert!(String::from_utf8_lossy(&output.stdout).contains("has no leader"), "{release:?}: {output:?}");
        } else {
            assert_eq!(output.status.code(), before.status.code(), "{release:?} {words}: {stderr}");
            assert_eq!(ageless(&output.stdout), ageless(&before.stdout), "{release:?} {words}: {stderr}");
        }
    }
}

on_each_release!(every_command_reads_what_is_left);
