//! Leader locks: the backup's leaders of then hold them.
//!
//! A candidate takes a lock over when it has not seen it renewed for `leaseDurationSeconds` of its own clock, whatever time stands in it
//! (k8s.io/client-go v0.36.3, `tools/leaderelection/leaderelection.go`, `tryAcquireOrRenew`), so that a lock of the past holds for that long after the
//! restore; its holder goes on if it still runs, and one that finds another holder stops leading (kubernetes#89595).

use std::collections::HashMap;

use serde_json::Value;

use ketcd_store::shell::quoted;

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::super::objects::{counted, text};
use super::super::states::{RehearsedState, States};
use super::annotation_locks;
use super::lock::StaleLock;
use crate::error::Result;
use crate::kinds::KeySubject;
use crate::numbers::grouped;
use crate::verify::Weight;

/// A component that waits longer for its lock is missed.
const MAX_WAIT_SECONDS: i64 = 300;

/// Where nodes report that they are alive.
const NODE_NAMESPACE: &str = "kube-node-lease";

/// The label of the Leases by which API servers are known.
const API_SERVER_LABEL: &str = "apiserver.kubernetes.io/identity";

/// For how many locks that are kept in annotations a command is printed.
const MAX_COMMANDS: usize = 20;

/// Returns which locks are held by others.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let now: Option<HashMap<KeySubject, String>> = match &states.newest {
        Some(newest) => Some(locks(newest).await?.into_iter().map(|lock| (lock.affected.subject, lock.holder)).collect()),
        None => None,
    };
    let (mut stale, mut longest) = (Vec::new(), 0);
    for StaleLock { affected, holder, seconds } in locks(&states.backup).await? {
        let holds = match &now {
            None => String::new(),
            Some(now) => match now.get(&affected.subject) {
                Some(other) if *other == holder => continue,
                Some(other) => format!("; {other} leads now"),
                None => "; nobody leads now".to_owned(),
            },
        };
        longest = longest.max(seconds);
        stale.push(Affected { says: format!("is held by {holder} for {seconds} s{holds}"), ..affected });
    }
    Ok(of_stale(states, stale, longest).into_iter().collect())
}

async fn locks(state: &RehearsedState<'_>) -> Result<Vec<StaleLock>> {
    let mut locks = state.made("/leases/", |lease| StaleLock::of(&lease, &lease["spec"]).filter(|_| is_lock(&lease))).await?;
    locks.extend(annotation_locks::locks(state).await?);
    Ok(locks)
}

fn of_stale(states: &States<'_>, stale: Vec<Affected>, longest: i64) -> Option<Forecast> {
    if stale.is_empty() {
        return None;
    }
    let count = counted(stale.len(), "leader lock", "leader locks");
    let of_then = if states.newest.is_some() { "leaders of then" } else { "the leaders of the backup, if they do not run any more" };
    let says = format!(
        "{count} would be held by {of_then} for up to {} s after the restart; leaders of now that are not restarted stop",
        grouped(longest)
    );
    let weight = if longest > MAX_WAIT_SECONDS { Weight::Medium } else { Weight::Low };
    let (leases, annotated): (Vec<&Affected>, Vec<&Affected>) = stale.iter().partition(|lock| lock.subject.kind == "Lease");
    let list = (!leases.is_empty()).then(|| "kubectl get leases -A".to_owned());
    let commands: Vec<String> = list.into_iter().chain(annotated.into_iter().take(MAX_COMMANDS).map(show)).collect();
    let forecast = Forecast::new(ForecastKind::LeaderLocks, weight, says, stale);
    Some(commands.into_iter().fold(forecast, Forecast::with_command))
}

/// The command that shows a lock that is kept in an annotation.
fn show(lock: &Affected) -> String {
    let KeySubject { kind, namespace, name } = &lock.subject;
    let word = |text: &str| quoted(text.as_bytes());
    format!("kubectl get {} --namespace={} -o yaml -- {}", word(&kind.to_lowercase()), word(namespace), word(name))
}

/// Whether a Lease is a lock: nodes and API servers say by theirs that they are alive.
fn is_lock(lease: &Value) -> bool {
    let is_of_node = text(lease, "/metadata/namespace") == NODE_NAMESPACE;
    !is_of_node && lease["metadata"]["labels"][API_SERVER_LABEL].is_null()
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

    #[tokio::test]
    async fn locks_in_annotations_stand_next_to_leases() {
        let annotated = |holder: &str| {
            let record = json!({"holderIdentity": holder, "leaseDurationSeconds": 30}).to_string();
            let annotations = json!({"control-plane.alpha.kubernetes.io/leader": record});
            with(object("ConfigMap", "ingress", "the leader", "c"), json!({"metadata": {"annotations": annotations}}))
        };
        let made_up = MadeUp::two(&[annotated("a"), lock("scheduler", "a", 15)], &[annotated("b"), lock("scheduler", "a", 15)]).await;
        let found = forecasts(&made_up.states().await).await.unwrap();
        assert_eq!((found[0].count, found[0].affected[0].says.as_str()), (1, "is held by a for 30 s; b leads now"));
        assert_eq!(found[0].commands, ["kubectl get configmap --namespace=ingress -o yaml -- 'the leader'"]);
        let made_up = MadeUp::two(&[annotated("a")], &[annotated("a")]).await;
        assert_eq!(forecasts(&made_up.states().await).await.unwrap(), []);
    }
}
