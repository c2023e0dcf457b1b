//! `status` of members: where they are in the raft log, learners, quotas, alarms; and what a learner can be asked.

use etcd_client::{AlarmAction, AlarmOptions, AlarmType};
use ketcd_testing::on_each_release;
use serde_json::Value;

use crate::cluster::{learner, three};
use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{flags, ketcd, run, stderr};
use crate::load::config_map;
use crate::long_history::undated;
use crate::pki::Pki;
use crate::replay::{changes, write};

fn stdout(words: &str, etcd: &Etcd, expected: i32) -> (String, String) {
    let output = run(ketcd().args(["--endpoints", &etcd.endpoint()]).args(words.split(' ')));
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(expected), "{words}: {stderr}");
    (String::from_utf8(output.stdout).unwrap(), stderr)
}

#[tokio::test(flavor = "multi_thread")]
async fn members_tell_where_they_are_on_3_7() {
    let pki = Pki::new();
    let members = three(EtcdRelease::V37, &pki).await;
    for n in 0..20 {
        members[0].writer().await.put("/registry/x", n.to_string(), None).await.unwrap();
    }
    let endpoints = [&members[0], &members[1], &members[2]].map(Etcd::endpoint).join(",");
    let output = run(flags(&mut ketcd(), &endpoints, &pki.ca(), &pki.client()).args(["status", "-o", "json"]));
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = status["source"]["members"].as_array().unwrap();
    assert_eq!(found.iter().filter(|member| member["isLeader"] == true).count(), 1, "{status}");
    for member in found {
        let raft = &member["raft"];
        assert!(raft["term"].as_u64().unwrap() >= 1 && raft["index"].as_u64().unwrap() > 20, "{status}");
        assert!(raft["behindLeader"].as_u64().unwrap() < 5, "{status}");
        assert_eq!((&member["dbSizeQuota"], &member["isLearner"]), (&(2_u64 << 30).into(), &false.into()), "{status}");
    }
    let text = run(flags(&mut ketcd(), &endpoints, &pki.ca(), &pki.client()).args(["status"]));
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("0 % of the quota 2.0 GiB") && text.contains("raft term "), "{text}");
    let too_long: Vec<&str> =
        text.lines().filter(|line| line.contains("https://127") && !line.contains("revisions") && line.len() > 80).collect();
    assert!(too_long.is_empty(), "{too_long:?}");
}

async fn a_learner_is_read_for_itself(release: EtcdRelease) {
    let etcd = Etcd::start_with(release, Transport::Plain, &[]).await;
    let mut writer = etcd.writer().await;
    for n in 2..=40 {
        writer
            .put(
                "/registry/configmaps/lab/x",
                format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"x","namespace":"lab"}},"data":{{"n":"{n}"}}}}"#),
                None,
            )
            .await
            .unwrap();
    }
    writer.compact(17, None).await.unwrap();
    let learner = learner(&etcd, Transport::Plain).await;
    let sentence = format!("{0} is a learner: what follows is what {0} holds by itself, which may be behind", learner.endpoint());
    let (text, _) = stdout("get configmap/lab/x -o yaml", &etcd, 0);
    let (of_learner, said) = stdout("get configmap/lab/x -o yaml", &learner, 0);
    assert_eq!(of_learner, text, "{release:?}");
    assert_eq!(said.matches(&sentence).count(), 1, "{release:?}: {said}");
    let (status, _) = stdout("get configmap/lab/x -o yaml --rev 17", &learner, 0);
    assert!(status.contains("n: \"17\""), "{release:?}: {status}");
    let (_, said) = stdout("get configmap/lab/x -o yaml --rev 16", &learner, 2);
    assert!(said.contains("the oldest that can be read is 17"), "{release:?}: {said}");
    let (_, said) = stdout("watch configmap/lab/x", &learner, 2);
    assert!(said.contains("is a learner: it serves no watches") && said.contains("a voting member"), "{release:?}: {said}");
    let both = format!("{},{}", learner.endpoint(), etcd.endpoint());
    let output = run(ketcd().args(["--endpoints", &both, "history", "configmap/lab/x", "-o", "ndjson"]));
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 24, "{release:?}: {}", String::from_utf8_lossy(&output.stderr));
}

on_each_release!(a_learner_is_read_for_itself);

/// An answer without its times; nodes in the order of their names.
fn answer(json: &str) -> Vec<Value> {
    let mut answer = undated(json);
    for nodes in answer.iter_mut().filter_map(|value| value.get_mut("nodes")?.as_array_mut()) {
        nodes.sort_by_key(|node| node["name"].to_string());
    }
    answer
}

