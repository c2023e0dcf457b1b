//! `rehearse`: what a restore of a backup would do, computed from the backup and the newest state that still exists.

mod asked;
mod done;
mod fits;
mod forecast;
mod lost;
#[cfg(test)]
mod made_up;
mod objects;
#[cfg(test)]
mod recorded;
mod rehearsal;
mod runs;
mod source;
mod sources;
mod stale;
mod states;
mod way;

pub use asked::RehearseAsked;
pub use done::{Outcome, Scored, compare};
pub use forecast::{Affected, Chapter, Forecast, ForecastKind};
pub use rehearsal::Rehearsal;
pub use source::RehearsedSource;
pub use way::{Distribution, Step, Way};

use crate::cluster::Cluster;
use crate::error::Result;
use states::States;

/// Says what a restore of `backup` would do. `over` are the newest states that still exist, such as the members' disks, a running etcd or a later backup;
/// without one the backup alone tells.
///
/// # Errors
/// A source cannot be read.
pub async fn rehearse(backup: &Cluster, over: &[&Cluster], asked: &RehearseAsked) -> Result<Rehearsal> {
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
