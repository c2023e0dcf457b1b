//! What clients do to an etcd that is killed: races, conditions, leases, compactions, users without permissions, a full database.

use etcd_client::{
    AlarmAction, AlarmOptions, AlarmType, Client, Compare, CompareOp, ConnectOptions, DeleteOptions, GetOptions, LeaseGrantOptions,
    Permission, PutOptions, Txn, TxnOp,
};

use ketcd_testing::wait::until_async;

use crate::etcd::Etcd;
use crate::killed::Changes;
use crate::random::Random;

/// What a load is about; all of them race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    Races,
    /// Races without transactions that read at a revision which is not there: one member refuses them, another does not.
    Members,
    /// As `Members`, with values so large that the log soon goes on in another file, and a snapshot of raft every hundred entries.
    Files,
    Leases,
    Auth,
    NoSpace,
}

/// Who writes.
pub(crate) struct Clients {
    /// May do everything.
    pub(crate) root: Client,
    /// How to connect as that one.
    pub(crate) user: Option<ConnectOptions>,
    /// Workers' clients.
    workers: Vec<Client>,
}

const WORKER_COUNT: u64 = 6;
/// A key that nobody deletes, with a lease.
const LEASED_KEY: &str = "/ends";
/// Written each time that a load has come round.
const CAME_ROUND: &str = "/round";
/// How often the workers try while things are as they should not be.
const MAX_TRIES: usize = 40;

fn user(name: &str) -> ConnectOptions {
    ConnectOptions::new().with_user(name, "secret")
}

impl Load {
    pub(crate) fn flags(self) -> &'static [&'static str] {
        match self {
            Self::NoSpace => &["--quota-backend-bytes", "4194304"],
            Self::Files => &["--snapshot-count", "100", "--max-wals", "0"],
            Self::Races | Self::Auth | Self::Members | Self::Leases => &[],
        }
    }

    /// Whether what this load is about has happened, by what a watcher was sent: a lease that ended by itself, users whose rights were changed, a database that
    /// was full.
    pub(crate) fn has_happened(self, sent: &Changes) -> bool {
        let wrote = |key: &str| sent.values().any(|change| change.0 == key);
        match self {
            Self::Leases => sent.values().any(|change| change.0 == LEASED_KEY && change.1.is_none()),
            Self::Auth | Self::NoSpace => wrote(CAME_ROUND),
            Self::Races | Self::Members | Self::Files => true,
        }
    }

    /// Connects, and makes users.
    pub(crate) async fn prepare(self, etcd: &Etcd) -> Clients {
        let mut root = etcd.writer().await;
        if self != Self::Auth {
            let mut workers = Vec::new();
            for _ in 0..WORKER_COUNT {
                workers.push(etcd.writer().await);
            }
            return Clients { root, user: None, workers };
        }
        for name in ["root", "ann", "eve"] {
            root.user_add(name, "secret", None).await.unwrap();
        }
        for (name, permission) in [
            ("root", Permission::read_write("\0").with_from_key()),
            ("some", Permission::read_write("/k/0").with_range_end("/k/5")),
            ("reader", Permission::read("/k/").with_prefix()),
        ] {
            root.role_add(name).await.unwrap();
            root.role_grant_permission(name, permission).await.unwrap();
        }
        for (name, role) in [("root", "root"), ("ann", "some"), ("ann", "reader"), ("eve", "reader")] {
            root.user_grant_role(name, role).await.unwrap();
        }
        // Nobody knows these any more once users are asked for.
        let nobody = etcd.writer().await;
        root.auth_enable().await.unwrap();
        let connect = |name: &'static str| async move { Client::connect([etcd.plain_endpoint()], Some(user(name))).await.unwrap() };
        let workers = vec![connect("ann").await, connect("eve").await, nobody, connect("root").await, connect("ann").await];
        Clients { root: connect("root").await, user: Some(user("root")), workers }
    }
}

