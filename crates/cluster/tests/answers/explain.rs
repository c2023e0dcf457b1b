//! Explanations that rest on objects which cannot be read: what they would say is unknown, and never taken for not being there.

use ketcd_cluster::explain::{Explained, Pods};
use ketcd_cluster::related::owners::StoredObject;
use ketcd_cluster::replay::SchedulerOptions;
use ketcd_cluster::{Cluster, Options};
use ketcd_scheduler::{Agreement, Depth, Explanation, Verdict};

use crate::fixture::{capture, cluster_of};

const CLUSTER_YAML: &str = r#"
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}, nodeInfo: {kubeletVersion: v1.34.1}}
---
apiVersion: v1
kind: Namespace
metadata: {name: default}
---
"#;

/// The cluster with a pod of this spec, which waits, and more in it.
async fn cluster(spec: &str, more: &str) -> Cluster {
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: default, uid: u, labels: {{app: a}}}}\nspec: {spec}\n---\n{more}"
    );
    cluster_of(format!("{CLUSTER_YAML}{pod}"), Options::default()).await
}

/// Explains that pod, and returns how many versions of objects could not be read.
async fn explain(cluster: &Cluster) -> (Explanation, usize) {
    let explainer = cluster.explainer(&SchedulerOptions::default()).await.unwrap();
    let explained = explainer.with_depth(Depth::Verdicts).with_remedies(true).pod("default", "p").await;
    let Explained { explanation, replay, .. } = explained.unwrap();
    (explanation, replay.unreadable())
}

/// The verdict of a filter on a node.
fn verdict<'e>(explanation: &'e Explanation, node: &str, plugin: &str) -> &'e Verdict {
    let judgement = &explanation.judgement;
    let place = judgement.filters.iter().position(|filter| *filter == plugin).unwrap_or_else(|| panic!("no {plugin}"));
    &judgement.nodes.iter().find(|judged| *judged.name == *node).unwrap().verdicts[place]
}

#[tokio::test]
async fn a_claim_without_times_is_found() {
    let claim = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: my-pod-my-resource, namespace: default}\nspec: {}\n\
        status: {allocation: {devices: {}}, devices: [{driver: d, pool: p, device: x, conditions: [{type: Ready, status: 'True', lastTransitionTime: null}]}]}\n";
    let spec = "{containers: [{name: c}], resourceClaims: [{name: r, resourceClaimName: my-pod-my-resource}]}";
    let (explanation, unreadable) = explain(&cluster(spec, claim).await).await;
    assert_eq!((unreadable, &explanation.judgement.message), (0, &None));
    assert!(explanation.judgement.nodes[0].fits());
}

/// A pod, an object that cannot be read, and the filter that looks it up.
const BROKEN_LOOKUPS: [(&str, &str, &str); 9] = [
    (
        "{containers: [{name: c}], resourceClaims: [{name: r, resourceClaimName: x}]}",
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: x, namespace: default}\nspec: text\n",
        "DynamicResources",
    ),
    (
        "{containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: x}}]}",
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: x, namespace: default}\nspec: text\n",
        "VolumeBinding",
    ),
    (
        "{containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: own}}]}",
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: own, namespace: default, annotations: {pv.kubernetes.io/bind-completed: 'yes'}}\nspec: {volumeName: x}\n---\n\
         apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: x}\nspec: text\n",
        "VolumeBinding",
    ),
    (
        "{containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: own}}]}",
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: own, namespace: default}\nspec: {storageClassName: x}\n---\n\
         apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: x}\nallowedTopologies: text\n",
        "VolumeBinding",
    ),
    (
        "{containers: [{name: c}], volumes: [{name: v, csi: {driver: d}}, {name: w, persistentVolumeClaim: {claimName: own}}]}",
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: own, namespace: default, annotations: {pv.kubernetes.io/bind-completed: 'yes'}}\nspec: {volumeName: z}\n---\n\
         apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: z}\nspec: {csi: {driver: d, volumeHandle: h}}\n---\n\
         apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: n1}\nspec: text\n",
        "NodeVolumeLimits",
    ),
    (
        "{containers: [{name: c}], topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: a}}}]}",
        "apiVersion: v1\nkind: Node\nmetadata: {name: x}\nspec: text\n",
        "PodTopologySpread",
    ),
    (
        "{containers: [{name: c}], affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: b}}}]}}}",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x, namespace: default}\nspec: {nodeName: n1, containers: text}\n",
        "InterPodAffinity",
    ),
    (
        "{containers: [{name: c, resources: {requests: {cpu: '1'}}}]}",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x, namespace: default}\nspec: {nodeName: n1, containers: text}\n",
        "NodeResourcesFit",
    ),
    (
        "{containers: [{name: c}], resourceClaims: [{name: r, resourceClaimName: own}]}",
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: own, namespace: default}\nspec: {devices: {requests: [{name: q, exactly: {deviceClassName: z}}]}}\n---\n\
         apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: z}\nspec: {}\n---\n\
         apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: x}\nspec: text\n",
        "DynamicResources",
    ),
];

