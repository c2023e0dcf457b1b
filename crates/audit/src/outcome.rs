//! What became of a request that made no change.

use crate::request::{Request, Verb};

/// What became of a request that made none of the changes that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum RequestOutcome {
    /// It was refused, or failed.
    Refused,
    /// It was granted as a dry run.
    DryRun,
    /// Objects, or what belongs to one such as its log, were read.
    Read,
    /// It was granted, and such a request never changes an object: a connection (`exec`, `proxy`), a token, a review.
    Answered,
    /// It was granted, and the object stayed as it was.
    NoChange,
    /// It was granted, and whether it changed anything is not known.
    Unknown,
}

/// HTTP statuses from here on are refusals and failures.
const MIN_REFUSAL_STATUS: u16 = 400;

/// Subresources through which a client talks to a container or a node.
const CONNECT_SUBRESOURCES: [&str; 4] = ["exec", "attach", "portforward", "proxy"];

impl Request {
    /// Returns what became of it, where it cannot have changed an object; `None` where it may have.
    pub fn without_change(&self) -> Option<RequestOutcome> {
        if self.code >= MIN_REFUSAL_STATUS {
            return Some(RequestOutcome::Refused);
        }
        if self.may_change() {
            return None;
        }
        let is_read =
            matches!(self.verb, Verb::Get | Verb::List | Verb::Watch) && !CONNECT_SUBRESOURCES.contains(&&*self.target.subresource);
        Some(match (is_read, self.dry_run) {
            (true, _) => RequestOutcome::Read,
            (false, true) => RequestOutcome::DryRun,
            (false, false) => RequestOutcome::Answered,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Reader;

    #[test]
    fn refusals_dry_runs_reads_and_connections_are_told_apart() {
        let outcome = |verb: &str, subresource: &str, uri: &str, code: u16| {
            let event = json!({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": "a", "stage": "ResponseComplete",
                "verb": verb, "requestURI": uri, "user": {"username": "u"}, "stageTimestamp": "2026-11-24T18:37:19Z",
                "objectRef": {"resource": "pods", "namespace": "shop", "name": "web", "subresource": subresource},
                "responseStatus": {"code": code, "reason": if code == 403 { "Forbidden" } else { "" }}});
            let mut found = None;
            let (_, ended) = Reader::default().read(&mut event.to_string().as_bytes(), &mut |request| {
                assert_eq!(request.reason.as_deref(), (code == 403).then_some("Forbidden"));
                found = Some(request.without_change());
            });
            ended.unwrap();
            found.unwrap()
        };
        for (verb, subresource, uri, code, wanted) in [
            ("delete", "", "/x", 403, Some(RequestOutcome::Refused)),
            ("get", "", "/x", 403, Some(RequestOutcome::Refused)),
            ("update", "", "/x?dryRun=All", 200, Some(RequestOutcome::DryRun)),
            ("update", "", "/x?dryRun=All", 409, Some(RequestOutcome::Refused)),
            ("get", "log", "/x", 200, Some(RequestOutcome::Read)),
            ("watch", "", "/x", 200, Some(RequestOutcome::Read)),
            ("get", "exec", "/x", 101, Some(RequestOutcome::Answered)),
            ("create", "exec", "/x", 101, Some(RequestOutcome::Answered)),
            ("create", "token", "/x", 201, Some(RequestOutcome::Answered)),
            ("update", "", "/x", 200, None),
            ("delete", "", "/x", 200, None),
        ] {
            assert_eq!(outcome(verb, subresource, uri, code), wanted, "{verb} {subresource} {code}");
        }
    }
}
