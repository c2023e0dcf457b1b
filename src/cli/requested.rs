//! `--by`, `--verb`, `--user-agent` and `--requests`: changes whose requests, in the audit logs, are these, and the requests that made none.

use clap::Args;

use super::session::Session;
use super::{Error, Result};
use ketcd_history::audit::{Authorship, Request};

/// Which requests count.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct RequestedArgs {
    /// Only changes that this user made, or may have made, by the audit logs: `alice`, `system:serviceaccount:ci:deployer`; with -f, --user is the
    /// same.
    #[arg(long, value_name = "USER", help_heading = "Selection")]
    by: Option<String>,
    /// Only changes whose request, in the audit logs, has this verb: create, update, patch, delete or deletecollection.
    #[arg(long, value_name = "VERB", help_heading = "Selection")]
    verb: Option<String>,
    /// Only changes whose client, in the audit logs, calls itself so; a part of it is enough.
    #[arg(long, value_name = "TEXT", help_heading = "Selection")]
    user_agent: Option<String>,
    /// Show the requests of the audit logs that changed nothing as well.
    ///
    /// Refused ones, dry runs, writes without effect, and reads; --verb get, list and watch select those.
    #[arg(long, conflicts_with_all = ["selector", "field_selector"])]
    pub requests: bool,
}

impl RequestedArgs {
    /// Takes `--user` as `--by`, unless both are given.
    pub(super) fn take_user(&mut self, user: &mut Option<String>) {
        if self.by.is_none() {
            self.by = user.take();
        }
    }

    /// Whether every change counts.
    pub(super) fn take_all(&self) -> bool {
        self.by.is_none() && self.verb.is_none() && self.user_agent.is_none()
    }

    /// Refuses to ask for what nothing says.
    ///
    /// # Errors
    /// No audit log is read.
    pub(super) fn check(&self, session: &Session) -> Result<()> {
        if session.has_audit_logs() || self.take_all() && !self.requests {
            return Ok(());
        }
        let problem = match self.requests {
            true => "--requests shows requests of audit logs, and none is read",
            false => "--by, --verb and --user-agent select by the requests of audit logs, and none is read",
        };
        Err(Error::new(problem).hint("name the log as well: -f snapshot.db -f audit.log"))
    }

    /// Whether a change counts: one of the requests that may have made it fits.
    pub(super) fn take(&self, request: Option<&Authorship>) -> bool {
        self.take_all() || request.is_some_and(|found| found.requests().iter().any(|request| self.fits(request)))
    }

    /// Whether a request fits.
    pub(super) fn fits(&self, request: &Request) -> bool {
        let is = |wanted: &Option<String>, fits: &dyn Fn(&str) -> bool| wanted.as_deref().is_none_or(fits);
        is(&self.by, &|user| *request.user == *user)
            && is(&self.verb, &|verb| request.verb.as_str() == verb)
            && is(&self.user_agent, &|text| request.user_agent.contains(text))
    }
}
