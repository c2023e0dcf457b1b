//! Requests that made no change, in words: what they are about, who made them, and what became of them.

use ketcd_cluster::{OtherRequest, RequestScope};
use ketcd_history::audit::{Request, RequestOutcome};

use super::visible::visible;

/// What a request was about, as a person would type it; `object` names a single object.
pub(super) fn subject(other: &OtherRequest, object: &str) -> String {
    match other.scope {
        RequestScope::Object => visible(object).into_owned(),
        RequestScope::Namespace => visible(&format!("{} -n {}", other.resource, other.request.target.namespace)).into_owned(),
        RequestScope::Cluster => visible(&other.resource).into_owned(),
    }
}

/// The user, with who impersonated it, or with the program.
pub(super) fn who(request: &Request, program: Option<&str>) -> String {
    let as_whom = request.impersonator.as_ref().map(|who| format!(" (impersonated by {})", visible(who)));
    // A component's user names it already.
    let program = program.filter(|program| !program.is_empty() && !request.user.starts_with("system:"));
    let program = program.map(|program| format!(" ({})", visible(program)));
    format!("{}{}", visible(&request.user), as_whom.or(program).unwrap_or_default())
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
