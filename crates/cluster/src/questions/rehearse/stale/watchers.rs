//! Watchers and caches, which see revisions go back.
//!
//! A client goes on from the newest revision that it has seen (k8s.io/client-go v0.36.3, `tools/cache/reflector.go`); after a restore the API
//! server has none so new, and the client waits or takes what comes for old, for hours (kubernetes#107457). `etcdutl snapshot restore --bump-revision N
//! --mark-compacted` raises the revisions and ends such watches (etcd v3.6, `etcdutl/snapshot/v3_snapshot.go`; etcd#16029).

use super::super::forecast::{Forecast, ForecastKind};
use super::super::states::States;
use crate::numbers::grouped;
use crate::verify::Weight;

/// Returns by how much revisions go back.
pub(super) fn forecast(states: &States<'_>) -> Option<Forecast> {
    let Some(newest) = &states.newest else {
        states.note("by how much revisions go back: no newer state; raise them by more than was written since the backup");
        return None;
    };
    let back = newest.revision.0 - states.backup.revision.0;
    if back <= 0 {
        return None;
    }
    let says = format!(
        "revisions would go back by {}, from {} to {}, unless the restore raises them: clients that are not restarted miss every change until the \
         cluster has written as many",
        grouped(back),
        newest.revision,
        states.backup.revision
    );
    let headline = "watchers would miss as many changes unless revisions are raised";
    let forecast = Forecast::new(ForecastKind::Watchers, Weight::Medium, says, Vec::new()).with_headline(headline);
    Some(forecast.with_command("etcdctl endpoint status --cluster --write-out=table"))
}

#[cfg(test)]
mod tests {
    use super::super::super::made_up::{MadeUp, node};
    use super::*;

    #[tokio::test]
    async fn revisions_go_back_by_the_difference() {
        let made_up = MadeUp::two(&[node("a", "a")], &[node("a", "a")]).await;
        let found = forecast(&made_up.states().await).unwrap();
        assert!(found.says.starts_with("revisions would go back by 4,998, from 5000 to 2, unless"), "{}", found.says);
        let made_up = MadeUp::alone(&[]).await;
        let states = made_up.states().await;
        assert_eq!((forecast(&states), states.not_known().len()), (None, 1));
    }
}
