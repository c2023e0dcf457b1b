//! `triage` of a running etcd: the same first line as from the file, what the members say, and what a user of few rights is told.

use std::process::Command;

use etcd_client::{Client, ConnectOptions, Permission, RoleRevokePermissionOptions};
use ketcd_testing::on_each_release;
use serde_json::Value;

use crate::cluster::{cluster, leader, three};
use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{flags, ketcd, run, stderr};
use crate::pki::Pki;
use crate::replay::{changes, etcd_of, snapshot, write};

/// What `triage` prints.
fn page(mut command: Command, arguments: &[&str]) -> String {
    let output = run(command.arg("triage").args(arguments));
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// What follows the first line, which says how much is wrong.
fn troubles(page: &str) -> &str {
    page.split_once('\n').map_or("", |(_, troubles)| troubles)
}

fn json(command: Command, arguments: &[&str]) -> Value {
    serde_json::from_str(&page(command, &[arguments, &["-o", "json"]].concat())).unwrap()
}

fn on(etcd: &Etcd) -> Command {
    let mut command = ketcd();
    command.args(["--endpoints", &etcd.endpoint(), "--insecure-transport"]);
    command
}

async fn says_what_the_file_says(capture: &str, day: &str, moments: &[&str]) {
    let etcd = etcd_of(&changes(capture).await, EtcdRelease::V35, Transport::Plain).await;
    let file = || {
        let mut command = ketcd();
        command.args(["-f", &snapshot(capture)]);
        command
    };
    for time in moments {
        let at = &format!("{day}{time}Z");
        let (live, file_page) = (page(on(&etcd), &["--at", at]), page(file(), &["--at", at]));
        // The command at its end names the source.
        let first = |page: &str| -> Vec<String> {
            page.lines().take(2).map(|line| line.split("  ketcd -").next().unwrap_or_default().trim_end().to_owned()).collect()
        };
        assert_eq!(first(&live), first(&file_page), "{capture} {at}: {live}\n{file_page}");
        if Some(time) != moments.first() && Some(time) != moments.last() {
            continue;
        }
        // The history is short enough to be read whole: who wrote most is the same too.
        let (live, file) = (json(on(&etcd), &["--at", at]), json(file(), &["--at", at]));
        let (live, file) = (&live["storage"]["writes"], &file["storage"]["writes"]);
        for part in ["byResource", "byManager", "changes", "bytes", "keysGrown"] {
            assert_eq!(live[part], file[part], "{capture} {at} {part}");
        }
        assert!(!live["byResource"].as_array().unwrap().is_empty(), "{live}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn k120_is_seen_as_from_its_file() {
    says_what_the_file_says("k120-story", "2026-11-20T", &["22:16:16", "22:16:24", "22:16:30", "22:17:30", "22:17:50", "22:22:55"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k136_is_seen_as_from_its_file() {
    says_what_the_file_says("k136-story", "2026-11-21T", &["00:14:24", "00:14:30", "00:14:42", "00:14:58", "00:17:12", "00:22:15"]).await;
}

const DEFAULT_NAMESPACE: &str = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}}"#;

/// An etcd that is new, that holds Events alone or another software's keys, and a prefix below which nothing is: none of them is well.
#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_of_kubernetes_is_nothing_is_well() {
    let etcd = Etcd::start(Transport::Plain).await;
    let check = |flags: &[&str], words: &str, reason: &str| {
        let output = run(on(&etcd).arg("triage").args(flags));
        let page = String::from_utf8(output.stdout).unwrap();
        assert!(page.starts_with("nothing to check at revision ") && page.contains(words), "{flags:?}: {page}");
        assert_eq!(output.status.code(), Some(1), "{page}");
        let output = run(on(&etcd).args(["triage", "-o", "json"]).args(flags));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&document["absence"]["reason"], output.status.code()), (&reason.into(), Some(1)), "{document}");
    };
    check(&[], "the store is empty", "Empty");
    let mut writer = etcd.writer().await;
    writer.put("/calico/v1/host", "1", None).await.unwrap();
    check(&[], "keys begin with /calico/", "Foreign");
    let event = r#"{"apiVersion":"v1","kind":"Event","metadata":{"name":"a.1","namespace":"web"},"reason":"Pulled"}"#;
    writer.put("/registry/events/web/a.1", event, None).await.unwrap();
    check(&[], "only Events are stored below /registry", "OnlyEvents");
    writer.put("/registry/namespaces/default", DEFAULT_NAMESPACE, None).await.unwrap();
    check(&["--prefix", "/wrong"], "--prefix /registry", "OtherPrefix");
    check(&["-n", "wbe"], "namespace \"wbe\" does not exist", "Namespace");
    assert!(page(on(&etcd), &[]).starts_with("nothing is wrong"));
}

/// 3.7 tells its quota: first the database comes near to it, then etcd refuses to write.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_database_comes_first_on_3_7() {
    let etcd = Etcd::start_with(EtcdRelease::V37, Transport::Plain, &["--quota-backend-bytes", "4194304"]).await;
    let mut writer = etcd.writer().await;
    writer.put("/registry/namespaces/default", DEFAULT_NAMESPACE, None).await.unwrap();
    let text = format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a"}},"data":{{"a":"{}"}}}}"#, "x".repeat(100_000));
    let mut count = 0;
    let mut put = async || {
        count += 1;
        writer.put(format!("/registry/configmaps/lab/{count}"), text.as_str(), None).await
    };
    let mut near = String::new();
    while put().await.is_ok() {
        if near.is_empty() {
            near = Some(page(on(&etcd), &[])).filter(|page| page.contains("of its quota")).unwrap_or_default();
        }
    }
    let first = troubles(&near).lines().next().unwrap();
    assert!(
        first.starts_with(&format!("member {}", etcd.endpoint()))
            && first.contains("database at ")
            && near.contains(&format!("ketcd --endpoints={} --insecure-transport=true usage", etcd.endpoint())),
        "{near}"
    );
    let full = page(on(&etcd), &[]);
    let mut lines = troubles(&full).lines();
    assert!(lines.next().unwrap().starts_with("etcd  alarm") && lines.next().unwrap().contains("NOSPACE"), "{full}");
    assert!(full.contains("of the quota"), "{full}");
    let found = json(on(&etcd), &[]);
    assert_eq!((&found["storage"]["quota"], &found["findings"][0]["trouble"]), (&4_194_304.into(), &"EtcdAlarm".into()), "{found}");
}

