//! Quotas that are used up by their counter and not by what is there.
//!
//! Kubernetes 1.36: pkg/quota/v1/evaluator/core/pods.go, `QuotaV1Pod`: pods count that have not ended, and whose deletion is not overdue; other kinds count
//! by objects (services.go, persistent_volume_claims.go and registry.go there; `count/…` of any kind: k8s.io/apiserver pkg/quota/v1/generic/evaluator.go).
//! pkg/controller/resourcequota counts anew after deletions, and every five minutes (config/v1alpha1/defaults.go). Each namespace has a ConfigMap
//! `kube-root-ca.crt` (pkg/controller/certificates/rootcacertpublisher/publisher.go): printed ConfigMaps without it are some of several.

use jiff::Timestamp;
use serde_json::Value;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};
use ketcd_kube::Quantity;

use super::facts::{Facts, Kind};
use super::object::{is_over, items, number, text, time};
use super::rule_finding::RuleFinding;
use crate::error::Result;

const QUOTAS_KIND: &Kind = &Kind { path: "resourcequotas", namespaced: true, fields: None };
const NAME_FIELDS: &[&str] = &["kind", "metadata.name"];

/// What of a quota counts which objects.
const COUNTED_OBJECTS: [(&[&str], &str); 14] = [
    (&["pods", "count/pods"], "pods"),
    (&["services", "count/services"], "services/specs"),
    (&["persistentvolumeclaims", "count/persistentvolumeclaims"], "persistentvolumeclaims"),
    (&["replicationcontrollers", "count/replicationcontrollers"], "controllers"),
    (&["configmaps", "count/configmaps"], "configmaps"),
    (&["secrets", "count/secrets"], "secrets"),
    (&["resourcequotas", "count/resourcequotas"], "resourcequotas"),
    (&["count/deployments.apps"], "deployments"),
    (&["count/replicasets.apps"], "replicasets"),
    (&["count/statefulsets.apps"], "statefulsets"),
    (&["count/daemonsets.apps"], "daemonsets"),
    (&["count/jobs.batch"], "jobs"),
    (&["count/cronjobs.batch"], "cronjobs"),
    (&["count/ingresses.networking.k8s.io"], "ingress"),
];

pub(super) async fn find(facts: &mut Facts<'_>) -> Result<Vec<RuleFinding>> {
    let mut found = Vec::new();
    for finding in facts.troubled(TroubleKind::QuotaExhausted) {
        for subject in &finding.subjects {
            let Some(quota) = facts.object(QUOTAS_KIND, &subject.namespace, &subject.name).await? else { continue };
            // A scope counts some objects only.
            if items(&quota, "/spec/scopes").next().is_some() || quota["spec"]["scopeSelector"].is_object() {
                continue;
            }
            found.extend(miscounted(facts, &quota).await?);
        }
    }
    Ok(found)
}

/// The resources that are used up, each with the number that is counted and the one that is there, those first of which more is counted; `None` where
/// that is so of none. Of the others the last is empty: they are really used up, or what is there is not known.
async fn miscounted(facts: &mut Facts<'_>, quota: &Value) -> Result<Option<RuleFinding>> {
    let namespace = text(quota, "/metadata/namespace");
    let (mut wrong, mut right) = (Vec::new(), Vec::new());
    for (resource, hard) in quota["status"]["hard"].as_object().into_iter().flatten() {
        let shown = quota["status"]["used"][resource].as_str().unwrap_or_default();
        let (Some(hard), Some(used)) = (amount(hard), amount(&quota["status"]["used"][resource])) else { continue };
        if hard == 0 || used < hard {
            continue;
        }
        match count(facts, namespace, resource).await?.filter(|there| *there < used) {
            Some(there) => wrong.push([resource.clone(), used.to_string(), there.to_string()]),
            None => right.push([resource.clone(), shown.to_owned(), String::new()]),
        }
    }
    if wrong.is_empty() {
        return Ok(None);
    }
    let about = [wrong.concat(), right.concat()].concat();
    let trouble = Trouble { about, ..Trouble::new(TroubleKind::QuotaMiscounted) };
    let found = RuleFinding::new(Subject::of(quota), trouble).instead_of(&[TroubleKind::QuotaExhausted]);
    Ok(Some(RuleFinding { only_replaces: true, ..found }))
}

fn amount(value: &Value) -> Option<i64> {
    let quantity: Quantity = value.as_str()?.parse().ok()?;
    Some(quantity.scaled_value(0))
}

/// How many objects a resource of a quota counts; `None` where that is not counted here, or the data has none at all and may lack the kind, or the user
/// may not read it.
async fn count(facts: &mut Facts<'_>, namespace: &str, resource: &str) -> Result<Option<i64>> {
    let Some((_, path)) = COUNTED_OBJECTS.iter().find(|(names, _)| names.contains(&resource)) else { return Ok(None) };
    let mut is_whole = true;
    let (there, count) = if *path == "pods" {
        let (pods, now) = (facts.pods(namespace).await?, facts.now);
        let counts = |pod: &&Value| resource == "count/pods" || counts(pod, now);
        (pods.len(), pods.iter().filter(counts).count())
    } else {
        let kind = Kind { path, namespaced: true, fields: Some(NAME_FIELDS) };
        let there = facts.within(&kind, namespace).await?;
        is_whole = *path != "configmaps" || there.iter().any(|one| text(one, "/metadata/name") == "kube-root-ca.crt");
        (there.len(), there.len())
    };
    let is_known = there > 0 && (is_whole || !facts.may_be_part()) || !facts.may_be_part() && !facts.cluster.has_missed();
    Ok(i64::try_from(count).ok().filter(|_| is_known))
}

fn counts(pod: &Value, now: Option<Timestamp>) -> bool {
    let grace = jiff::SignedDuration::from_secs(number(pod, "/metadata/deletionGracePeriodSeconds"));
    // Pods have the end of their grace period as the time of their deletion; the grace period is waited for once more.
    let end = time(pod, "/metadata/deletionTimestamp").and_then(|end| end.checked_add(grace).ok());
    !is_over(pod) && end.zip(now).is_none_or(|(end, now)| now <= end)
}
