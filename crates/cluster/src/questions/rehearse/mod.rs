//! `rehearse`: what a restore of a backup would do, computed from the backup and the newest state that still exists.

mod done;
mod extraction;
mod fits;
mod forecast;
mod lost;
#[cfg(test)]
mod made_up;
mod objects;
#[cfg(test)]
mod recorded;
mod rehearsal;
mod rehearse_options;
mod runs;
mod source;
mod sources;
mod stale;
mod states;
mod way;

pub use done::{Outcome, Scored, compare};
pub use forecast::{Affected, Chapter, Forecast, ForecastKind};
pub use rehearsal::Rehearsal;
pub use rehearse_options::{MAX_HELD_BYTES, MAX_STATES, RehearseAsked};
pub use source::{RehearsedSource, is_restorable};
pub use way::{Distribution, Step, Way};

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use states::States;

/// Says what a restore of `backup` would do. `over` are the newest states that still exist, such as the members' disks, a running etcd or a later backup;
/// without one the backup alone tells.
///
/// # Errors
/// A source cannot be read, `backup` is not a backup of an etcd, there are more than [`MAX_STATES`] others, or more than `asked` allows differs in a running
/// etcd.
pub async fn rehearse(backup: &Cluster, over: &[&Cluster], asked: &RehearseAsked) -> Result<Rehearsal> {
    check_states(over.len())?;
    source::check_backup(&backup.source.status().await?)?;
    let sources = source::ranked(backup, over, asked).await?;
    let newest = source::newest(over).await?;
    let states = States::of(backup, newest, asked).await?;
    let mut forecasts = lost::forecasts(&states).await?;
    forecasts.extend(runs::forecasts(&states).await?);
    forecasts.extend(fits::forecasts(&states).await?);
    forecasts.extend(stale::forecasts(&states).await?);
    forecasts.sort_by_key(|forecast| (forecast.kind.chapter(), std::cmp::Reverse(forecast.weight), forecast.kind));
    let way = way::way(&states).await?;
    Ok(Rehearsal {
        lost_revisions: states.newest.as_ref().map(|newest| (newest.revision.0 - states.backup.revision.0).max(0)),
        is_of_one_cluster: states.is_of_one_cluster,
        not_known: states.not_known(),
        sources,
        forecasts,
        way,
    })
}

/// Refuses more states than can be compared.
///
/// # Errors
/// There are more than [`MAX_STATES`].
pub fn check_states(count: usize) -> Result<()> {
    if count <= MAX_STATES {
        return Ok(());
    }
    Err(Error::Invalid {
        problem: format!("{count} states are too many to hold a backup against: at most {MAX_STATES}"),
        hint: Some("name those that may be the newest; ketcd verify FILE… ranks files, the newest whole one first".to_owned()),
    })
}
