//! A rehearsal that never was, for tests of what is written of one.

use std::time::Duration;

use ketcd_cluster::kinds::KeySubject;
use ketcd_cluster::rehearse::{Affected, Distribution, Forecast, ForecastKind, Rehearsal, RehearsedSource, Step, Way};
use ketcd_cluster::verify::{Verdict, Weight};
use ketcd_store::{Revision, SourceKind};

/// A whole source.
pub(crate) fn source(name: &str, revision: i64) -> RehearsedSource {
    RehearsedSource {
        name: name.to_owned(),
        kind: SourceKind::Db,
        revision: Revision(revision),
        written: None,
        age: None,
        keys: 7_000,
        verdict: Verdict::Good,
        says: String::new(),
        is_backup: false,
        is_newest: false,
        lacks: None,
    }
}

/// An object.
pub(crate) fn affected(kind: &str, namespace: &str, name: &str) -> Affected {
    let subject = KeySubject { kind: kind.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() };
    Affected { subject, uid: format!("uid-of-{name}"), ..Affected::default() }
}

/// Pods of a namespace.
fn pods(count: usize) -> Vec<Affected> {
    let pod = |number: usize| Affected { node: format!("n{}", number % 14), ..affected("Pod", "shop", &format!("web-{number}")) };
    (0..count).map(pod).collect()
}

fn forecast(kind: ForecastKind, weight: Weight, says: &str, affected: Vec<Affected>) -> Forecast {
    Forecast::new(kind, weight, says, affected)
}

/// What a usual answer tells.
fn forecasts() -> Vec<Forecast> {
    let lost = ["shop", "lab", "ci"].map(|name| affected("Namespace", "", name)).to_vec();
    let changed = Affected { by: "alice".to_owned(), says: "spec.replicas 3 → 5".to_owned(), ..affected("Deployment", "shop", "web") };
    let changed = Affected { revision: Some(Revision(500_000)), ..changed };
    vec![
        forecast(ForecastKind::LostObjects, Weight::High, "3 namespaces are not in the backup", lost)
            .with_headline("3 namespaces")
            .with_command("ketcd -f etcd-2 extract ns/shop"),
        forecast(ForecastKind::LostChanges, Weight::High, "41 Deployments lose their last change, 12 of them by people", vec![changed; 41])
            .with_headline("41 Deployments (12 changed by people)")
            .with_command("ketcd -f etcd-2 history deploy -A --since r441846"),
        forecast(ForecastKind::UnknownPods, Weight::High, "118 pods would run on 14 nodes unknown to the API", pods(118))
            .with_headline("118 pods would run on 14 nodes unknown to the API")
            .with_command("crictl pods --name web-0 -q | xargs -r crictl stopp"),
        forecast(
            ForecastKind::VolumesGone,
            Weight::High,
            "6 volumes of the backup are gone",
            vec![affected("PersistentVolume", "", "pv-1"); 6],
        )
        .with_headline("6 volumes are gone"),
        forecast(
            ForecastKind::LeaderLocks,
            Weight::Low,
            "2 locks name leaders of the past",
            vec![affected("Lease", "kube-system", "kcm"); 2],
        ),
        forecast(ForecastKind::Events, Weight::Low, "Events of the last hour are lost", Vec::new()),
    ]
}

/// The issue's own example.
pub(crate) fn rehearsal() -> Rehearsal {
    let age = Some(Duration::from_secs(26 * 3_600));
    let backup = RehearsedSource { is_backup: true, age, lacks: Some(70_157), ..source("snapshot.db", 441_846) };
    let member = RehearsedSource { is_newest: true, kind: SourceKind::DataDir, lacks: Some(0), ..source("etcd-2", 512_003) };
    let step = |says: &str, place: &str, commands: &[&str]| Step {
        says: says.to_owned(),
        place: place.to_owned(),
        commands: commands.iter().map(|&command| command.to_owned()).collect(),
    };
    let steps = vec![
        step("Stop the API servers", "on each control-plane node", &["mv /etc/kubernetes/manifests/kube-apiserver.yaml /root/"]),
        step("Restore the data", "on etcd-1", &["etcdutl snapshot restore snapshot.db --bump-revision 1000000000 --mark-compacted"]),
        step("Look at what came back", "", &[]),
    ];
    let evidence = "the static pod etcd-etcd-1 has kubeadm's annotations".to_owned();
    Rehearsal {
        sources: vec![member, backup],
        lost_revisions: Some(70_157),
        is_of_one_cluster: Some(true),
        forecasts: forecasts(),
        not_known: vec!["what containers run: no kubelet was asked".to_owned()],
        way: Way { distribution: Distribution::Kubeadm, evidence, bump: Some(1_000_000_000), steps },
    }
}

/// The same in which names and sentences try to drive a terminal, a page and a shell.
pub(crate) fn hostile() -> Rehearsal {
    let bad = "x\u{1b}[31m\n# heading\n- [ ] `rm -rf /` <script>|**b**";
    let mut rehearsal = rehearsal();
    rehearsal.sources[1].name = bad.to_owned();
    rehearsal.forecasts[0].says = format!("lost {bad}");
    rehearsal.forecasts[0].commands = vec!["ketcd get 'a\u{1b}```b'".to_owned(), "```".to_owned()];
    rehearsal.forecasts[0].affected = vec![Affected { by: bad.to_owned(), says: bad.to_owned(), ..affected("Pod", "a", bad) }];
    rehearsal.not_known = vec![bad.to_owned()];
    rehearsal.way.evidence = bad.to_owned();
    rehearsal.way.steps[0].says = bad.to_owned();
    rehearsal.way.steps[0].place = bad.to_owned();
    rehearsal
}
