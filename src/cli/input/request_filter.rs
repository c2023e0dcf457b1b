//! `--by`, `--verb`, `--user-agent` and `--requests`: changes whose requests, in the audit logs, are these, and the requests that made none.

use std::cell::RefCell;
use std::collections::BTreeSet;

use clap::Args;

use crate::cli::invocation::invocation;
use crate::cli::outcome::{Error, Result};
use crate::cli::output::note;
use ketcd_cluster::Cluster;
use ketcd_cluster::read::Keys;
use ketcd_history::AttributedChange;
use ketcd_history::audit::{Authorship, Request, RequestOutcome};
use ketcd_history::clock::Clock;
use ketcd_render::command_line::CommandLine;

/// Who makes the changes that no request of a log made.
const NOBODY_NAME: &str = "nobody";

/// Which users' requests count.
#[derive(Args, Clone, Debug, Default)]
pub(in crate::cli) struct ByArgs {
    /// Only changes of these users, by the audit logs: `alice,bob`.
    ///
    /// Changes that they made, or may have made. `sa:ci/deployer` is a service account; `nobody` stands for what was written directly to etcd.
    #[arg(long, value_name = "USER", value_delimiter = ',', help_heading = "Selection")]
    by: Vec<String>,
    /// Only changes whose request, in the audit logs, has this verb: create, update, patch, delete or deletecollection.
    #[arg(long, value_name = "VERB", hide_short_help = true, help_heading = "Selection")]
    verb: Option<String>,
    /// Only changes whose client, in the audit logs, has this user agent; a part of it is enough.
    #[arg(long, value_name = "TEXT", hide_short_help = true, help_heading = "Selection")]
    user_agent: Option<String>,
    /// Those of the users that were seen to have made a change.
    #[arg(skip)]
    seen: RefCell<BTreeSet<String>>,
}

/// Which requests count, and whether those are shown that made no change.
#[derive(Args, Clone, Debug, Default)]
pub(in crate::cli) struct RequestedArgs {
    #[command(flatten)]
    pub by: ByArgs,
    /// Show the requests of the audit logs that changed nothing as well.
    ///
    /// Refused ones, dry runs, writes without effect, and reads; --verb get, list and watch select those.
    #[arg(long, conflicts_with_all = ["selector", "field_selector"])]
    pub requests: bool,
}

impl RequestedArgs {
    /// Takes `--user` as `--by`, unless both are given.
    pub(in crate::cli) fn take_user(&mut self, user: &mut Option<String>) {
        if self.by.by.is_empty() {
            self.by.by.extend(user.take().iter().flat_map(|users| users.split(',')).map(str::to_owned));
        }
    }

    /// Refuses to ask for what nothing says.
    ///
    /// # Errors
    /// No audit log is read.
    pub(in crate::cli) fn check(&self, cluster: &Cluster) -> Result<()> {
        if self.requests && !cluster.has_audit_logs() {
            return Err(without_log("--requests shows requests of audit logs, but none was given"));
        }
        self.by.check(cluster)
    }
}

fn without_log(problem: &str) -> Error {
    Error::new(problem).hint("name the log as well: -f snapshot.db -f audit.log")
}

/// The full name of a user that may be written as it is shown: `sa:ci/deployer`.
fn full_name(user: &str) -> String {
    let account = user.strip_prefix("sa:").and_then(|account| account.split_once('/'));
    account.map_or_else(|| user.to_owned(), |(namespace, name)| format!("system:serviceaccount:{namespace}:{name}"))
}

impl ByArgs {
    /// Whether every change counts.
    pub(in crate::cli) fn take_all(&self) -> bool {
        self.by.is_empty() && self.verb.is_none() && self.user_agent.is_none()
    }

    /// What was asked for, in words that tell it from everything else.
    pub(in crate::cli) fn words(&self) -> Option<String> {
        (!self.take_all()).then(|| format!("{:?} {:?} {:?}", self.by, self.verb, self.user_agent))
    }

