//! What the roles and bindings of the moment looked at let an impersonated user ask.

use ketcd_kube::rbac::Action;

use crate::data::{App, Moment};
use crate::request::Asker;
use crate::wire::{Result, Status};

/// Refuses what the policy of a moment does not allow an impersonated user.
pub(crate) async fn authorize(app: &App, moment: Moment, asker: &Asker, action: &Action) -> Result<()> {
    let decision = app.policy(moment).await?.decide(&asker.user, action);
    if decision.is_allowed {
        return Ok(());
    }
    let reason: Vec<String> = Some(decision.reason).filter(|reason| !reason.is_empty()).into_iter().chain(decision.doubts).collect();
    Err(Status::forbidden_action(&asker.user.name, action, &reason.join("; ")))
}
