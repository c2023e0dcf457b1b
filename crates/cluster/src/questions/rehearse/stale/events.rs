//! Events: those since the backup are lost, those of the backup come back.
//!
//! They expire with their leases, an hour after they were written by default (k8s.io/kubernetes v1.36.3, `pkg/registry/core/event/storage/storage.go`),
//! counted from the restart; where the restore did not keep leases, they stay.

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::super::objects::counted;
use super::super::states::States;
use crate::error::Result;
use crate::numbers::grouped;
use crate::verify::Weight;

/// Returns what becomes of Events.
pub(super) async fn forecast(states: &States<'_>) -> Result<Option<Forecast>> {
    let Some(newest) = &states.newest else { return Ok(None) };
    let (mut lost, mut back) = (Vec::new(), 0);
    for differing in states.differing_below("/events/") {
        match &differing.after {
            Some(entry) if lost.len() < Forecast::MAX_AFFECTED => {
                let subject = newest.cluster.subject_of(&entry.key).await?;
                let says = if differing.before.is_some() { "goes back to what it was" } else { "is lost" };
                lost.push(Affected { subject, says: says.to_owned(), revision: Some(entry.mod_revision), ..Affected::default() });
            }
            Some(_) => lost.push(Affected::default()),
            None => back += 1,
        }
    }
    if lost.is_empty() && back == 0 {
        return Ok(None);
    }
    let comes_back = match back {
        0 => String::new(),
        back => format!(", and {} deleted since would be back until their leases have run out", grouped(back)),
    };
    let says = format!(
        "{} since the backup would be lost or go back{comes_back}: save what the post-mortem needs before",
        counted(lost.len(), "Event", "Events")
    );
    let forecast = Forecast::new(ForecastKind::Events, Weight::Low, says, lost);
    Ok(Some(forecast.with_command(states.of_newest("events -A"))))
}

#[cfg(test)]
mod tests {
    use super::super::super::made_up::{MadeUp, names, object};
    use super::*;

    #[tokio::test]
    async fn events_are_counted() {
        let event = |name: &str| object("Event", "shop", name, name);
        let made_up = MadeUp::two(&[event("old"), event("same")], &[event("new"), event("same")]).await;
        let found = forecast(&made_up.states().await).await.unwrap().unwrap();
        let wanted =
            "1 Event since the backup would be lost or go back, and 1 deleted since would be back until their leases have run out: ";
        assert!(found.says.starts_with(wanted), "{}", found.says);
        assert_eq!(names(&[found], ForecastKind::Events), ["new"]);
    }
}