/// A member that is gone, and then those that are left without a leader.
#[tokio::test(flavor = "multi_thread")]
async fn members_that_are_gone_and_members_without_a_leader() {
    let pki = Pki::new();
    let mut members = three(EtcdRelease::V35, &pki).await;
    write(&mut members[leader(&members).await].writer().await, &changes("k120-story").await[..200]).await;
    let endpoints = members.iter().map(Etcd::endpoint).collect::<Vec<_>>().join(",");
    let on = || {
        let mut command = ketcd();
        flags(&mut command, &endpoints, &pki.ca(), &pki.client());
        command
    };
    let troubles = |found: &Value| -> Vec<String> {
        found["findings"].as_array().unwrap().iter().map(|finding| finding["trouble"].as_str().unwrap().to_owned()).collect()
    };
    let healthy = json(on(), &[]);
    assert!(!troubles(&healthy).iter().any(|trouble| trouble.starts_with("Member")), "{healthy}");
    members[0].stop();
    let gone = json(on(), &[]);
    assert!(troubles(&gone).contains(&"MemberSilent".to_owned()) && !troubles(&gone).contains(&"MemberLeaderless".to_owned()), "{gone}");
    members[1].stop();
    let alone = page(on(), &[]);
    assert!(alone.contains("without a leader: no writes") && alone.matches("  does not answer").count() == 2, "{alone}");
}

/// Members of two clusters, asked as one: what they say is set side by side.
#[tokio::test(flavor = "multi_thread")]
async fn members_that_disagree() {
    let (one, other) = (Etcd::start(Transport::Plain).await, Etcd::start(Transport::Plain).await);
    for etcd in [&one, &other] {
        write(&mut etcd.writer().await, &changes("k120-story").await[..200]).await;
    }
    let endpoints = [one.endpoint(), other.endpoint()];
    let both = || {
        let mut command = ketcd();
        command.args(["--endpoints", &endpoints.join(","), "--insecure-transport"]);
        command
    };
    let found = page(both(), &[]);
    assert!(troubles(&found).starts_with("etcd  its members disagree about the "), "{found}");
    // They are told in the order of what they say; a page has no room for the second.
    assert!(endpoints.iter().any(|endpoint| found.contains(&format!("according to {endpoint}"))), "{found}");
    let told = json(both(), &[])["findings"][0].to_string();
    assert!(endpoints.iter().all(|endpoint| told.contains(&format!("according to {endpoint}"))), "{told}");
}

