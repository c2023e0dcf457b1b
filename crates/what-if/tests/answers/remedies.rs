//! What `explain` offers as a remedy, done in a what-if: the pod finds a node. So a fix and a what-if cannot disagree.

use std::collections::BTreeSet;
use std::mem::discriminant;

use futures_util::TryStreamExt;
use ketcd_cluster::replay::SchedulerOptions;
use ketcd_cluster::{Cluster, Error, Options};
use ketcd_kube::Body;
use ketcd_scheduler::{AttemptOutcome, Fix};
use ketcd_store::{KeyRange, Want};
use ketcd_what_if::{Happening, WhatIf, WhatIfAction, WhatIfQuestion, what_if};
use serde_json::{Value, json};

use super::fixture::{at_revision, capture};

/// A remedy for a pod that was refused.
struct Offered {
    revision: i64,
    namespace: String,
    name: String,
    node: String,
    fixes: Vec<Fix>,
    /// Which fixes these are, whatever they are about.
    kind: Vec<String>,
}

/// The remedies for the pods that were refused, of each kind of remedy one for each pod.
async fn offered(name: &str) -> Vec<Offered> {
    let cluster = capture(name, Options::default()).await;
    let mut decisions = cluster.explainer(&SchedulerOptions::default()).await.unwrap().with_remedies(true).decisions();
    let mut found = Vec::new();
    let each = decisions.each(|decision| {
        if decision.attempt().outcome != AttemptOutcome::Unschedulable {
            decision.skip();
            return Ok(());
        }
        let explanation = decision.explain().explanation;
        let attempt = &explanation.attempt;
        let mut kinds = BTreeSet::new();
        for remedy in &explanation.help.remedies {
            let kind: Vec<String> = remedy.fixes.iter().map(|fix| format!("{:?}", discriminant(fix))).collect();
            if kinds.insert(kind.clone()) {
                let (namespace, name) = (attempt.pod.namespace.to_string(), attempt.pod.name.to_string());
                found.push(Offered {
                    revision: attempt.revision,
                    namespace,
                    name,
                    node: remedy.node.to_string(),
                    fixes: remedy.fixes.clone(),
                    kind,
                });
            }
        }
        Ok::<(), Error>(())
    });
    each.await.unwrap();
    found
}

/// A pod as it is stored.
async fn pod(cluster: &Cluster, namespace: &str, name: &str) -> Value {
    let key = KeyRange::prefix(format!("/registry/pods/{namespace}/{name}"));
    let entries: Vec<_> = cluster.range(key, Want::Values).await.unwrap().entries.try_collect().await.unwrap();
    let entry = entries.iter().find(|entry| entry.key.ends_with(format!("/{name}").as_bytes())).unwrap();
    match cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
        Body::Object(object) => object.into_value(),
        body @ Body::Opaque(_) => panic!("{body:?}"),
    }
}

/// Changes the pod; returns false where the change is none of the pod.
fn change(pod: &mut Value, fix: &Fix) -> bool {
    let spec = &mut pod["spec"];
    match fix {
        Fix::Tolerate(taint) => {
            let toleration = json!({"key": *taint.key, "operator": "Exists", "effect": *taint.effect});
            if !spec["tolerations"].is_array() {
                spec["tolerations"] = json!([]);
            }
            spec["tolerations"].as_array_mut().unwrap().push(toleration);
        }
        Fix::DropNodeSelector { key } => drop(spec["nodeSelector"].as_object_mut().unwrap().remove(&**key)),
        Fix::DropNodeAffinity => drop(required(spec, "nodeAffinity")),
        Fix::SoftenAffinity => drop(required(spec, "podAffinity")),
        Fix::SoftenAntiAffinity => drop(required(spec, "podAntiAffinity")),
        Fix::SoftenSpread { constraint, .. } => {
            spec["topologySpreadConstraints"][*constraint]["whenUnsatisfiable"] = json!("ScheduleAnyway")
        }
        Fix::HonorTaints { constraint, .. } => spec["topologySpreadConstraints"][*constraint]["nodeTaintsPolicy"] = json!("Honor"),
        Fix::RaiseMaxSkew { constraint, max_skew, .. } => spec["topologySpreadConstraints"][*constraint]["maxSkew"] = json!(max_skew),
        _ => return false,
    }
    true
}

