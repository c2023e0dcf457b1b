//! A real etcd on addresses of its own, stopped when dropped, and the releases to test with.

use std::env;
use std::fs::{self, File};
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use etcd_client::Client;
use tempfile::TempDir;

use crate::loopback;
use crate::pki::{Pair, Pki};
use crate::wait::until_async;

/// How etcd speaks to its clients. Whatever it is, the tests' own writes go in plain text to a second address.
pub enum Transport {
    /// No TLS.
    Plain,
    /// TLS; clients need no certificate.
    Tls(Pair),
    /// TLS; clients need a certificate that this CA signed.
    Mutual(Pair, PathBuf),
}

/// The release of etcd to test with, as tools/program installs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EtcdRelease {
    /// 3.4.
    V34,
    /// 3.5, which stands for all where they are the same: `tools/test` runs with no other without `--all`.
    V35,
    /// 3.7.
    V37,
}

/// Every release.
pub const ALL_RELEASES: [EtcdRelease; 3] = [EtcdRelease::V34, EtcdRelease::V35, EtcdRelease::V37];

/// Makes a test for each release, or for those that are named, of an async function that takes one: `NAME::on_3_4`, `NAME::on_3_5`, `NAME::on_3_7`. By these
/// names a run chooses its releases, so whatever needs a certain release ends in one of them.
#[macro_export]
macro_rules! on_each_release {
    ($name:ident) => {
        $crate::on_each_release!($name: on_3_4 V34, on_3_5 V35, on_3_7 V37);
    };
    ($name:ident: $($on:ident $release:ident),+) => {
        mod $name {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $on() {
                    super::$name($crate::etcd::EtcdRelease::$release).await;
                }
            )+
        }
    };
}

/// A running etcd.
pub struct Etcd {
    child: Option<Child>,
    folder: TempDir,
    /// The member's name.
    pub name: String,
    /// Its release.
    pub release: EtcdRelease,
    /// The other members, each with its peer address.
    pub others: Vec<(String, SocketAddrV4)>,
    /// Flags of this test.
    pub flags: Vec<String>,
    transport: Transport,
    client: SocketAddrV4,
    plain: SocketAddrV4,
    peer: SocketAddrV4,
}

impl Etcd {
    /// An etcd that speaks mutual TLS with certificates of `pki`.
    pub async fn mutual(pki: &Pki) -> Self {
        Self::start(Transport::Mutual(pki.server(), pki.ca())).await
    }

    /// Starts an empty etcd and waits until it answers.
    pub async fn start(transport: Transport) -> Self {
        Self::start_with(EtcdRelease::V35, transport, &[]).await
    }

    /// Starts an empty etcd of a release with flags of its own.
    pub async fn start_with(release: EtcdRelease, transport: Transport, flags: &[&str]) -> Self {
        let mut etcd = Self::new("one", release, transport);
        etcd.flags.extend(flags.iter().map(|flag| (*flag).to_owned()));
        etcd.spawn();
        etcd.ready().await;
        etcd
    }

