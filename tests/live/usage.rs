//! `usage` of a live etcd with a long history: keys and versions alone count the writes.

use serde_json::Value;

use crate::etcd::{Etcd, Transport};
use crate::ketcd::{ketcd, run, stderr};
use crate::load::config_map;

#[tokio::test]
async fn versions_count_the_writes() {
    let etcd = Etcd::start(Transport::Plain).await;
    let mut client = etcd.writer().await;
    let mut put = async |name: &str, count: usize| {
        for value in 0..count {
            client.put(format!("/registry/configmaps/lab/{name}"), config_map(name, value), None).await.unwrap();
        }
    };
    let mut writer = etcd.writer().await;
    let mut renew = async |time: &str| {
        let lease = serde_json::json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "kube-scheduler",
            "namespace": "kube-system"}, "spec": {"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": time}});
        writer.put("/registry/leases/kube-system/kube-scheduler", lease.to_string(), None).await.unwrap();
    };
    renew("2026-11-20T22:00:00.000000Z").await;
    put("busy", 4_000).await;
    put("quiet", 1).await;
    put("gone", 3).await;
    put("rest", 1_500).await;
    let mut client = etcd.writer().await;
    client.delete("/registry/configmaps/lab/gone", None).await.unwrap();
    renew("2026-11-20T22:59:50.000000Z").await;
    renew("2026-11-20T23:00:00.000000Z").await;
    let usage = |arguments: &[&str]| -> Value {
        let mut command = ketcd();
        let output = run(command.args(["--endpoints", &etcd.endpoint(), "--insecure-transport", "usage", "-o", "json"]).args(arguments));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    // Revision 1 is empty: what was gone before the end leaves no version behind.
    let found = usage(&[]);
    assert_eq!((&found["total"]["writes"], &found["total"]["keys"]), (&5_504.into(), &4.into()), "{found}");
    assert_eq!(found["busiest"][0]["name"], "configmap/lab/busy");
    assert_eq!((&found["busiest"][0]["writes"], &found["busiest"][0]["writtenBytes"]), (&4_000.into(), &Value::Null));
    assert_eq!((&found["managers"], &found["unseenRevisions"]), (&Value::Null, &4.into()), "{found}");
    // Growth is estimated by the size of the database, which a member tells, as it tells its quota from 3.6 on.
    assert!(found["liveBytesPerHour"].as_f64() > Some(0.0) && found["writtenBytesPerHour"].as_f64() > Some(0.0), "{found}");
    // From within, a deletion is seen, and only the writes since.
    let found = usage(&["--since", "4005"]);
    assert_eq!((&found["total"]["writes"], &found["total"]["deletions"]), (&1_502.into(), &1.into()), "{found}");
    let (counts, unseen) = (&found["countsBytes"], &found["unseenRevisions"]);
    assert_eq!((counts, unseen), (&false.into(), &1.into()), "{found}");
    // As of a file: nothing is missed.
    let found = usage(&["--full"]);
    let total = &found["total"];
    assert_eq!((&total["writes"], &total["deletions"], &total["keys"]), (&5_507.into(), &1.into(), &4.into()), "{found}");
    assert!(total["liveBytes"].as_u64() > Some(100) && !found["largest"].as_array().unwrap().is_empty(), "{found}");
    assert_eq!(found["unseenRevisions"], Value::Null);
    assert_eq!(found["managers"].as_array().unwrap().len(), 1, "{found}");
}
