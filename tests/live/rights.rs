//! Users of few rights: what may be read is enough for what is asked, and what a refusal says to grant is enough for the command.

use std::process::{Command, Output};

use etcd_client::{Client, ConnectOptions, Permission};
use ketcd_testing::on_each_release;

use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::fusion::snapshot;
use crate::ketcd::{flags, ketcd, run, stderr};
use crate::pki::Pki;
use crate::replay::{changes, etcd_of};
use crate::watcher::Watching;

const GRANT_COMMAND: &str = "etcdctl role grant-permission ROLE read ";

/// Every command that ends by itself. The objects are in the capture.
const LIVE_COMMANDS: [&str; 33] = [
    "ls",
    "ls --all -o name",
    "ls pods -A",
    "ls nodes,pods -A",
    "get pod/lab/ubuntu -o yaml",
    "get pods -n lab -o yaml",
    "get pod/lab/ubuntu --with-config",
    "get /registry/pods/lab/ubuntu -o json",
    "get widgets.example.com -n lab -o name",
    "describe pod/lab/ubuntu",
    "events",
    "events -n lab",
    "events pod/lab/ubuntu",
    "tree pod/lab/ubuntu",
    "history pod/lab/ubuntu",
    "history pods -A",
    "history --all",
    "grep node3",
    "grep node3 pods",
    "blame pod/lab/ubuntu",
    "diff pods -A --rev 400..500",
    "diff --rev 400..500 -n lab",
    "timeline pod/lab/ubuntu",
    "timeline node/node3",
    "timeline -n lab",
    "explain pod/lab/ubuntu",
    "explain pods -A",
    "report --out -",
    "status",
    "encryption",
    "triage",
    "usage",
    "what-if --drain node2",
];

/// etcd with a capture in it and a user without rights.
pub(crate) struct Guarded {
    pub(crate) etcd: Etcd,
    pub(crate) root: Client,
}

impl Guarded {
    /// Authentication is not on yet.
    pub(crate) async fn start(release: EtcdRelease, transport: Transport) -> Self {
        let etcd = etcd_of(&changes("k120-story").await, release, transport).await;
        let mut writer = etcd.writer().await;
        writer.user_add("root", "rootpw", None).await.unwrap();
        writer.user_grant_role("root", "root").await.unwrap();
        for user in ["guest", "client"] {
            writer.user_add(user, "guestpw", None).await.unwrap();
            writer.role_add("guest").await.ok();
            writer.user_grant_role(user, "guest").await.unwrap();
        }
        Self { etcd, root: writer }
    }

    pub(crate) async fn enable(&mut self) {
        self.root.auth_enable().await.unwrap();
        let root = ConnectOptions::new().with_user("root", "rootpw");
        self.root = Client::connect([self.etcd.plain_endpoint()], Some(root)).await.unwrap();
    }

    /// Takes all rights away and gives these.
    pub(crate) async fn grant_only(&mut self, permissions: Vec<Permission>) {
        self.root.role_delete("guest").await.unwrap();
        self.root.role_add("guest").await.unwrap();
        for user in ["guest", "client"] {
            self.root.user_grant_role(user, "guest").await.unwrap();
        }
        for permission in permissions {
            self.root.role_grant_permission("guest", permission).await.unwrap();
        }
    }

    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = ketcd();
        command.args(["--endpoints", &self.etcd.endpoint(), "--user", "guest:guestpw"]).args(words.split(' '));
        command
    }

    fn run(&self, words: &str) -> Output {
        run(&mut self.command(words))
    }
}

/// The permissions that the commands of a refusal grant.
fn granted(refusal: &str) -> Vec<Permission> {
    let commands = refusal.lines().filter_map(|line| line.split_once(GRANT_COMMAND).map(|(_, words)| words));
    commands
        .map(|words| match words.split(' ').collect::<Vec<_>>()[..] {
            ["--prefix=true", "''"] => Permission::read(vec![0]).with_from_key(),
            ["--prefix=true", prefix] => Permission::read(prefix).with_prefix(),
            [key] => Permission::read(key),
            [start, end] => Permission::read(start).with_range_end(end),
            _ => panic!("no grant: {words}"),
        })
        .collect()
}

