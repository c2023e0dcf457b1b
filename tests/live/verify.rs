//! `verify` of a member's files gives the hash that the member itself gives of its keys.

use etcd_client::{Client, CompactionOptions};
use ketcd_testing::on_each_release;
use serde_json::Value;

use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{ketcd, run, stderr};
use crate::replay::{changes, write};

/// What the member says of its keys: the hash, and the compacted revision, -1 before the first compaction.
async fn hash_of(client: &mut Client) -> (u64, i64) {
    let answer = client.hash_kv(0).await.unwrap();
    (answer.hash().into(), answer.compact_version())
}

/// What `verify` prints of a member's files.
fn verified(etcd: &Etcd) -> Value {
    let output = run(ketcd().arg("verify").arg(etcd.data_dir()).args(["-o", "json"]));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)))
}

async fn files_have_the_hash_of_their_member(release: EtcdRelease) {
    let mut etcd = Etcd::start_with(release, Transport::Plain, &[]).await;
    let mut client = etcd.writer().await;
    let recorded = changes("k120-story").await;
    write(&mut client, &recorded[..600]).await;
    let mut members = vec![hash_of(&mut client).await];
    etcd.stop();
    let mut files = vec![verified(&etcd)["hashKv"].clone()];
    // Everything that was read is compacted, but for what is newest by then.
    etcd.resume().await;
    let mut client = etcd.writer().await;
    client.compact(500, Some(CompactionOptions::new().with_physical())).await.unwrap();
    write(&mut client, &recorded[600..900]).await;
    members.push(hash_of(&mut client).await);
    // Told to stop, it commits what it compacted.
    etcd.signal("TERM");
    etcd.wait();
    files.push(verified(&etcd)["hashKv"].clone());
    let told: Vec<_> = files.iter().map(|file| (file["hash"].as_u64().unwrap(), file["compactRevision"].as_i64().unwrap())).collect();
    assert_eq!(told, members, "{release:?}");
}

on_each_release!(files_have_the_hash_of_their_member);
