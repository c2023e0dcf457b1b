//! Definitions and stored versions that the API server that will run does not serve, and definitions that go back.
//!
//! What a release serves is known as `verify` knows it. Objects whose CustomResourceDefinition is missing are in etcd and in no API; versions that a
//! restored definition does not have are refused as not found.

use std::collections::BTreeSet;

use serde_json::Value;

use ketcd_store::At;
use ketcd_store::shell::quoted;

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::super::objects::{counted, items, names, pairs, release, text};
use super::super::states::States;
use crate::error::Result;
use crate::kinds::KeySubject;
use crate::verify::{Weight, upgrade};

/// For how many kinds a command is printed.
const MAX_COMMANDS: usize = 20;

/// Where definitions are stored.
const DEFINITION_PATH: &str = "/apiextensions.k8s.io/customresourcedefinitions/";

/// Returns what is not served.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let mut forecasts = of_release(states).await?;
    forecasts.extend(undefined(states).await?);
    forecasts.extend(older_definitions(states));
    Ok(forecasts)
}

/// What the release that will run does not serve, where it is another one than the backup's.
async fn of_release(states: &States<'_>) -> Result<Vec<Forecast>> {
    let (target, cluster) = (release(states), states.backup.cluster);
    if target == cluster.release() {
        return Ok(Vec::new());
    }
    let mut forecasts = Vec::new();
    let found = upgrade::check(cluster, states.backup.revision, target).await?;
    for finding in found.findings.into_iter().filter(|finding| finding.weight > Weight::Low) {
        let mut affected = Vec::new();
        if let Some(key) = &finding.key {
            let subject = cluster.subject_of(key.as_bytes()).await?;
            affected.push(Affected { subject, says: "is the first of them".to_owned(), ..Affected::default() });
        }
        // An upgrade can stop on the way and rewrite; a restore cannot.
        let says = match finding.says.split_once(": rewrite ").filter(|_| finding.key.is_some()) {
            Some((stored, _)) => format!("{stored}: to be rewritten once it runs"),
            None => finding.says,
        };
        let forecast = Forecast::new(ForecastKind::StoredVersions, finding.weight, says, affected);
        let forecast = finding.evidence.into_iter().filter(|fact| fact.starts_with("kubectl ")).fold(forecast, Forecast::with_command);
        forecasts.push(forecast.with_command(states.of_backup(&format!("verify --target {target}"))));
    }
    if let Some(first) = forecasts.first_mut() {
        first.headline = format!("stored versions that {target} does not serve");
    }
    Ok(forecasts)
}

/// Kinds of the backup that have objects and no definition, unlike in the newest state.
async fn undefined(states: &States<'_>) -> Result<Option<Forecast>> {
    let now: BTreeSet<String> = match &states.newest {
        Some(newest) => {
            newest.cluster.unlisted_kinds(At::Revision(newest.revision)).await?.iter().map(ketcd_kube::Kind::resource).collect()
        }
        None => BTreeSet::new(),
    };
    let mut kinds = Vec::new();
    for kind in states.backup.cluster.unlisted_kinds(At::Revision(states.backup.revision)).await? {
        // Without a group it is a path of the API server's own.
        if kind.group.is_empty() || now.contains(&kind.resource()) {
            continue;
        }
        let objects = names(&states.backup, &kind.key_prefix("", None)).await?.len();
        let subject = KeySubject { kind: kind.resource(), ..KeySubject::default() };
        kinds.push(Affected {
            subject,
            says: format!("has {} and no definition", counted(objects, "object", "objects")),
            ..Affected::default()
        });
    }
    if kinds.is_empty() {
        return Ok(None);
    }
    let says = format!(
        "{} of the backup have objects and no definition: they would be in etcd and in no API, unless an aggregated API server has them",
        counted(kinds.len(), "kind", "kinds")
    );
    let show = |kind: &Affected| states.of_backup(&format!("ls {} -A", quoted(kind.subject.kind.as_bytes())));
    let commands: Vec<String> = kinds.iter().take(MAX_COMMANDS).map(show).collect();
    let forecast = Forecast::new(ForecastKind::StoredVersions, Weight::Medium, says, kinds);
    Ok(Some(commands.into_iter().fold(forecast, Forecast::with_command)))
}

/// Definitions that serve versions now that the backup's do not.
fn older_definitions(states: &States<'_>) -> Option<Forecast> {
    let mut older = Vec::new();
    for pair in pairs(states, DEFINITION_PATH) {
        let (Some(before), Some(after)) = (&pair.before, &pair.after) else { continue };
        let then = served(before);
        let lost: Vec<&str> = served(after).into_iter().filter(|version| !then.contains(version)).collect();
        if !lost.is_empty() {
            older.push(pair.affected(format!("would no longer serve {}", lost.join(", "))));
        }
    }
    if older.is_empty() {
        return None;
    }
    let count = counted(older.len(), "definition", "definitions");
    let says = format!("{count} of custom kinds would serve fewer versions: controllers of now that use them find nothing");
    let forecast = Forecast::new(ForecastKind::StoredVersions, Weight::Medium, says, older);
    Some(forecast.with_headline(format!("{count} would serve fewer versions")).with_command("kubectl get customresourcedefinitions"))
}

fn served(definition: &Value) -> Vec<&str> {
    items(definition, "/spec/versions").filter(|version| version["served"] == true).map(|version| text(version, "/name")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::made_up::{MadeUp, names, object, with};
    use super::*;

    fn definition(versions: &[&str]) -> Value {
        let versions: Vec<Value> = versions.iter().map(|name| json!({"name": name, "served": true, "storage": *name == "v1"})).collect();
        let spec =
            json!({"group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}, "versions": versions});
        with(object("CustomResourceDefinition", "", "things.example.com", "crd"), json!({"spec": spec}))
    }

    fn thing() -> Value {
        json!({"key": "/registry/example.com/things/shop/a", "object": {"apiVersion": "example.com/v1", "kind": "Thing",
            "metadata": {"namespace": "shop", "name": "a", "uid": "t"}}})
    }

    #[tokio::test]
    async fn definitions_that_go_back_are_named() {
        let made_up = MadeUp::two(&[definition(&["v1"])], &[definition(&["v1", "v2"])]).await;
        let found = forecasts(&made_up.states().await).await.unwrap();
        assert_eq!(names(&found, ForecastKind::StoredVersions), ["things.example.com"]);
        assert_eq!(found[0].affected[0].says, "would no longer serve v2");
    }

    #[tokio::test]
    async fn objects_without_a_definition_are_in_no_api() {
        let made_up = MadeUp::two(&[thing()], &[definition(&["v1"]), thing()]).await;
        let found = forecasts(&made_up.states().await).await.unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].affected[0].subject.kind.as_str(), found[0].affected[0].says.as_str()),
            ("things.example.com", "has 1 object and no definition")
        );
        assert_eq!(found[0].commands, ["ketcd -f store.db ls things.example.com -A"]);
        let made_up = MadeUp::two(&[thing()], &[thing()]).await;
        assert_eq!(forecasts(&made_up.states().await).await.unwrap(), [], "it is so now");
    }
}