/// Runs a load until it is given up; each worker goes on whatever is refused.
pub(crate) async fn run(load: Load, etcd: &Etcd, clients: &Clients, seed: u64) {
    let work = clients.workers.iter().enumerate().map(|(number, client)| {
        let mut worker = Worker { client: client.clone(), number, count: 0, random: Random(seed ^ (number as u64) << 32), lease: 0 };
        async move {
            loop {
                worker.work(load).await;
            }
        }
    });
    let manage = async {
        match load {
            Load::Auth => change_users(etcd, clients.root.clone()).await,
            Load::NoSpace => fill(clients.root.clone()).await,
            Load::Files => write_large(clients.root.clone(), Random(!seed)).await,
            Load::Leases => end_leases(clients.root.clone()).await,
            Load::Races | Load::Members => std::future::pending().await,
        }
    };
    futures_util::future::join(futures_util::future::join_all(work), manage).await;
}

/// Writes values of up to a megabyte.
async fn write_large(mut root: Client, mut random: Random) {
    loop {
        let (key, letter) = (format!("/big/{}", random.below(20)), b'a' + random.below(26) as u8);
        let _ = root.put(key, vec![letter; random.below(1 << 20)], None).await;
    }
}

/// Waits while others go on, as long as some requests take.
async fn meanwhile(root: &mut Client) {
    for _ in 0..MAX_TRIES {
        let _ = root.get("x", None).await;
    }
}

/// Gives a key a short lease, again and again.
async fn end_leases(mut root: Client) {
    loop {
        if let Ok(lease) = root.lease_grant(1, None).await {
            let _ = root.put(LEASED_KEY, "", Some(PutOptions::new().with_lease(lease.id()))).await;
            until_async(async || root.get(LEASED_KEY, None).await.ok().filter(|found| found.kvs().is_empty())).await;
        }
    }
}

/// Takes permissions and gives them back.
async fn change_users(etcd: &Etcd, mut root: Client) {
    loop {
        meanwhile(&mut root).await;
        let _ = root.user_revoke_role("ann", "some").await;
        let _ = root.role_grant_permission("reader", Permission::write("/k/7")).await;
        meanwhile(&mut root).await;
        // Its own token is an old one after that.
        if let Ok(again) = Client::connect([etcd.plain_endpoint()], Some(user("root"))).await {
            root = again;
        }
        let _ = root.user_grant_role("ann", "some").await;
        let _ = root.put(CAME_ROUND, "", None).await;
    }
}

/// Fills the database until it has no space, and makes space again.
async fn fill(mut root: Client) {
    loop {
        for number in 0.. {
            if root.put(format!("/fill/{number}"), vec![b'x'; 512 << 10], None).await.is_err() {
                break;
            }
        }
        meanwhile(&mut root).await;
        let revision = root.get("x", None).await.map_or(0, |got| got.header().unwrap().revision());
        let _ = root.delete("/fill/", Some(DeleteOptions::new().with_prefix())).await;
        let _ = root.compact(revision, None).await;
        let _ = root.defragment().await;
        let alarms = root.alarm(AlarmAction::Get, AlarmType::Nospace, None).await;
        for member in alarms.map(|alarms| alarms.alarms().to_vec()).unwrap_or_default() {
            let mut of_member = AlarmOptions::new();
            of_member.with_member(member.member_id());
            let _ = root.alarm(AlarmAction::Deactivate, AlarmType::Nospace, Some(of_member)).await;
        }
        let _ = root.put(CAME_ROUND, "", None).await;
        meanwhile(&mut root).await;
    }
}

struct Worker {
    client: Client,
    number: usize,
    count: u64,
    random: Random,
    /// Granted last.
    lease: i64,
}

impl Worker {
    fn key(&mut self) -> String {
        format!("/k/{}", self.random.below(9))
    }

    /// Mostly a value that nobody else writes.
    fn value(&mut self) -> String {
        self.count += 1;
        if self.random.below(12) == 0 { "same".to_owned() } else { format!("{}-{}", self.number, self.count) }
    }

