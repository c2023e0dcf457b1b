//! Leader locks: the backup's leaders of then hold them.
//!
//! A candidate takes a lock over when it has not seen it renewed for `leaseDurationSeconds` of its own clock, whatever time stands in it
//! (k8s.io/client-go v0.36.3, `tools/leaderelection/leaderelection.go`, `tryAcquireOrRenew`), so that a lock of the past holds for that long after the
//! restore; its holder goes on if it still runs, and one that finds another holder stops leading (kubernetes#89595).

use std::collections::HashMap;

use serde_json::Value;

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::super::objects::{affected, counted, full_name, text};
use super::super::states::States;
use crate::error::Result;
use crate::verify::Weight;

/// A component that waits longer for its lock is missed.
const MAX_WAIT_SECONDS: i64 = 300;

/// Where nodes report that they are alive.
const NODE_NAMESPACE: &str = "kube-node-lease";

/// The label of the Leases by which API servers are known.
const API_SERVER_LABEL: &str = "apiserver.kubernetes.io/identity";

/// Returns which locks are held by others.
///
/// # Errors
/// A source cannot be read.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let now: Option<HashMap<(String, String), String>> = match &states.newest {
        Some(newest) => Some(
            newest
                .objects("/leases/")
                .await?
                .iter()
                .filter(|lease| is_lock(lease))
                .map(|lease| (full_name(lease), holder(lease).to_owned()))
                .collect(),
        ),
        None => None,
    };
    let (mut stale, mut longest) = (Vec::new(), 0);
    for lease in states.backup.objects("/leases/").await?.iter().filter(|lease| is_lock(lease)) {
        let holds = match &now {
            None => String::new(),
            Some(now) => match now.get(&full_name(lease)) {
                Some(other) if other == holder(lease) => continue,
                Some(other) => format!("; {other} leads now"),
                None => "; nobody leads now".to_owned(),
            },
        };
        let seconds = lease["spec"]["leaseDurationSeconds"].as_i64().unwrap_or(0);
        longest = longest.max(seconds);
        stale.push(affected(lease, format!("is held by {} for {seconds} s{holds}", holder(lease))));
    }
    Ok(of_stale(states, stale, longest).into_iter().collect())
}

fn of_stale(states: &States<'_>, stale: Vec<Affected>, longest: i64) -> Option<Forecast> {
    if stale.is_empty() {
        return None;
    }
    let count = counted(stale.len(), "leader lock", "leader locks");
    let of_then = if states.newest.is_some() { "leaders of then" } else { "the leaders of the backup, if they do not run any more" };
    let says =
        format!("{count} would be held by {of_then} for up to {longest} s after the restart; leaders of now that are not restarted stop");
    let weight = if longest > MAX_WAIT_SECONDS { Weight::Medium } else { Weight::Low };
    Some(Forecast::new(ForecastKind::LeaderLocks, weight, says, stale).with_command("kubectl get leases -A"))
}

fn is_lock(lease: &Value) -> bool {
    let is_of_node = text(lease, "/metadata/namespace") == NODE_NAMESPACE;
    let is_of_api_server = !lease["metadata"]["labels"][API_SERVER_LABEL].is_null();
    !is_of_node && !is_of_api_server && !holder(lease).is_empty()
}

fn holder(lease: &Value) -> &str {
    text(lease, "/spec/holderIdentity")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::made_up::{MadeUp, names, object, with};
    use super::*;

    fn lock(name: &str, holder: &str, seconds: i64) -> Value {
        with(object("Lease", "kube-system", name, name), json!({"spec": {"holderIdentity": holder, "leaseDurationSeconds": seconds}}))
    }

    #[tokio::test]
    async fn locks_of_other_leaders_hold_for_their_duration() {
        let node = with(object("Lease", NODE_NAMESPACE, "n1", "n"), json!({"spec": {"holderIdentity": "n1", "leaseDurationSeconds": 40}}));
        let backup = [lock("scheduler", "a", 15), lock("manager", "a", 15), node];
        let made_up = MadeUp::two(&backup, &[lock("scheduler", "b", 15), lock("manager", "a", 15)]).await;
        let found = forecasts(&made_up.states().await).await.unwrap();
        assert_eq!((names(&found, ForecastKind::LeaderLocks), found[0].weight), (vec!["scheduler".to_owned()], Weight::Low));
        assert_eq!(found[0].affected[0].says, "is held by a for 15 s; b leads now");
        let made_up = MadeUp::alone(&[lock("slow", "a", 3600)]).await;
        assert_eq!(forecasts(&made_up.states().await).await.unwrap()[0].weight, Weight::Medium);
    }
}
