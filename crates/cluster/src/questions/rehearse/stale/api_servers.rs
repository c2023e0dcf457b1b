//! API servers that the backup knows and that are gone.
//!
//! Each API server writes its address to `masterleases/` every ten seconds under a lease of 15 seconds, and the `kubernetes` Service has those that are
//! there (k8s.io/kubernetes v1.36.3, `pkg/controlplane/instance.go`, `pkg/controlplane/reconcilers/lease.go`); likewise `peerserverleases/` with its
//! identity (`pkg/controlplane/apiserver/peer.go`). A restore that keeps etcd's leases lets them run anew from the restart, so that the addresses of
//! the dead vanish within seconds. One that copies keys does not keep them, and the addresses stay (kubernetes#86812, etcd-manager#248).

use std::collections::BTreeSet;

use serde_json::Value;

use ketcd_store::shell::quoted;

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::super::objects::{counted, items, names, text};
use super::super::states::{RehearsedState, States};
use crate::error::Result;
use crate::kinds::KeySubject;
use crate::verify::Weight;

/// Where API servers note that they are there.
const LEASE_PATHS: [&str; 2] = ["/masterleases/", "/peerserverleases/"];

/// Returns which API servers are gone.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let Some(newest) = &states.newest else { return alone(states).await };
    let alive = addresses(newest).await?;
    if alive.is_empty() {
        states.note("which API servers are gone: the newest state names none");
        return Ok(Vec::new());
    }
    let (mut gone, mut held) = (Vec::new(), Vec::new());
    let mut known = BTreeSet::new();
    for path in LEASE_PATHS {
        let now = names(newest, path).await?;
        for entry in states.backup.entries(path).await? {
            let key = String::from_utf8_lossy(&entry.key).into_owned();
            let name = key.rsplit('/').next().unwrap_or_default().to_owned();
            if now.is_empty() || now.contains(&name) {
                continue;
            }
            let says = if entry.lease == 0 {
                held.push(key);
                "is gone, and its key has no lease: it stays until it is deleted"
            } else {
                "is gone; its key vanishes with its lease"
            };
            gone.push(of_address(path.trim_matches('/'), &name, says));
            known.insert(name);
        }
    }
    let others: Vec<String> =
        addresses(&states.backup).await?.difference(&alive).filter(|address| !known.contains(*address)).cloned().collect();
    gone.extend(others.iter().map(|address| of_address("endpoints", address, "is gone; the first API server takes it out of the Service")));
    Ok(of_gone(states, gone, &held).into_iter().collect())
}

fn of_gone(states: &States<'_>, gone: Vec<Affected>, held: &[String]) -> Option<Forecast> {
    if gone.is_empty() {
        return None;
    }
    let servers: BTreeSet<&str> = gone.iter().map(|affected| affected.subject.name.as_str()).collect();
    let count = counted(servers.len(), "API server", "API servers");
    let until = if held.is_empty() { "until its leases have run out" } else { "until their keys are deleted" };
    let says =
        format!("{count} of the backup that are gone would be in the kubernetes Service {until}: some connections of pods to the API fail");
    let weight = if held.is_empty() { Weight::Low } else { Weight::Medium };
    let verb = if servers.len() == 1 { "is" } else { "are" };
    let forecast = Forecast::new(ForecastKind::ApiServers, weight, says, gone.clone())
        .with_headline(format!("{count} {verb} gone"))
        .with_command(list_leases(states));
    Some(held.iter().fold(forecast, |forecast, key| forecast.with_command(format!("etcdctl del {}", quoted(key.as_bytes())))))
}

fn list_leases(states: &States<'_>) -> String {
    format!("etcdctl get --prefix --keys-only {}", quoted(format!("{}{}", states.backup.prefix, LEASE_PATHS[0]).as_bytes()))
}

fn of_address(kind: &str, name: &str, says: &str) -> Affected {
    let subject = KeySubject { kind: kind.to_owned(), namespace: String::new(), name: name.to_owned() };
    Affected { subject, says: says.to_owned(), ..Affected::default() }
}

/// The addresses of the API servers that a state names.
async fn addresses(state: &RehearsedState<'_>) -> Result<BTreeSet<String>> {
    let mut addresses = names(state, LEASE_PATHS[0]).await?;
    for endpoints in state.objects("/services/endpoints/default/kubernetes").await? {
        let subsets = items(&endpoints, "/subsets").flat_map(|subset| items(subset, "/addresses"));
        addresses.extend(subsets.map(|address| text(address, "/ip").to_owned()));
    }
    for slice in state.objects("/endpointslices/default/kubernetes").await? {
        let all = items(&slice, "/endpoints").flat_map(|endpoint| items(endpoint, "/addresses"));
        addresses.extend(all.filter_map(Value::as_str).map(str::to_owned));
    }
    Ok(addresses)
}

/// What the backup alone tells.
async fn alone(states: &States<'_>) -> Result<Vec<Forecast>> {
    let known: Vec<Affected> =
        addresses(&states.backup).await?.iter().map(|address| of_address("masterleases", address, "was there")).collect();
    if known.is_empty() {
        return Ok(Vec::new());
    }
    states.note("which API servers of the backup are gone: no newer state");
    let says = format!(
        "the backup names {}: those that are not started again leave the kubernetes Service when their leases have run out",
        counted(known.len(), "API server", "API servers")
    );
    Ok(vec![Forecast::new(ForecastKind::ApiServers, Weight::Low, says, known).with_command(list_leases(states))])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::made_up::{MadeUp, names};
    use super::*;

    fn lease(address: &str, lease: i64) -> Value {
        let subsets = json!([{"addresses": [{"ip": address}]}]);
        json!({"key": format!("/registry/masterleases/{address}"), "lease": lease,
            "object": {"apiVersion": "v1", "kind": "Endpoints", "metadata": {}, "subsets": subsets}})
    }

    #[tokio::test]
    async fn dead_api_servers_vanish_with_their_leases() {
        let made_up = MadeUp::two(&[lease("10.0.0.1", 7), lease("10.0.0.2", 7)], &[lease("10.0.0.1", 7)]).await;
        let found = forecasts(&made_up.states().await).await.unwrap();
        assert_eq!((names(&found, ForecastKind::ApiServers), found[0].weight), (vec!["10.0.0.2".to_owned()], Weight::Low));
        assert_eq!(found[0].headline, "1 API server is gone");
    }

    #[tokio::test]
    async fn without_a_lease_they_stay() {
        let made_up = MadeUp::two(&[lease("10.0.0.2", 0)], &[lease("10.0.0.1", 7)]).await;
        let found = forecasts(&made_up.states().await).await.unwrap();
        assert_eq!((found[0].weight, found[0].commands[1].as_str()), (Weight::Medium, "etcdctl del /registry/masterleases/10.0.0.2"));
    }

    #[tokio::test]
    async fn a_state_that_names_none_says_nothing_of_them() {
        let made_up = MadeUp::two(&[lease("10.0.0.2", 0)], &[]).await;
        let states = made_up.states().await;
        assert_eq!((forecasts(&states).await.unwrap(), states.not_known().len()), (vec![], 1));
    }
}