    async fn work(&mut self, load: Load) {
        let (key, value) = (self.key(), self.value());
        let least = if load == Load::Leases { 9 } else { 0 };
        match least + self.random.below(20 - least) {
            0..=5 => self.update(key, value).await,
            6 | 7 => drop(self.client.txn(Txn::new().when([absent(&key)]).and_then([TxnOp::put(key, value, None)])).await),
            8 => drop(self.client.put(key, value, None).await),
            9 => self.remove(key).await,
            10 => drop(self.client.delete(key, None).await),
            11 if self.random.below(3) == 0 => drop(self.client.delete("/k/3", Some(DeleteOptions::new().with_range("/k/6"))).await),
            11 | 12 => self.transact(key, value).await,
            13 if matches!(load, Load::Members | Load::Files) => drop(self.client.put(key, value, None).await),
            13 => self.read_within(key, value).await,
            14..=17 => self.lease(key, value).await,
            18 if self.random.below(4) == 0 => {
                let revision = self.client.get("x", None).await.map_or(0, |got| got.header().unwrap().revision());
                let _ = self.client.compact(revision - 15, None).await;
            }
            _ => drop(self.client.put(key, value, Some(PutOptions::new().with_ignore_lease())).await),
        }
    }

    /// Reads a key and replaces the version read.
    async fn update(&mut self, key: String, value: String) {
        let Ok(got) = self.client.get(key.as_str(), None).await else { return };
        let read = got.kvs().first().map_or(0, etcd_client::KeyValue::mod_revision);
        if self.random.below(4) == 0 {
            // Others are faster.
            let _ = self.client.get("x", None).await;
        }
        let (when, get) = (Compare::mod_revision(key.as_str(), CompareOp::Equal, read), TxnOp::get(key.as_str(), None));
        let _ = self.client.txn(Txn::new().when([when]).and_then([TxnOp::put(key, value, None)]).or_else([get])).await;
    }

    async fn remove(&mut self, key: String) {
        let Ok(got) = self.client.get(key.as_str(), None).await else { return };
        let read = got.kvs().first().map_or(0, etcd_client::KeyValue::mod_revision);
        let when = Compare::mod_revision(key.as_str(), CompareOp::Equal, read);
        let _ = self.client.txn(Txn::new().when([when]).and_then([TxnOp::delete(key, None)])).await;
    }

    /// Several keys at once, and a transaction within.
    async fn transact(&mut self, key: String, value: String) {
        let other = self.key();
        let inner = Txn::new().when([Compare::value(other.as_str(), CompareOp::Greater, "3")]).and_then([TxnOp::put(
            format!("/in/{}", self.random.below(3)),
            value.clone(),
            None,
        )]);
        let txn = Txn::new()
            .when([Compare::version(key.as_str(), CompareOp::Greater, 1)])
            .and_then([TxnOp::put(key, value.clone(), None), TxnOp::delete("/x/", Some(DeleteOptions::new().with_prefix()))])
            .or_else([TxnOp::put(format!("/x/{}", self.number), value, None), TxnOp::txn(inner)]);
        let _ = self.client.txn(txn).await;
    }

    /// A transaction that reads at a revision: one of long ago, one yet to come, or one that can be read.
    async fn read_within(&mut self, key: String, value: String) {
        let newest = self.client.get("x", None).await.map_or(0, |got| got.header().unwrap().revision());
        let at = [2, newest - 5, newest + 1000][self.random.below(3)];
        let read = TxnOp::get("/k/0", Some(GetOptions::new().with_revision(at)));
        let _ = self.client.txn(Txn::new().and_then([TxnOp::put(key, value, None), read])).await;
    }

    /// Grants a lease, now and then for too long a time, and uses it, or one that is not there.
    async fn lease(&mut self, key: String, value: String) {
        if self.lease == 0 || self.random.below(4) == 0 {
            let id = i64::from(self.number as u32 + 1) << 32 | self.count as i64;
            let time = if self.random.below(5) == 0 { 9_000_000_001 } else { 1 };
            let _ = self.client.lease_grant(time, Some(LeaseGrantOptions::new().with_id(id))).await;
            self.lease = id;
        }
        let lease = if self.random.below(6) == 0 { 77 } else { self.lease };
        match self.random.below(5) {
            0 => drop(self.client.lease_revoke(self.lease).await),
            1 => {
                let put = TxnOp::put(key.as_str(), value, Some(PutOptions::new().with_lease(lease)));
                let _ = self.client.txn(Txn::new().when([absent(&key)]).and_then([put])).await;
            }
            _ => drop(self.client.put(key, value, Some(PutOptions::new().with_lease(lease))).await),
        }
    }
}

fn absent(key: &str) -> Compare {
    Compare::mod_revision(key, CompareOp::Equal, 0)
}
