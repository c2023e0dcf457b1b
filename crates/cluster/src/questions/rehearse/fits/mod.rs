//! What will not fit the world outside etcd: volumes, nodes, addresses, callbacks, stored versions, encryption keys.

mod callbacks;
mod encryption;
mod given_twice;
mod nodes;
mod versions;
mod volumes;

use super::forecast::Forecast;
use super::states::States;
use crate::error::Result;

/// Returns what will be.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let mut forecasts = volumes::forecasts(states).await?;
    forecasts.extend(nodes::forecasts(states).await?);
    forecasts.extend(given_twice::forecasts(states).await?);
    forecasts.extend(callbacks::forecasts(states).await?);
    forecasts.extend(versions::forecasts(states).await?);
    forecasts.extend(encryption::forecasts(states).await?);
    Ok(forecasts)
}
