//! Clusters of several members.

use std::net::SocketAddrV4;

use etcd_client::MemberAddOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::pki::Pki;
use crate::wait::until_async;

const MEMBER_NAMES: [&str; 3] = ["one", "two", "three"];

/// Starts `count` members that know each other, with this test's flags.
pub async fn cluster(release: EtcdRelease, count: usize, transport: impl Fn() -> Transport, flags: &[&str]) -> Vec<Etcd> {
    let mut members: Vec<Etcd> = MEMBER_NAMES[..count].iter().map(|name| Etcd::new(name, release, transport())).collect();
    let peers: Vec<(String, SocketAddrV4)> = members.iter().map(|member| (member.name.clone(), member.peer_address())).collect();
    for member in &mut members {
        member.others = peers.iter().filter(|(name, _)| *name != member.name).cloned().collect();
        member.flags.extend(flags.iter().map(|flag| (*flag).to_owned()));
        member.spawn();
    }
    for member in &mut members {
        member.ready().await;
    }
    members
}

/// Three members, which speak mutual TLS with their clients and with each other.
pub async fn three(release: EtcdRelease, pki: &Pki) -> Vec<Etcd> {
    cluster(release, 3, || Transport::Mutual(pki.server(), pki.ca()), &[]).await
}

/// Starts another member of the cluster that `first` is in, as a learner, and waits until it has all that the first had.
pub async fn learner(first: &Etcd, transport: Transport) -> Etcd {
    let mut learner = Etcd::new("learner", first.release, transport);
    let options = MemberAddOptions::new().with_is_learner();
    first.writer().await.member_add([format!("http://{}", learner.peer_address())], Some(options)).await.unwrap();
    learner.others.clone_from(&first.others);
    learner.others.push((first.name.clone(), first.peer_address()));
    learner.flags.extend(["--initial-cluster-state", "existing"].map(str::to_owned));
    until_async(async || version_is_decided(first).await.ok().filter(|is_decided| *is_decided).map(drop)).await;
    learner.spawn();
    learner.ready().await;
    let had = first.writer().await.status().await.unwrap().raft_applied_index();
    let mut client = learner.writer().await;
    until_async(async || (client.status().await.unwrap().raft_applied_index() >= had).then_some(())).await;
    learner
}

/// Whether a member's cluster has decided its version: a member that joins before ends as incompatible.
async fn version_is_decided(member: &Etcd) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(member.plain_address()).await?;
    stream.write_all(b"GET /version HTTP/1.0\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer.contains("etcdcluster") && !answer.contains("not_decided"))
}

/// The member that leads.
pub async fn leader(members: &[Etcd]) -> usize {
    for (index, member) in members.iter().enumerate() {
        let status = member.writer().await.status().await.unwrap();
        if status.header().unwrap().member_id() == status.leader() {
            return index;
        }
    }
    panic!("no member leads");
}

/// Waits until a member knows itself that the cluster lost its leader.
pub async fn lost_its_leader(member: &Etcd) {
    let mut client = member.writer().await;
    until_async(async || (client.status().await.unwrap().leader() == 0).then_some(())).await;
}