async fn every_command_says_what_to_grant(release: EtcdRelease) {
    let mut guarded = Guarded::start(release, Transport::Plain).await;
    let before: Vec<Output> = LIVE_COMMANDS.iter().map(|words| guarded.run(words)).collect();
    guarded.enable().await;
    for (words, before) in LIVE_COMMANDS.iter().zip(before) {
        guarded.grant_only(Vec::new()).await;
        let refused = guarded.run(words);
        // What members say of themselves needs no right.
        let refusal = if *words == "status" { String::from_utf8_lossy(&refused.stdout).into_owned() } else { stderr(&refused) };
        assert_eq!(refused.status.code(), Some(if *words == "status" { 0 } else { 2 }), "{release:?} {words}: {refusal}");
        assert!(refusal.contains("does not let user \"guest\" read "), "{release:?} {words}: {refusal}");
        assert!(refused.stdout.is_empty() || *words == "status", "{release:?} {words}");
        let permissions = granted(&refusal);
        assert!(!permissions.is_empty(), "{release:?} {words}: {refusal}");
        guarded.grant_only(permissions).await;
        let answered = guarded.run(words);
        let notes = stderr(&answered);
        assert_eq!(answered.status.code(), before.status.code(), "{release:?} {words}: {refusal}\nthen: {notes}");
        // A story is told without what it is only nice to have, and troubles without what is not pods or nodes.
        let least = if words.starts_with("timeline") || *words == "triage" { 1 } else { before.stdout.len() / 2 };
        assert!(answered.stdout.len() >= least, "{release:?} {words}: {notes}\n{answered:?}");
    }
}

on_each_release!(every_command_says_what_to_grant);

/// Commands about one pod.
const OF_ONE: &[&str] = &[
    "get pod/lab/ubuntu -o yaml",
    "ls pod/lab/ubuntu",
    "describe pod/lab/ubuntu",
    "tree pod/lab/ubuntu",
    "get pod/lab/ubuntu -o yaml --rev 480",
    "get pod/lab/ubuntu --rev 480",
    "status",
    "history pod/lab/ubuntu",
    "history pod/lab/ubuntu --diff",
    "blame pod/lab/ubuntu",
    "diff pod/lab/ubuntu --rev 400..500",
    "timeline pod/lab/ubuntu",
];

/// What is asked of pods needs no right but theirs, of a namespace no right but its own, of a pod no right but its own.
async fn what_is_asked_is_enough(release: EtcdRelease) {
    const OF_NAMESPACE: &[&str] =
        &["ls pods -n lab", "get pods -n lab -o yaml", "diff pods -n lab --rev 400..500", "get pods -n lab -o name"];
    const OF_ALL: &[&str] = &["ls pods -A", "ls pods -A --rev 480", "get pods -A -o json", "diff pods -A --rev 400..500"];
    let mut guarded = Guarded::start(release, Transport::Plain).await;
    let roles: [(Permission, &[&[&str]]); 3] = [
        (Permission::read("/registry/pods/").with_prefix(), &[OF_ALL, OF_NAMESPACE, OF_ONE]),
        (Permission::read("/registry/pods/lab/").with_prefix(), &[OF_NAMESPACE, OF_ONE]),
        (Permission::read("/registry/pods/lab/ubuntu"), &[OF_ONE]),
    ];
    let codes = |guarded: &Guarded, words: &str| guarded.run(words).status.code();
    let before: Vec<(&str, Option<i32>)> =
        [OF_ALL, OF_NAMESPACE, OF_ONE].concat().into_iter().map(|words| (words, codes(&guarded, words))).collect();
    guarded.enable().await;
    for (permission, commands) in roles {
        guarded.grant_only(vec![permission.clone()]).await;
        for words in commands.concat() {
            let output = guarded.run(words);
            let notes = stderr(&output);
            let expected = before.iter().find(|(known, _)| *known == words).unwrap().1;
            assert_eq!(output.status.code(), expected, "{release:?} {permission:?} {words}: {notes}");
            assert!(!notes.contains("error:") && !output.stdout.is_empty(), "{release:?} {permission:?} {words}: {notes}");
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(!text.contains("<invalid>"), "{release:?} {permission:?} {words}: {text}");
            assert!(words != "status" || text.contains("etcdctl role grant-permission ROLE read --prefix=true ''"), "{release:?}: {text}");
            assert!(notes.matches("--release").count() <= 1, "{release:?} {words}: {notes}");
            let is_missing = notes.lines().filter(|line| line.contains("not shown, no permission to read: ")).count();
            assert_eq!(
                is_missing,
                usize::from(["timeline", "describe", "tree"].iter().any(|command| words.starts_with(command))),
                "{release:?} {permission:?} {words}: {notes}"
            );
        }
        if permission == Permission::read("/registry/pods/lab/ubuntu") {
            let page = String::from_utf8(guarded.run("status").stdout).unwrap();
            assert!(page.contains("newest revision 1789, the oldest that can be read is unknown") && page.contains("  etcd 3."), "{page}");
            let refused = guarded.run("status -o json");
            assert_eq!((refused.status.code(), granted(&stderr(&refused)).len()), (Some(2), 1), "{}", stderr(&refused));
            let table = String::from_utf8(guarded.run("get pod/lab/ubuntu --rev 480").stdout).unwrap();
            assert!(table.trim_end().ends_with("<unknown>"), "{table}");
        }
        let watching = Watching::run(guarded.command("watch pod/lab/ubuntu -o ndjson").args(["--release", "1.20"]));
        assert!(watching.line().contains("INITIAL"), "{release:?} {permission:?}");
        let mut writer = guarded.root.clone();
        let pod = writer.get("/registry/pods/lab/ubuntu", None).await.unwrap();
        let value = pod.kvs().first().map_or_else(|| b"{}".to_vec(), |pod| pod.value().to_vec());
        writer.put("/registry/pods/lab/ubuntu", value, None).await.unwrap();
        assert!(watching.line().contains("\"/registry/pods/lab/ubuntu\""), "{release:?} {permission:?}");
    }
}

