//! What runs and will not be known: pods by node, Jobs that run again, CronJobs that catch up.

mod cron_jobs;
mod jobs;
mod pods;
mod stateful_sets;

use super::forecast::Forecast;
use super::states::States;
use crate::error::Result;

/// Returns what will be.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let mut forecasts = pods::forecasts(states).await?;
    forecasts.extend(jobs::forecasts(states).await?);
    forecasts.extend(cron_jobs::forecasts(states).await?);
    forecasts.extend(stateful_sets::forecasts(states).await?);
    Ok(forecasts)
}
