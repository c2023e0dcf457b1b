//! A real etcd on free ports of loopback, stopped when dropped.

use std::env;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use etcd_client::Client;
use tempfile::TempDir;

use crate::pki::{Pair, Pki};

/// How etcd speaks to its clients. Whatever it is, the tests' own writes go in plain text to a second port.
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
    /// 3.4 or newer: the machine's own, or Debian's.
    Default,
    /// 3.5.
    V35,
    /// 3.7.
    V37,
}

/// Every release.
pub const RELEASES: [EtcdRelease; 3] = [EtcdRelease::Default, EtcdRelease::V35, EtcdRelease::V37];

/// A running etcd.
pub struct Etcd {
    child: Option<Child>,
    folder: TempDir,
    /// The member's name.
    pub name: String,
    /// Its release.
    pub release: EtcdRelease,
    /// The other members, each with its peer port.
    pub others: Vec<(String, u16)>,
    /// Flags of this test.
    pub flags: Vec<String>,
    transport: Transport,
    client_port: u16,
    plain_port: u16,
    peer_port: u16,
}

impl Etcd {
    /// An etcd that speaks mutual TLS with certificates of `pki`.
    pub async fn mutual(pki: &Pki) -> Self {
        Self::start(Transport::Mutual(pki.server(), pki.ca())).await
    }

    /// Starts an empty etcd and waits until it answers.
    pub async fn start(transport: Transport) -> Self {
        Self::start_with(EtcdRelease::Default, transport, &[]).await
    }

    /// Starts an empty etcd of a release with flags of its own.
    pub async fn start_with(release: EtcdRelease, transport: Transport, flags: &[&str]) -> Self {
        let mut etcd = Self::new("one", release, transport);
        etcd.flags.extend(flags.iter().map(|flag| (*flag).to_owned()));
        // A free port may be taken by another test before etcd takes it: then etcd ends at once and other ports are tried.
        for _ in 0..5 {
            [etcd.client_port, etcd.plain_port, etcd.peer_port] = free_ports();
            etcd.spawn();
            if etcd.is_ready().await {
                return etcd;
            }
            let log = etcd.log();
            assert!(log.contains("address already in use"), "etcd does not start: {log}");
        }
        panic!("no free ports for etcd");
    }

    /// A member that is not started yet.
    pub fn new(name: &str, release: EtcdRelease, transport: Transport) -> Self {
        // On a RAM disk, where there is one, etcd's fsyncs cost nothing.
        let shm = Path::new("/dev/shm");
        let folder = if shm.is_dir() { TempDir::new_in(shm) } else { TempDir::new() }.or_else(|_| TempDir::new()).unwrap();
        let [client_port, plain_port, peer_port] = free_ports();
        let (name, others, flags) = (name.to_owned(), Vec::new(), Vec::new());
        Self { child: None, folder, name, release, others, flags, transport, client_port, plain_port, peer_port }
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

    /// Starts a stopped etcd again with its data, but on a port that its clients do not know.
    pub async fn resume_in_hiding(&mut self) {
        let home = self.client_port;
        [self.client_port, ..] = free_ports();
        self.spawn();
        assert!(self.is_ready().await, "etcd does not start again: {}", self.log());
        self.client_port = home;
    }

    /// Starts a stopped etcd again, on the same ports and data.
    pub async fn resume(&mut self) {
        self.spawn();
        assert!(self.is_ready().await, "etcd does not start again: {}", self.log());
    }

    /// The endpoint of the transport under test.
    pub fn endpoint(&self) -> String {
        let scheme = if matches!(self.transport, Transport::Plain) { "http" } else { "https" };
        format!("{scheme}://127.0.0.1:{}", self.client_port)
    }

    /// The port of the transport under test.
    pub fn port(&self) -> u16 {
        self.client_port
    }

    /// The port in plain text that the tests' own clients use.
    pub fn plain_endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.plain_port)
    }

    /// A client that may write. Tests alone have one.
    pub async fn writer(&self) -> Client {
        Client::connect([format!("http://127.0.0.1:{}", self.plain_port)], None).await.unwrap()
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

    /// The peer port, which is for other members only.
    pub fn peer_port(&self) -> u16 {
        self.peer_port
    }

    /// The peer address.
    pub fn peer(&self) -> String {
        let scheme = if matches!(self.transport, Transport::Mutual(..)) && !self.others.is_empty() { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}", self.peer_port)
    }

    /// Starts its process; does not wait until it answers.
    pub fn spawn(&mut self) {
        let log = File::create(self.folder.path().join("log")).unwrap();
        let client = self.endpoint();
        let plain = format!("http://127.0.0.1:{}", self.plain_port);
        let peer = self.peer();
        let mut command = Command::new(binary(self.release));
        command.env_clear().stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        command.arg("--data-dir").arg(self.folder.path().join("data"));
        command.args(["--name", &self.name, "--logger", "zap", "--listen-client-urls", &format!("{client},{plain}")]);
        command.args(["--advertise-client-urls", &client, "--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        let scheme = peer.split_once(':').unwrap().0;
        let others: String = self.others.iter().map(|(name, port)| format!(",{name}={scheme}://127.0.0.1:{port}")).collect();
        command.args(["--initial-cluster", &format!("{}={peer}{others}", self.name)]).args(&self.flags);
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

    /// Waits until it answers; `false` if it ended in place of that.
    pub async fn is_ready(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline {
            if self.child.as_mut().is_some_and(|child| child.try_wait().unwrap().is_some()) {
                return false;
            }
            if self.answers().await {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("etcd does not answer: {}", self.log());
    }

    async fn answers(&self) -> bool {
        let Ok(mut client) = Client::connect([format!("http://127.0.0.1:{}", self.plain_port)], None).await else { return false };
        tokio::time::timeout(Duration::from_secs(2), client.status())
            .await
            .is_ok_and(|status| status.is_ok_and(|status| status.leader() != 0))
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

/// The etcd to test with: the one that tools/test names, else for the default one the PATH's.
fn binary(release: EtcdRelease) -> PathBuf {
    let (variable, what, tool) = match release {
        EtcdRelease::Default => ("KETCD_TEST_ETCD", "etcd, 3.4 or newer", "tools/program etcd"),
        EtcdRelease::V35 => ("KETCD_TEST_ETCD_3_5", "etcd 3.5", "tools/program etcd-3.5"),
        EtcdRelease::V37 => ("KETCD_TEST_ETCD_3_7", "etcd 3.7", "tools/program etcd-3.7"),
    };
    if let Some(named) = env::var_os(variable) {
        return named.into();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|folder| folder.join("etcd")).find(|file| file.is_file());
    found.filter(|_| release == EtcdRelease::Default).unwrap_or_else(|| {
        panic!("these tests need a real {what}: run tools/test, which installs one, or name one in {variable} ({tool} prints its path)")
    })
}

/// Three ports that nobody else takes, also while etcd is stopped: below those that the kernel hands out to connections and to
/// listeners of port 0, and each of them once in a run.
fn free_ports() -> [u16; 3] {
    const PORTS: u16 = 20_000;
    static USED: AtomicU16 = AtomicU16::new(0);
    // Runs side by side begin at different places.
    let first = u16::try_from(std::process::id() % u32::from(PORTS)).unwrap();
    [(); 3].map(|()| {
        let candidates = (0..PORTS).map(|_| {
            let offset = u32::from(first) + u32::from(USED.fetch_add(1, Ordering::Relaxed));
            12_000 + u16::try_from(offset % u32::from(PORTS)).unwrap()
        });
        let mut free = candidates.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
        free.next().expect("a free port")
    })
}