on_each_release!(what_is_asked_is_enough);

/// A custom kind's name says nothing while its definition may not be read; what is Kubernetes' own needs none.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_names_the_user_and_what_cannot_be_known() {
    let pki = Pki::new();
    let transport = Transport::Mutual(pki.server(), pki.ca());
    let mut guarded = Guarded::start(EtcdRelease::V35, transport).await;
    guarded.enable().await;
    let endpoint = guarded.etcd.endpoint();
    let certified = |words: &str| {
        let mut command = ketcd();
        run(flags(&mut command, &endpoint, &pki.ca(), &pki.client()).args(words.split(' ')))
    };
    let refused = certified("ls pods -A");
    let refusal = stderr(&refused);
    let named = format!("does not let user \"client\" (the common name in {}) read /registry/pods/", pki.client().cert.display());
    assert!(refusal.contains(&named), "{refusal}");
    assert!(refusal.contains("where the API server's --etcd-prefix is not /registry, give --prefix"), "{refusal}");
    assert!(refusal.contains(&format!("{GRANT_COMMAND}--prefix=true /registry/pods/\n")), "{refusal}");
    let refusal = stderr(&certified("ls pods -A --prefix /k8s"));
    assert!(!refusal.contains("give --prefix") && refusal.contains(&format!("{GRANT_COMMAND}--prefix=true /k8s/pods/\n")), "{refusal}");

    guarded.grant_only(vec![Permission::read("/registry/pods/").with_prefix()]).await;
    assert_eq!(certified("ls pods -A").status.code(), Some(0));
    let refused = certified("get widgets -n lab");
    let refusal = stderr(&refused);
    assert_eq!(refused.status.code(), Some(2), "{refusal}");
    assert!(refusal.contains("Kubernetes has no built-in kind \"widgets\""), "{refusal}");
    assert!(
        refusal.contains(&format!("{GRANT_COMMAND}--prefix=true /registry/apiextensions.k8s.io/customresourcedefinitions/")),
        "{refusal}"
    );
    let absent = certified("get pod/lab/none");
    let notes = stderr(&absent);
    assert_eq!(absent.status.code(), Some(1), "{notes}");
    assert!(notes.contains("pod \"none\" not found in namespace \"lab\""), "{notes}");
    let released = certified("get pod/lab/ubuntu -o yaml --release 1.20");
    assert_eq!((released.status.code(), stderr(&released).as_str()), (Some(0), ""));
}