fn required(spec: &mut Value, kind: &str) -> Option<Value> {
    spec["affinity"][kind].as_object_mut()?.remove("requiredDuringSchedulingIgnoredDuringExecution")
}

/// The action that does a fix of a node or of another pod.
fn action(node: &str, fix: &Fix) -> Option<WhatIfAction> {
    Some(match fix {
        Fix::Uncordon => WhatIfAction::Uncordon(node.to_owned()),
        Fix::RemoveTaint(taint) => WhatIfAction::taint(&format!("{node}={}:{}-", taint.key, taint.effect)).unwrap(),
        Fix::AddLabel { key, value } => WhatIfAction::label(&format!("{node}:{key}={value}")).unwrap(),
        Fix::RemoveLabel { key } => WhatIfAction::label(&format!("{node}:{key}-")).unwrap(),
        Fix::DeletePod(pod) => WhatIfAction::Delete(format!("pod/{}/{}", pod.0, pod.1)),
        _ => return None,
    })
}

/// Does a remedy; `None` where one of its fixes is none of a what-if's.
async fn done(capture_name: &str, offered: &Offered) -> Option<(WhatIf, String)> {
    let cluster = capture(capture_name, at_revision(offered.revision)).await;
    let mut changed = pod(&cluster, &offered.namespace, &offered.name).await;
    let (mut actions, mut is_changed) = (Vec::new(), false);
    for fix in &offered.fixes {
        match action(&offered.node, fix) {
            Some(action) => actions.push(action),
            None if change(&mut changed, fix) => is_changed = true,
            None => return None,
        }
    }
    let mut name = offered.name.clone();
    if is_changed {
        actions.push(WhatIfAction::Delete(format!("pod/{}/{name}", offered.namespace)));
        name.push_str("-changed");
        changed["metadata"] = json!({"name": name, "namespace": offered.namespace, "labels": changed["metadata"]["labels"]});
        changed["status"] = json!({});
        actions.push(WhatIfAction::Apply(vec![changed]));
    }
    Some((what_if(&cluster, &WhatIfQuestion { actions, ..WhatIfQuestion::default() }).await.unwrap(), name))
}

const RANDOM_CAPTURE: &str = "k136-random";

/// The first remedy of each kind.
#[tokio::test]
async fn a_remedy_of_each_kind_gives_the_pod_a_node_in_a_what_if() {
    let (mut offered, mut kinds) = (offered(RANDOM_CAPTURE).await, BTreeSet::new());
    offered.retain(|remedy| kinds.insert(remedy.kind.clone()));
    give_the_pod_a_node(offered).await;
}

#[tokio::test]
async fn every_remedy_gives_the_pod_a_node_in_a_what_if_nightly() {
    give_the_pod_a_node(offered(RANDOM_CAPTURE).await).await;
}

async fn give_the_pod_a_node(remedies: Vec<Offered>) {
    let (mut tried, mut wrong) = (0, Vec::new());
    for offered in remedies {
        let Some((answer, name)) = done(RANDOM_CAPTURE, &offered).await else { continue };
        tried += 1;
        let is_placed = answer
            .events
            .iter()
            .any(|event| event.what == Happening::Scheduled && event.pod.name == name && event.pod.namespace == offered.namespace);
        if !is_placed {
            let last = answer.waiting.iter().find(|(pod, _)| pod.name == name).and_then(|(_, message)| message.clone());
            wrong.push(format!("r{} {} on {}: {:?}: {last:?}", offered.revision, offered.name, offered.node, offered.fixes));
        }
    }
    assert!(tried > 20, "{tried}");
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
}