/// What reads the past of single objects needs no watch of it.
async fn a_lone_learner_tells_the_past(release: EtcdRelease) {
    const OF_ONE: [&str; 8] = [
        "history pod/lab/ubuntu -o ndjson",
        "history pod/lab/ubuntu pod/lab/never -o ndjson",
        "blame pod/lab/ubuntu -o json",
        "timeline pod/lab/ubuntu -o json",
        "diff pod/lab/ubuntu --rev 480..500 -o json",
        "diff pods -A --rev 480..500 -o json",
        "explain pod/lab/ubuntu -o json",
        "describe pod/lab/ubuntu -o json",
    ];
    let etcd = Etcd::start_with(release, Transport::Plain, &[]).await;
    let mut writer = etcd.writer().await;
    write(&mut writer, &changes("k120-story").await[..600]).await;
    if release == EtcdRelease::V35 {
        writer.compact(470, None).await.unwrap();
    }
    let learner = learner(&etcd, Transport::Plain).await;
    for words in OF_ONE {
        let of_voter = run(ketcd().args(["--endpoints", &etcd.endpoint()]).args(words.split(' ')));
        let (of_learner, said) = stdout(words, &learner, of_voter.status.code().unwrap());
        assert_eq!(said.matches("is a learner: what follows is what").count(), 1, "{release:?} {words}: {said}");
        let of_voter = String::from_utf8(of_voter.stdout).unwrap();
        assert!(!of_voter.is_empty() && !said.contains("contradict"), "{release:?} {words}: {said}");
        assert_eq!(answer(&of_learner), answer(&of_voter), "{release:?} {words}: {said}");
    }
    for words in ["history --all", "history pods -A", "explain pods -A", "watch pod/lab/ubuntu"] {
        let (_, said) = stdout(words, &learner, 2);
        assert!(said.contains("is a learner: it serves no watches"), "{release:?} {words}: {said}");
    }
}

on_each_release!(a_lone_learner_tells_the_past);

async fn a_full_database_is_an_alarm(release: EtcdRelease) {
    let etcd = Etcd::start_with(release, Transport::Plain, &["--quota-backend-bytes", "2097152"]).await;
    let mut writer = etcd.writer().await;
    let full = async {
        for n in 0.. {
            writer.put(format!("/registry/{n}"), vec![b'x'; 500_000], None).await?;
        }
        Ok::<(), etcd_client::Error>(())
    };
    let refused = full.await.unwrap_err().to_string();
    assert!(refused.contains("space exceeded"), "{refused}");
    let status = etcd.writer().await.status().await.unwrap();
    let id = format!("{:x}", status.header().unwrap().member_id());
    let (text, said) = stdout("status", &etcd, 2);
    let alarm = format!("member {id} raised the alarm NOSPACE");
    assert_eq!(text.matches(&alarm).count(), 1, "{release:?}: {text}{said}");
    assert!(text.contains("etcdctl defrag") && text.contains("etcdctl alarm disarm"), "{text}");
    let (json, _) = stdout("status -o json", &etcd, 2);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(json["problems"][0].as_str().unwrap().starts_with(&alarm), "{json}");
}

on_each_release!(a_full_database_is_an_alarm);

async fn a_member_with_other_data_is_an_alarm(release: EtcdRelease) {
    let etcd = Etcd::start_with(release, Transport::Plain, &[]).await;
    let mut writer = etcd.writer().await;
    writer.put("/registry/configmaps/lab/a", config_map("a", 1), None).await.unwrap();
    let id = writer.status().await.unwrap().header().unwrap().member_id();
    let mut raised = AlarmOptions::new();
    raised.with_member(id);
    writer.alarm(AlarmAction::Activate, AlarmType::Corrupt, Some(raised)).await.unwrap();
    let (text, said) = stdout("status", &etcd, 2);
    let alarm = format!("member {id:x} raised the alarm CORRUPT");
    assert_eq!(text.matches(&alarm).count(), 1, "{release:?}: {text}{said}");
    assert!(text.contains("Do not trust what it shows") && text.contains("etcdctl alarm disarm"), "{text}");
    // What it has can be read all the same.
    let (listed, _) = stdout("get configmaps -n lab -o jsonpath={.items[*].data.n}", &etcd, 0);
    assert_eq!(listed, "1", "{release:?}");
}

on_each_release!(a_member_with_other_data_is_an_alarm);