/// A file beside it asks nothing more of a live etcd: the right that suffices for it alone suffices.
async fn what_is_enough_for_etcd_is_enough_beside_a_file(release: EtcdRelease) {
    const POD_KEY: &str = "/registry/pods/lab/ubuntu";
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("night.db");
    let mut guarded = Guarded::start(release, Transport::Plain).await;
    snapshot(&guarded.etcd, &file).await;
    let pod = guarded.root.get(POD_KEY, None).await.unwrap();
    let value = pod.kvs()[0].value().to_vec();
    guarded.root.put(POD_KEY, value, None).await.unwrap();
    let endpoint = guarded.etcd.endpoint();
    let beside = |words: &str| {
        let mut command = ketcd();
        command.arg("-f").arg(&file).args(["-f", &endpoint, "--user", "guest:guestpw"]);
        run(command.args(words.split(' ')))
    };
    let words_of = |words: &&'static str| !words.starts_with("status");
    let of_one: Vec<&str> = OF_ONE.iter().copied().filter(words_of).chain(["explain pod/lab/ubuntu", "events pod/lab/ubuntu"]).collect();
    let before: Vec<Output> = of_one.iter().map(|words| beside(words)).collect();
    guarded.enable().await;
    for (words, before) in of_one.into_iter().zip(before) {
        guarded.grant_only(vec![Permission::read(POD_KEY)]).await;
        let refused = guarded.run(words);
        if refused.status.code() == Some(2) {
            guarded.grant_only(granted(&stderr(&refused))).await;
        }
        let (alone, output) = (guarded.run(words), beside(words));
        let notes = stderr(&output);
        assert_eq!(
            (alone.status.code(), output.status.code()),
            (before.status.code(), before.status.code()),
            "{release:?} {words}: {notes}"
        );
        assert!(!output.stdout.is_empty() && !notes.contains("error:"), "{release:?} {words}: {notes}");
        let mut lines: Vec<&str> = notes.lines().collect();
        lines.sort_unstable();
        assert!(lines.windows(2).all(|pair| pair[0] != pair[1]), "{release:?} {words} says something twice: {notes}");
        // The change that only etcd has is there too.
        if words == "history pod/lab/ubuntu" {
            let last = |output: &Output| String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.contains(" r")).count();
            assert_eq!(last(&output), last(&before), "{release:?}: {}", String::from_utf8_lossy(&output.stdout));
        }
    }
}

on_each_release!(what_is_enough_for_etcd_is_enough_beside_a_file);

/// A hint names only what may be listed: the same commands name it as soon as the listing is granted.
#[tokio::test(flavor = "multi_thread")]
async fn a_denied_listing_suggests_no_names() {
    let mut guarded = Guarded::start(EtcdRelease::V35, Transport::Plain).await;
    guarded.enable().await;
    let notes = |guarded: &Guarded, words: &str| {
        let output = guarded.run(words);
        let notes = stderr(&output);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{words}: {notes}");
        notes
    };
    let (object, namespace) = ("get pod/other/ubuntu -o yaml --release 1.20", "get pods -n lib -o name --release 1.20");
    let asked = || vec![Permission::read("/registry/pods/other/ubuntu"), Permission::read("/registry/pods/lib/").with_prefix()];
    guarded.grant_only(asked()).await;
    let denied = notes(&guarded, object);
    assert!(denied.contains("pod \"ubuntu\" not found in namespace \"other\"") && !denied.contains("lab"), "{denied}");
    let denied = notes(&guarded, namespace);
    assert!(denied.contains("No resources found in lib namespace") && !denied.contains("lab"), "{denied}");

    let listings = ["/registry/pods/", "/registry/namespaces/"].map(|listing| Permission::read(listing).with_prefix());
    guarded.grant_only(asked().into_iter().chain(listings).collect()).await;
    let allowed = notes(&guarded, object);
    assert!(allowed.contains("it exists in namespace \"lab\""), "{allowed}");
    let allowed = notes(&guarded, namespace);
    assert!(allowed.contains("lib namespace, which does not exist; did you mean lab?"), "{allowed}");
}
