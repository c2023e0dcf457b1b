//! Clusters of several members.

use etcd_client::MemberAddOptions;

use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::pki::Pki;

const NAMES: [&str; 3] = ["one", "two", "three"];

/// Starts `count` members that know each other, with this test's flags.
pub async fn cluster(release: EtcdRelease, count: usize, transport: impl Fn() -> Transport, flags: &[&str]) -> Vec<Etcd> {
    // A free port may be taken by another test before a member takes it: then it ends at once and other ports are tried.
    'tries: for _ in 0..5 {
        let mut members: Vec<Etcd> = NAMES[..count].iter().map(|name| Etcd::new(name, release, transport())).collect();
        let peers: Vec<(String, u16)> = members.iter().map(|member| (member.name.clone(), member.peer_port())).collect();
        for member in &mut members {
            member.others = peers.iter().filter(|(name, _)| *name != member.name).cloned().collect();
            member.flags.extend(flags.iter().map(|flag| (*flag).to_owned()));
            member.spawn();
        }
        for member in &mut members {
            if !member.is_ready().await {
                assert!(member.log().contains("address already in use"), "etcd does not start: {}", member.log());
                continue 'tries;
            }
        }
        return members;
    }
    panic!("no free ports for etcd");
}

/// Three members, which speak mutual TLS with their clients and with each other.
pub async fn three(release: EtcdRelease, pki: &Pki) -> Vec<Etcd> {
    cluster(release, 3, || Transport::Mutual(pki.server(), pki.ca()), &[]).await
}

/// Starts another member of the cluster that `first` is in, as a learner.
pub async fn learner(first: &Etcd, transport: Transport) -> Etcd {
    let mut learner = Etcd::new("learner", first.release, transport);
    let options = MemberAddOptions::new().with_is_learner();
    first.writer().await.member_add([format!("http://127.0.0.1:{}", learner.peer_port())], Some(options)).await.unwrap();
    learner.others.clone_from(&first.others);
    learner.others.push((first.name.clone(), first.peer_port()));
    learner.flags.extend(["--initial-cluster-state", "existing"].map(str::to_owned));
    learner.spawn();
    assert!(learner.is_ready().await, "the learner does not start: {}", learner.log());
    learner
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
