//! The newest time that an object carries: of objects without a history the only evidence of when they were read.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// Members of metadata, of spec of a Lease, of status, and of an Event that show when something happened. Expiries and the like are in the future.
const OF_LEASE: [&str; 2] = ["acquireTime", "renewTime"];
const OF_STATUS: [&str; 6] =
    ["startTime", "completionTime", "lastScheduleTime", "lastSuccessfulTime", "lastScaleTime", "lastPhaseTransitionTime"];
const OF_CONDITION: [&str; 4] = ["lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime", "lastProbeTime"];
const OF_EVENT: [&str; 3] = ["eventTime", "firstTimestamp", "lastTimestamp"];
const CONTAINER_STATUS_LISTS: [&str; 3] = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];

/// Returns the newest of the times at which something happened to an object, as it says itself.
pub fn newest_stamp(object: &Value) -> Option<Timestamp> {
    let (metadata, status) = (&object["metadata"], &object["status"]);
    let mut newest = Newest::default();
    newest.see(&metadata["creationTimestamp"]);
    each(&metadata["managedFields"], |entry| newest.see(&entry["time"]));
    newest.see_deletion(metadata);
    newest.see_all(status, &OF_STATUS);
    each(&status["conditions"], |condition| newest.see_all(condition, &OF_CONDITION));
    for containers in CONTAINER_STATUS_LISTS {
        each(&status[containers], |container| {
            for state in [&container["state"], &container["lastState"]] {
                newest.see(&state["running"]["startedAt"]);
                newest.see_all(&state["terminated"], &["startedAt", "finishedAt"]);
            }
        });
    }
    match object["kind"].as_str() {
        Some("Lease") => newest.see_all(&object["spec"], &OF_LEASE),
        Some("Event") => {
            newest.see_all(object, &OF_EVENT);
            newest.see(&object["series"]["lastObservedTime"]);
        }
        _ => {}
    }
    newest.0
}

#[derive(Default)]
struct Newest(Option<Timestamp>);

impl Newest {
    fn see(&mut self, stamp: &Value) {
        self.0 = self.0.max(stamp.as_str().and_then(|stamp| stamp.parse().ok()));
    }

    fn see_all(&mut self, of: &Value, members: &[&str]) {
        members.iter().for_each(|member| self.see(&of[*member]));
    }

    /// deletionTimestamp is when the grace ends, not when deletion was asked for.
    fn see_deletion(&mut self, metadata: &Value) {
        let end: Option<Timestamp> = metadata["deletionTimestamp"].as_str().and_then(|stamp| stamp.parse().ok());
        let grace = SignedDuration::from_secs(metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0));
        self.0 = self.0.max(end.and_then(|end| end.checked_sub(grace).ok()));
    }
}

fn each(list: &Value, see: impl FnMut(&Value)) {
    list.as_array().into_iter().flatten().for_each(see);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_happened_counts_and_what_lies_ahead_does_not() {
        let newest = |object: Value| newest_stamp(&object).map(|time| time.to_string());
        let pod = json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z", "annotations": {"until": "2031-01-01T00:00:00Z"},
            "deletionTimestamp": "2026-01-01T01:00:00Z", "deletionGracePeriodSeconds": 3000},
            "status": {"notAfter": "2030-01-01T00:00:00Z", "conditions": [{"lastTransitionTime": null}, {"lastTransitionTime": "2026-01-01T00:00:05Z"}]}});
        assert_eq!(newest(pod).as_deref(), Some("2026-01-01T00:10:00Z"));
        let lease = json!({"kind": "Lease", "spec": {"renewTime": "2026-01-01T00:00:07.123456Z"}, "metadata": {"creationTimestamp": null}});
        assert_eq!(newest(lease).as_deref(), Some("2026-01-01T00:00:07.123456Z"));
        assert_eq!(
            newest(json!({"kind": "Event", "series": {"lastObservedTime": "2026-01-01T00:00:09Z"}})).as_deref(),
            Some("2026-01-01T00:00:09Z")
        );
        assert_eq!(newest(json!({"metadata": {"creationTimestamp": "yesterday"}})), None);
    }
}
