//! Requests of audit logs in words: who made a change, and of those that made none what they are about and what became of them.

use ketcd_cluster::{OtherRequest, RequestScope};
use ketcd_history::audit::{Authorship, Request, RequestOutcome};
use ketcd_history::{Actor, ActorFrom, Logged};

use super::visible::visible;

/// What a request was about, as a person would type it; `object` names a single object.
pub(super) fn subject(other: &OtherRequest, object: &str) -> String {
    match other.scope {
        RequestScope::Object => visible(object).into_owned(),
        RequestScope::Namespace => visible(&format!("{} -n {}", other.resource, other.request.target.namespace)).into_owned(),
        RequestScope::Cluster => visible(&other.resource).into_owned(),
    }
}

/// Who made a change that an audit log would have, and has not.
pub(crate) const NO_REQUEST: &str = "no request in the audit log";

/// What users of service accounts begin with (apiserver pkg/authentication/serviceaccount/util.go, `ServiceAccountUsernamePrefix`).
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// A user as people read it: a service account by its short name, `sa:kube-system/deployment-controller`.
pub(crate) fn user(name: &str) -> String {
    let account = name.strip_prefix(SERVICE_ACCOUNT).and_then(|account| account.split_once(':'));
    match account.filter(|(namespace, account)| !namespace.is_empty() && !account.is_empty() && !account.contains(':')) {
        Some((namespace, account)) => visible(&format!("sa:{namespace}/{account}")).into_owned(),
        None => visible(name).into_owned(),
    }
}

/// An actor as people read it: a service account by its short name.
pub(crate) fn actor(actor: &Actor) -> String {
    let on = actor.on.as_ref().map(|on| format!(" {}", visible(on))).unwrap_or_default();
    user(&actor.name) + &on
}

/// What an audit log says of who made a change: the user with the program, all users that may have, or that no request did; `None` where no log says.
/// `recorded` is who wrote by the object itself.
pub(crate) fn author(request: Option<&Authorship>, recorded: Option<&Actor>, is_wide: bool) -> Option<String> {
    match request? {
        found @ (Authorship::Exact(_) | Authorship::Attributed(_)) => {
            let request = found.request()?;
            let recorded = recorded.filter(|actor| actor.from == ActorFrom::Recorded).map(ToString::to_string);
            Some(who(request, recorded.as_deref().or(request.manager.as_deref()), is_wide))
        }
        Authorship::Candidates(requests) => {
            let mut users: Vec<String> = requests
                .iter()
                .map(|request| if is_wide { who(request, request.manager.as_deref(), true) } else { user(&request.user) })
                .collect();
            users.sort();
            users.dedup();
            Some(format!("perhaps {}", users.join(" or ")))
        }
        Authorship::Unexplained(_) => Some(NO_REQUEST.to_owned()),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

/// The same of a step.
pub(crate) fn logged(logged: Option<&Logged>, is_wide: bool) -> Option<String> {
    author(Some(&logged?.request), logged?.recorded.as_ref(), is_wide)
}

/// The user, with who impersonated it, or with the program; where all is shown, with the addresses that it came from and the client's own words.
pub(super) fn who(request: &Request, program: Option<&str>, is_wide: bool) -> String {
    let as_whom = request.impersonator.as_ref().map(|who| format!(" (impersonated by {})", user(who)));
    // A component's user names it already.
    let program = program.filter(|program| !program.is_empty() && !request.user.starts_with("system:"));
    let program = program.map(|program| format!(" ({})", visible(program)));
    let who = format!("{}{}", user(&request.user), as_whom.or(program).unwrap_or_default());
    if !is_wide {
        return who;
    }
    let from: Vec<&str> = request.source_ips.iter().map(AsRef::as_ref).collect();
    let from = if from.is_empty() { String::new() } else { format!(", from {}", visible(&from.join(" and "))) };
    let with = if request.user_agent.is_empty() { String::new() } else { format!(", with {}", visible(&request.user_agent)) };
    format!("{who}{from}{with}")
}

/// What was asked for, and what became of it; where the line does not name what it is about, with that.
pub(super) fn what(other: &OtherRequest, is_named: bool) -> String {
    let request = &other.request;
    let subresource = if request.target.subresource.is_empty() { String::new() } else { format!(" {}", request.target.subresource) };
    let of = match other.scope {
        RequestScope::Namespace if !is_named => format!(" of all {} in the namespace", other.resource),
        RequestScope::Cluster if !is_named => format!(" of all {}", other.resource),
        _ => String::new(),
    };
    let selected = if request.selects && other.scope != RequestScope::Object { ", by a selector" } else { "" };
    let became = match other.outcome {
        RequestOutcome::Refused => {
            let reason = request.reason.as_ref().map_or_else(String::new, |reason| format!(" {reason}"));
            format!(" refused: {}{reason}", request.code)
        }
        RequestOutcome::DryRun => ": dry run".to_owned(),
        RequestOutcome::NoChange => " changed nothing".to_owned(),
        RequestOutcome::Unknown => ": what it changed is not known".to_owned(),
        RequestOutcome::Read | RequestOutcome::Answered if request.is_open => ", not ended in the log".to_owned(),
        RequestOutcome::Read | RequestOutcome::Answered => String::new(),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    };
    visible(&format!("{}{subresource}{of}{selected}{became}", request.verb.as_str())).into_owned()
}

/// The sign before the line: refusals stand out.
pub(super) fn sign(outcome: RequestOutcome) -> char {
    match outcome {
        RequestOutcome::Refused => '!',
        RequestOutcome::Unknown => '?',
        _ => '·',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_accounts_have_short_names() {
        for (name, shown) in [
            ("alice", "alice"),
            ("system:serviceaccount:kube-system:deployment-controller", "sa:kube-system/deployment-controller"),
            ("system:node:n1", "system:node:n1"),
            ("system:serviceaccount:ci", "system:serviceaccount:ci"),
            ("system:serviceaccount::deployer", "system:serviceaccount::deployer"),
            ("system:serviceaccount:ci:a:b", "system:serviceaccount:ci:a:b"),
        ] {
            assert_eq!(user(name), shown);
        }
    }
}