    /// The users, as people read them; of a verb and a client what was asked for.
    pub(in crate::cli) fn whom(&self) -> Option<String> {
        let verb = self.verb.iter().map(|verb| format!("--verb {verb}"));
        let client = self.user_agent.iter().map(|client| format!("--user-agent {client}"));
        let words: Vec<String> = self.by.iter().cloned().chain(verb).chain(client).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// Refuses to ask for what nothing says.
    ///
    /// # Errors
    /// No audit log is read.
    pub(in crate::cli) fn check(&self, cluster: &Cluster) -> Result<()> {
        if cluster.has_audit_logs() || self.take_all() {
            return Ok(());
        }
        Err(without_log("--by, --verb and --user-agent select by the requests of audit logs, but none was given"))
    }

    /// Whether a change counts: one of the requests that may have made it fits, or none made it and nobody is asked for.
    pub(in crate::cli) fn take(&self, request: Option<&Authorship>) -> bool {
        let Some(found) = request.filter(|_| !self.take_all()) else { return self.take_all() };
        if let Authorship::Unexplained(why) = found {
            let is_asked = self.by.iter().any(|user| user == NOBODY_NAME) && self.verb.is_none() && self.user_agent.is_none();
            return why.is_bypass() && is_asked;
        }
        let mut takes = false;
        for request in found.requests().iter().filter(|request| self.fits(request)) {
            takes = true;
            self.seen.borrow_mut().insert(request.user.to_string());
        }
        takes
    }

    /// Whether a change counts, as [`Self::take`] says of its request.
    pub(in crate::cli) fn takes(&self, change: &AttributedChange) -> bool {
        self.take(change.request.as_ref())
    }

    pub(in crate::cli) fn fits(&self, request: &Request) -> bool {
        let is = |wanted: &Option<String>, fits: &dyn Fn(&str) -> bool| wanted.as_deref().is_none_or(fits);
        (self.by.is_empty() || self.by.iter().any(|user| *request.user == *full_name(user)))
            && is(&self.verb, &|verb| request.verb.as_str() == verb)
            && is(&self.user_agent, &|text| request.user_agent.contains(text))
    }

    /// Says of each user who made none of the changes what else the logs hold: whoever was only refused did not do nothing. `words` are the
    /// addresses that were asked for.
    pub(in crate::cli) async fn note_others(&self, cluster: &Cluster, (words, keys): (&[String], &Keys), clock: &Clock) -> Result<()> {
        let idle: Vec<&String> =
            self.by.iter().filter(|user| *user != NOBODY_NAME && !self.seen.borrow().contains(&full_name(user))).collect();
        if idle.is_empty() {
            return Ok(());
        }
        let is_idle = |request: &Request| self.fits(request) && idle.iter().any(|user| *request.user == *full_name(user));
        let others = cluster.other_requests(keys, clock, is_idle).await?;
        for user in idle {
            let own = || others.iter().filter(|other| *other.request.user == *full_name(user));
            let refused = own().filter(|other| other.outcome == RequestOutcome::Refused).count();
            note(&match (own().count(), refused) {
                (0, _) => format!("the audit log holds no request of {user} about it"),
                (all, refused) => {
                    let requests = if all == 1 { "request" } else { "requests" };
                    let became = if refused > 0 { format!(", {refused} of them refused") } else { String::new() };
                    format!("{user} made none of the changes, and {all} other {requests}{became}: {}", shown(cluster, words, user))
                }
            });
        }
        Ok(())
    }
}

fn shown(cluster: &Cluster, words: &[String], user: &str) -> CommandLine {
    let line = words.iter().fold(invocation().ketcd("history"), |line, word| line.word(word));
    let line = match (&cluster.options.namespace, cluster.options.all_namespaces) {
        (Some(namespace), _) => line.and("-n").word(namespace),
        (None, true) => line.and("-A"),
        (None, false) if words.is_empty() => line.and("--all"),
        (None, false) => line,
    };
    line.and("--by").word(user).and("--requests")
}
