//! StatefulSets whose claims moved on: other volumes, claims that were deleted or made since.
//!
//! A claim of a set is called after its template, the set and the ordinal, `data-db-0` (k8s.io/kubernetes v1.36.3,
//! `pkg/controller/statefulset/stateful_set_utils.go`, `getPersistentVolumeClaimName`), and is made where it is not there; what is on its volume is not in
//! etcd.

use std::collections::HashSet;

use ketcd_kube::Object;

use super::super::forecast::{Forecast, ForecastKind};
use super::super::objects::{counted, full_name, items, name, pairs, text};
use super::super::states::States;
use crate::error::Result;
use crate::verify::Weight;

/// Returns what becomes of the volumes of StatefulSets.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let of_set = |set: Object| {
        let (namespace, set_name) = full_name(&set);
        let templates = items(&set, "/spec/volumeClaimTemplates");
        Some(templates.map(|template| (namespace.clone(), format!("{}-{set_name}", name(template)))).collect::<Vec<_>>())
    };
    let sets = states.backup.made("/statefulsets/", of_set).await?;
    if states.newest.is_none() {
        if !sets.is_empty() {
            states.note("whether volumes of StatefulSets were replaced since the backup: no newer state");
        }
        return Ok(Vec::new());
    }
    let prefixes: HashSet<(String, String)> = sets.into_iter().flatten().collect();
    let mut claims = Vec::new();
    for pair in pairs(states, "/persistentvolumeclaims/") {
        let Some(claim) = pair.after.as_ref().or(pair.before.as_ref()) else { continue };
        let (namespace, claim_name) = full_name(claim);
        let Some((prefix, ordinal)) = claim_name.rsplit_once('-') else { continue };
        if !ordinal.bytes().all(|byte| byte.is_ascii_digit()) || !prefixes.contains(&(namespace, prefix.to_owned())) {
            continue;
        }
        let volume = |claim: &Option<ketcd_kube::Object>| claim.as_ref().map(|claim| text(claim, "/spec/volumeName").to_owned());
        let says = match (volume(&pair.before), volume(&pair.after)) {
            (Some(before), Some(after)) if before == after || before.is_empty() => continue,
            (Some(before), Some(after)) => format!("its data is on {after} now and would be looked for on {before}"),
            (Some(before), None) => {
                format!("was deleted since and would come back with {before}, whose data is of then, if it is still there")
            }
            (None, Some(after)) => {
                format!("is not in the backup: a pod of this ordinal would get an empty volume, and {after} would stay unused")
            }
            (None, None) => continue,
        };
        claims.push(pair.affected(says));
    }
    if claims.is_empty() {
        return Ok(Vec::new());
    }
    let count = counted(claims.len(), "claim", "claims");
    let says = format!("{count} of StatefulSets moved on: their pods would not find the data of now");
    let forecast = Forecast::new(ForecastKind::StatefulVolumes, Weight::High, says, claims)
        .with_headline(format!("{count} of StatefulSets moved to other volumes"))
        .with_command("kubectl get persistentvolumeclaims -A -o wide");
    Ok(vec![forecast])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::made_up::{MadeUp, names, object, with};
    use super::*;

    fn set() -> Value {
        let spec = json!({"serviceName": "db", "selector": {}, "template": {"spec": {"containers": []}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}]});
        with(object("StatefulSet", "shop", "db", "set"), json!({"spec": spec}))
    }

    fn claim(name: &str, uid: &str, volume: &str) -> Value {
        with(object("PersistentVolumeClaim", "shop", name, uid), json!({"spec": {"volumeName": volume}}))
    }

    #[tokio::test]
    async fn claims_of_sets_that_moved_on_are_named() {
        let backup =
            [set(), claim("data-db-0", "a", "v0"), claim("data-db-1", "b", "v1"), claim("other", "o", "v9"), claim("data-db-3", "d", "")];
        let newest = [
            set(),
            claim("data-db-0", "a2", "w0"),
            claim("data-db-2", "c", "v2"),
            claim("other", "o2", "w9"),
            claim("data-db-3", "d", "v3"),
        ];
        let made_up = MadeUp::two(&backup, &newest).await;
        let found = forecasts(&made_up.states().await).await.unwrap();
        assert_eq!(names(&found, ForecastKind::StatefulVolumes), ["data-db-0", "data-db-1", "data-db-2"]);
        assert_eq!(found[0].affected[0].says, "its data is on w0 now and would be looked for on v0");
    }

    #[tokio::test]
    async fn a_backup_alone_says_what_it_does_not_know() {
        let made_up = MadeUp::alone(&[set()]).await;
        let states = made_up.states().await;
        assert_eq!(forecasts(&states).await.unwrap(), []);
        assert_eq!(states.not_known().len(), 1);
    }
}
