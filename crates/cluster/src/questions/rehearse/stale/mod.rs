//! What is stale in a restored cluster: addresses of API servers, locks, tokens, certificates, watchers, events.

mod annotation_locks;
mod api_servers;
mod certificates;
mod events;
mod lock;
mod locks;
mod oauth_tokens;
mod secrets;
mod tokens;
mod watchers;

use super::forecast::Forecast;
use super::states::States;
use crate::error::Result;

/// Returns what will be.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let mut forecasts = api_servers::forecasts(states).await?;
    forecasts.extend(locks::forecasts(states).await?);
    forecasts.extend(tokens::forecasts(states).await?);
    forecasts.extend(oauth_tokens::forecasts(states));
    forecasts.extend(certificates::forecasts(states).await?);
    forecasts.extend(watchers::forecast(states));
    forecasts.extend(events::forecast(states).await?);
    Ok(forecasts)
}