#[tokio::test]
async fn what_cannot_be_read_is_unknown_and_never_not_found() {
    for (spec, broken, plugin) in BROKEN_LOOKUPS {
        let (explanation, unreadable) = explain(&cluster(spec, broken).await).await;
        assert_eq!((unreadable, explanation.agreement), (1, Agreement::Unverifiable), "{broken}");
        let Verdict::Unknown { missing } = verdict(&explanation, "n1", plugin) else { panic!("{broken}: {explanation:#?}") };
        assert!(["x\" cannot be read: ", "n1\" cannot be read: "].iter().any(|wanted| missing.contains(wanted)), "{missing}");
        assert!(!format!("{:?}", explanation.judgement).contains("not found"), "{broken}: {explanation:#?}");
    }
}

#[tokio::test]
async fn of_a_node_that_cannot_be_read_nothing_is_known() {
    let node = "apiVersion: v1\nkind: Node\nmetadata: {name: x}\nstatus: text\n";
    let (explanation, _) = explain(&cluster("{containers: [{name: c}]}", node).await).await;
    let node = explanation.judgement.nodes.iter().find(|node| &*node.name == "x").unwrap();
    let wanted = "Node \"x\" cannot be read: invalid type: string \"text\"";
    let is_unknown = |verdict: &Verdict| matches!(verdict, Verdict::Unknown { missing } if missing.starts_with(wanted));
    assert!(node.verdicts.iter().all(is_unknown), "{node:?}");
    assert!(node.fits() && explanation.judgement.sample.of == 2, "it may fit");
}

#[tokio::test]
async fn what_owns_pods_is_explained_by_them() {
    let cluster = capture("k120-story", Options { namespace: Some("web".to_owned()), ..Options::default() }).await;
    let all = cluster.subjects(&["pods".to_owned()]).await.unwrap().objects;
    let name = |pod: &StoredObject| pod.object["metadata"]["name"].as_str().unwrap().to_owned();
    let tomcat: Vec<String> = all.iter().map(name).filter(|name| name.starts_with("tomcat-")).collect();
    let pods = Pods::read(&cluster, &["deploy/web/tomcat".to_owned()]).await.unwrap();
    let names = ["crasher", "db-0"].into_iter().chain(tomcat.iter().map(String::as_str));
    let wanted: Vec<&str> = names.filter(|name| pods.wants("web", name)).collect();
    assert!(pods.are_many() && wanted.len() > 1 && wanted == tomcat, "{wanted:?}");
    assert!(!pods.wants("lab", &tomcat[0]));
    let none = Pods::read(&cluster, &["svc/web/tomcat".to_owned()]).await.err().unwrap();
    assert!(none.is_nothing(), "{none:?}");
    assert_eq!(none.to_string(), "service/web/tomcat owns no pods in namespace \"web\"");
    let refused = Pods::read(&cluster, &["nodes".to_owned()]).await.err().unwrap();
    assert_eq!(refused.to_string(), "\"nodes\" does not name pods");
}
