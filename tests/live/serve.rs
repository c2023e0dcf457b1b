//! `ketcd serve` over a live etcd: it follows what is written.

use etcd_client::Permission;
use serde_json::Value;

use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{flags, ketcd, run, start_watching, stderr};
use crate::load::{config_map, writer};
use crate::pki::Pki;
use crate::rights::Guarded;
use crate::watcher::Watching;

/// The kubectl that tools/test installs.
fn kubectl() -> String {
    std::env::var("KETCD_TEST_KUBECTL").unwrap_or_else(|_| "kubectl".to_owned())
}

/// Each write comes once and in order to a running `kubectl get -w`, and a list has what was written before it.
#[tokio::test(flavor = "multi_thread")]
async fn kubectl_follows_what_is_written() {
    let (pki, kubectl) = (Pki::new(), kubectl());
    let etcd = Etcd::mutual(&pki).await;
    let mut client = etcd.writer().await;
    client.put("/registry/configmaps/lab/first", config_map("first", 0), None).await.unwrap();
    let shown = "-o=jsonpath={.metadata.resourceVersion} {.metadata.name} {.data.n}{\"\\n\"}";
    let watching = start_watching(&etcd, &pki, &["serve", "--", &kubectl, "get", "configmaps", "-n", "lab", "-w", shown]);
    assert_eq!(watching.line(), "2 first 0");
    let work = writer(&etcd).await;
    for count in 0..300 {
        assert_eq!(watching.line(), format!("{} noise-{} {count}", count + 3, count % 7));
    }
    let listed = || {
        let mut command = ketcd();
        flags(&mut command, &etcd.endpoint(), &pki.ca(), &pki.client()).args([
            "serve",
            "--",
            &kubectl,
            "get",
            "configmaps",
            "-n",
            "lab",
            "-o",
            "json",
        ]);
        let output = run(&mut command);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    // While writes go on, a list is of one revision that is no older than what was seen before.
    let list = listed();
    let items = list["items"].as_array().unwrap();
    let counts: Vec<i64> = items.iter().skip(1).map(|item| item["data"]["n"].as_str().unwrap().parse().unwrap()).collect();
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert_eq!((items.len(), most - least), (8, 6), "{counts:?}");
    assert!(*most >= 299, "{counts:?}");
    let written = work.end().await;
    for count in 300..written {
        assert!(watching.line().ends_with(&format!(" {count}")));
    }
    client.delete("/registry/configmaps/lab/first", None).await.unwrap();
    assert_eq!(listed()["items"].as_array().unwrap().len(), 7);
}

/// A moment that was compacted, may not be read or cannot be reached is none of the client's mistakes.
#[tokio::test(flavor = "multi_thread")]
async fn a_moment_that_cannot_be_read_says_why() {
    let mut guarded = Guarded::start(EtcdRelease::V35, Transport::Plain).await;
    guarded.enable().await;
    let moments = ["rev/7", "at/2026-11-21T00:20:00Z"];
    let denied = Served::start(&guarded);
    for moment in moments {
        denied.check(moment, "(Forbidden)");
    }
    guarded.grant_only(vec![Permission::read("/registry/").with_prefix()]).await;
    guarded.root.compact(400, None).await.unwrap();
    let reading = Served::start(&guarded);
    for moment in ["rev/7", "at/1999-01-01T00:00:00Z"] {
        reading.check(moment, "(Expired)");
    }
    reading.check("at/yesterday-ish", "(BadRequest)");
    guarded.etcd.stop();
    for moment in moments {
        reading.check(moment, "(ServiceUnavailable)");
    }
}

/// A running `serve` with its kubeconfig.
struct Served {
    _server: Watching,
    kubeconfig: String,
}

impl Served {
    fn start(guarded: &Guarded) -> Self {
        let mut server = Watching::run(&mut guarded.command("serve"));
        let line = server.says("export KUBECONFIG=");
        let kubeconfig = line.rsplit_once("KUBECONFIG=").unwrap().1.to_owned();
        Self { _server: server, kubeconfig }
    }

    /// Asks for pods at a moment and holds the reason of the refusal against the one wanted.
    #[track_caller]
    fn check(&self, moment: &str, reason: &str) {
        let mut command = std::process::Command::new(kubectl());
        command.args(["--kubeconfig", &self.kubeconfig, "get", "--raw", &format!("/{moment}/api/v1/pods")]);
        let said = stderr(&run(&mut command));
        assert!(said.contains(reason), "/{moment}: {said}");
    }
}