    /// Starts an etcd whose database is made already, as [`snapshot::beginning`](crate::snapshot::beginning) makes it, and waits until it answers. Its log
    /// knows nothing of that history: it is for tests that ask the running etcd, not for those that read its data dir or add members.
    pub async fn start_on(database: &[u8], release: EtcdRelease, transport: Transport) -> Self {
        let mut etcd = Self::new("one", release, transport);
        let file = etcd.db();
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, database).unwrap();
        etcd.spawn();
        etcd.ready().await;
        etcd
    }

    /// A member that is not started yet.
    pub fn new(name: &str, release: EtcdRelease, transport: Transport) -> Self {
        // On a RAM disk, where there is one, etcd's fsyncs cost nothing.
        let shm = Path::new("/dev/shm");
        let folder = if shm.is_dir() { TempDir::new_in(shm) } else { TempDir::new() }.or_else(|_| TempDir::new()).unwrap();
        let [client, plain, peer] = [(); 3].map(|()| loopback::address());
        let (name, others, flags) = (name.to_owned(), Vec::new(), Vec::new());
        Self { child: None, folder, name, release, others, flags, transport, client, plain, peer }
    }

    /// Sends a signal: `TERM` stops it with good manners, `STOP` and `CONT` hold it up.
    pub fn signal(&self, signal: &str) {
        let pid = self.child.as_ref().expect("etcd runs").id().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap().success());
    }

    /// Stops etcd; its data stay.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Waits until etcd, told to stop, has ended.
    pub fn wait(&mut self) {
        self.child.take().expect("etcd runs").wait().unwrap();
    }

    /// Changes how etcd speaks to its clients from its next start on.
    pub fn set_transport(&mut self, transport: Transport) {
        self.transport = transport;
    }

    /// Starts a stopped etcd again with its data, but on an address that its clients do not know.
    pub async fn resume_in_hiding(&mut self) {
        let home = std::mem::replace(&mut self.client, loopback::address());
        self.resume().await;
        self.client = home;
    }

    /// Starts a stopped etcd again, with the same addresses and data.
    pub async fn resume(&mut self) {
        self.spawn();
        self.ready().await;
    }

    /// The endpoint of the transport under test.
    pub fn endpoint(&self) -> String {
        let scheme = if matches!(self.transport, Transport::Plain) { "http" } else { "https" };
        format!("{scheme}://{}", self.client)
    }

    /// The address of the transport under test.
    pub fn address(&self) -> SocketAddrV4 {
        self.client
    }

    /// The endpoint in plain text that the tests' own clients use.
    pub fn plain_endpoint(&self) -> String {
        format!("http://{}", self.plain)
    }

    /// The address of that.
    pub fn plain_address(&self) -> SocketAddrV4 {
        self.plain
    }

    /// A client that may write. Tests alone have one.
    pub async fn writer(&self) -> Client {
        Client::connect([self.plain_endpoint()], None).await.unwrap()
    }

    /// Whether its files stay when it is dropped.
    pub fn keep_files(&mut self, are_kept: bool) {
        self.folder.disable_cleanup(are_kept);
    }

    /// The member's data dir.
    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The database file of the running member.
    pub fn db(&self) -> PathBuf {
        self.folder.path().join("data/member/snap/db")
    }

    /// The peer address, which is for other members only.
    pub fn peer_address(&self) -> SocketAddrV4 {
        self.peer
    }

    /// The peer URL.
    pub fn peer(&self) -> String {
        let scheme = if matches!(self.transport, Transport::Mutual(..)) && !self.others.is_empty() { "https" } else { "http" };
        format!("{scheme}://{}", self.peer)
    }

    /// Starts its process; does not wait until it answers.
    pub fn spawn(&mut self) {
        let log = File::create(self.folder.path().join("log")).unwrap();
        let (client, plain, peer) = (self.endpoint(), self.plain_endpoint(), self.peer());
        let mut command = Command::new(binary(self.release));
        command.env_clear().stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        command.arg("--data-dir").arg(self.folder.path().join("data"));
        command.args(["--name", &self.name, "--logger", "zap", "--listen-client-urls", &format!("{client},{plain}")]);
        command.args(["--advertise-client-urls", &client, "--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        let scheme = peer.split_once(':').unwrap().0;
        let others: String = self.others.iter().map(|(name, peer)| format!(",{name}={scheme}://{peer}")).collect();
        command.args(["--initial-cluster", &format!("{}={peer}{others}", self.name)]);
        // Hashing a password takes a tenth of a second else, at each start of a command that has one.
        command.args(["--bcrypt-cost", "4"]).args(&self.flags);
        if let Transport::Tls(pair) | Transport::Mutual(pair, _) = &self.transport {
            command.arg("--cert-file").arg(&pair.cert).arg("--key-file").arg(&pair.key);
        }
        if let Transport::Mutual(pair, ca) = &self.transport {
            command.arg("--client-cert-auth").arg("--trusted-ca-file").arg(ca);
            if scheme == "https" {
                command.arg("--peer-cert-file").arg(&pair.cert).arg("--peer-key-file").arg(&pair.key);
                command.arg("--peer-client-cert-auth").arg("--peer-trusted-ca-file").arg(ca);
            }
        }
        self.child = Some(command.spawn().unwrap_or_else(|error| panic!("{}: {error}", binary(self.release).display())));
    }

    /// Waits until it answers.
    pub async fn ready(&mut self) {
        until_async(async || {
            let has_ended = self.child.as_mut().expect("etcd runs").try_wait().unwrap().is_some();
            assert!(!has_ended, "etcd does not start: {}", self.log());
            self.answers().await.then_some(())
        })
        .await;
    }

    async fn answers(&self) -> bool {
        let Ok(mut client) = Client::connect([self.plain_endpoint()], None).await else { return false };
        client.status().await.is_ok_and(|status| status.leader() != 0)
    }

    /// What it logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The etcd of a release, which tools/test names.
fn binary(release: EtcdRelease) -> PathBuf {
    let minor = match release {
        EtcdRelease::V34 => "3.4",
        EtcdRelease::V35 => "3.5",
        EtcdRelease::V37 => "3.7",
    };
    let variable = format!("KETCD_TEST_ETCD_{}", minor.replace('.', "_"));
    let advice = format!(
        "these tests need a real etcd {minor}: run tools/test, which installs one, or name one in {variable} (tools/program etcd-{minor} prints its path)"
    );
    env::var_os(&variable).expect(&advice).into()
}