/// One value of one member's database is another than it was written: etcd serves on without noticing.
async fn data_that_differ_between_members(release: EtcdRelease) {
    let mut members = cluster(release, 3, || Transport::Plain, &[]).await;
    write(&mut members[0].writer().await, &changes("k120-story").await[..200]).await;
    let marked = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"marked","namespace":"lab"},"data":{"a":"what-was-written"}}"#;
    members[0].writer().await.put("/registry/configmaps/lab/marked", marked, None).await.unwrap();
    let endpoints: Vec<String> = members.iter().map(Etcd::endpoint).collect();
    let on = |endpoints: &[String]| {
        let mut command = ketcd();
        command.args(["--endpoints", &endpoints.join(","), "--insecure-transport"]);
        command
    };
    let differs = |found: &Value| found["findings"].as_array().unwrap().iter().any(|finding| finding["trouble"] == "DataDiffers");
    let agreeing = json(on(&endpoints), &[]);
    assert!(!differs(&agreeing), "{agreeing}");
    assert_eq!(agreeing["storage"]["hashes"]["compared"].as_array().unwrap().len(), 3, "{agreeing}");
    // Once all is in its file, the log is not needed any more.
    members[2].signal("TERM");
    members[2].wait();
    let file = members[2].db();
    let mut bytes = std::fs::read(&file).unwrap();
    let places: Vec<usize> =
        bytes.windows(16).enumerate().filter(|(_, part)| part == b"what-was-written").map(|(place, _)| place).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|place| bytes[place] = b'W');
    std::fs::write(&file, bytes).unwrap();
    members[2].resume().await;
    let found = page(on(&endpoints), &[]);
    let revision = json(on(&endpoints), &[])["storage"]["hashes"]["revision"].as_i64().unwrap();
    let first = troubles(&found).lines().next().unwrap();
    assert!(first.starts_with(&format!("member {}  data differ from the other members' at revision {revision}", endpoints[2])), "{found}");
    assert!(found.contains(&format!("etcdctl endpoint hashkv --cluster --rev {revision}")), "{found}");
    // With two, nothing shows which is right.
    let two = page(on(&endpoints[1..]), &[]);
    assert!(troubles(&two).starts_with("etcd  the data of its members differ at revision ") && two.contains(&endpoints[1]), "{two}");
    assert!(!differs(&json(on(&endpoints[2..]), &[])));
}

on_each_release!(data_that_differ_between_members);

/// Only root may ask for hashes: others are told that they were not compared.
#[tokio::test(flavor = "multi_thread")]
async fn hashes_need_the_role_root() {
    let members = cluster(EtcdRelease::V35, 3, || Transport::Plain, &[]).await;
    let mut root = members[0].writer().await;
    write(&mut root, &changes("k120-story").await[..200]).await;
    for (user, role) in [("root", "root"), ("guest", "guest")] {
        root.user_add(user, "password", None).await.unwrap();
        root.role_add(role).await.ok();
        root.user_grant_role(user, role).await.unwrap();
    }
    root.role_grant_permission("guest", Permission::read("/registry/").with_prefix()).await.unwrap();
    root.auth_enable().await.unwrap();
    let mut command = ketcd();
    let endpoints = members.iter().map(Etcd::endpoint).collect::<Vec<_>>().join(",");
    command.args(["--endpoints", &endpoints, "--insecure-transport", "--user", "guest:password", "triage"]);
    let output = run(&mut command);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let notes = stderr(&output);
    assert!(notes.contains("members were not compared: only users with the role root may ask for hashes"), "{notes}");
}

/// A user who may read pods and nodes is told what is broken there, and what is missing.
#[tokio::test(flavor = "multi_thread")]
async fn few_rights_show_little_and_say_so() {
    let etcd = etcd_of(&changes("k120-story").await, EtcdRelease::V35, Transport::Plain).await;
    let mut root = etcd.writer().await;
    for (user, role) in [("root", "root"), ("guest", "guest")] {
        root.user_add(user, "password", None).await.unwrap();
        root.role_add(role).await.ok();
        root.user_grant_role(user, role).await.unwrap();
    }
    for path in ["pods", "minions"] {
        root.role_grant_permission("guest", Permission::read(format!("/registry/{path}/")).with_prefix()).await.unwrap();
    }
    root.auth_enable().await.unwrap();
    let command = || {
        let mut command = on(&etcd);
        command.args(["--user", "guest:password"]);
        command
    };
    let output = run(command().arg("triage"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (found, notes) = (String::from_utf8_lossy(&output.stdout).into_owned(), stderr(&output));
    assert!(troubles(&found).starts_with("pod/web/crasher  CrashLoopBackOff"), "{found}\n{notes}");
    assert!(notes.contains("not shown, no permission to read: ") && notes.contains("deployments"), "{notes}");
    // Where all is well as far as that shows, no more is said.
    let quiet = page(command(), &["--rev", "448"]);
    assert!(!quiet.starts_with("nothing is wrong"), "{quiet}");
    let mut root = Client::connect([etcd.plain_endpoint()], Some(ConnectOptions::new().with_user("root", "password"))).await.unwrap();
    for path in ["pods", "minions"] {
        let whole = RoleRevokePermissionOptions::new().with_prefix();
        root.role_revoke_permission("guest", format!("/registry/{path}/"), Some(whole)).await.unwrap();
    }
    let refused = run(command().arg("triage"));
    assert!(stderr(&refused).contains("etcdctl role grant-permission ROLE read"), "{}", stderr(&refused));
}
