//! CronJobs that should have been started and were not.
//!
//! Kubernetes 1.36: pkg/controller/cronjob/utils.go, `mostRecentScheduleTime`: the time counts from `status.lastScheduleTime`, or from the creation; more
//! than 100 missed times are reported as `TooManyMissedTimes`, and the job is started all the same (the controller of before 1.21 started it no more, and
//! recorded `FailedNeedsStart`). cronjob_controllerv2.go, `syncCronJob`: with `Forbid`, a run that is still active holds up the next one;
//! `updateCronJob`: a schedule that was changed waits for its next time. One that cannot be parsed starts nothing, and an Event says so.

use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};

use super::cron::Schedule;
use super::events::Warning;
use super::facts::{Facts, Kind};
use super::object::{items, text, time};
use super::rule_finding::RuleFinding;
use crate::error::Result;

const CRON_JOBS: &Kind = &Kind { path: "cronjobs", namespaced: true, fields: None };

/// How late a run may be.
const MAX_START_DELAY: SignedDuration = SignedDuration::from_mins(10);
/// How late it may be where one that goes on forbids it.
const MAX_FORBIDDEN_DELAY: SignedDuration = SignedDuration::from_hours(24);
/// By how much a zone's clock may be set forward.
const SUMMER_TIME_SHIFT: SignedDuration = SignedDuration::from_hours(1);

/// The Events that say why.
const EVENT_REASONS: &[&str] = &[
    "FailedNeedsStart",
    "FailedCreate",
    "FailedGet",
    "FailedDelete",
    "InvalidSchedule",
    "UnparseableSchedule",
    "UnParseableCronJobSchedule",
    "UnknownTimeZone",
    "MissSchedule",
];
/// Those of them that say that the schedule cannot be read.
const UNREADABLE_SCHEDULE_REASONS: &[&str] = &["InvalidSchedule", "UnparseableSchedule", "UnParseableCronJobSchedule"];
/// The Event that comes with them and says only how long it lasts.
const REMARK_REASONS: &[&str] = &["TooManyMissedTimes"];

pub(super) async fn find(facts: &mut Facts<'_>) -> Result<Vec<RuleFinding>> {
    // Printed objects were not printed before the newest time in them: what was late by then is late.
    let now = if facts.now.is_none() && facts.may_be_part() { facts.cluster.newest_time().await? } else { facts.now };
    let Some(now) = now else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for job in facts.all(CRON_JOBS).await?.iter() {
        let active = items(job, "/status/active").next().map(|active| text(active, "/name").to_owned());
        let holds = active.filter(|_| text(job, "/spec/concurrencyPolicy") == "Forbid");
        let may_be_late = if holds.is_some() { MAX_FORBIDDEN_DELAY } else { MAX_START_DELAY };
        let Some(due) = overdue(job, now, may_be_late) else {
            found.extend(unreadable(facts, job).await?);
            continue;
        };
        let subject = Subject::of(job);
        let about = ("CronJob", subject.namespace.as_str(), subject.name.as_str());
        let warning = match facts.warning(about, EVENT_REASONS).await? {
            None => facts.warning(about, REMARK_REASONS).await?,
            reason => reason,
        };
        let never = if time(job, "/status/lastScheduleTime").is_none() { "never" } else { "" };
        let mut about = vec![text(job, "/spec/schedule").to_owned(), holds.unwrap_or_default(), never.to_owned()];
        about.extend(zone_matters(job).then(|| "latest".to_owned()));
        let trouble = Trouble {
            since: Some(due),
            reason: warning.as_ref().map(|warning| warning.reason.clone()),
            message: warning.map(|warning| warning.message),
            about,
            ..Trouble::new(TroubleKind::CronJobNotStarted)
        };
        found.push(RuleFinding::new(subject, trouble));
    }
    Ok(found)
}

/// That a schedule is one that neither the controller can read, by its Event, nor ketcd: no time is due then.
async fn unreadable(facts: &mut Facts<'_>, job: &Value) -> Result<Option<RuleFinding>> {
    if is_off(job) || schedule_of(job).is_some() {
        return Ok(None);
    }
    let subject = Subject::of(job);
    let warning = facts.warning(("CronJob", &subject.namespace, &subject.name), UNREADABLE_SCHEDULE_REASONS).await?;
    let is_of = |warning: &Warning| warning.subject.uid.is_empty() || subject.uid.is_empty() || warning.subject.uid == subject.uid;
    let Some(warning) = warning.filter(is_of) else { return Ok(None) };
    let about = [text(job, "/spec/schedule"), "", "", "unreadable"].map(str::to_owned).to_vec();
    let (since, reason, message) = (warning.first, Some(warning.reason), Some(warning.message));
    Ok(Some(RuleFinding::new(subject, Trouble { since, reason, message, about, ..Trouble::new(TroubleKind::CronJobNotStarted) })))
}

/// Whether nobody is to start a CronJob.
fn is_off(job: &Value) -> bool {
    job["spec"]["suspend"] == true || !job["metadata"]["deletionTimestamp"].is_null()
}

/// Since when a run is overdue in every zone that the schedule may be meant for; `None` where it is not.
fn overdue(job: &Value, now: Timestamp, may_be_late: SignedDuration) -> Option<Timestamp> {
    let last = time(job, "/status/lastScheduleTime").or_else(|| time(job, "/metadata/creationTimestamp")).filter(|_| !is_off(job))?;
    // The schedule may be newer than the last run, or resumed since.
    let last = written(job).map_or(last, |written| last.max(written));
    let (zone, schedule) = schedule_of(job)?;
    let due = if is_utc(zone) {
        schedule.next(last, Offset::UTC)?
    } else {
        let due = latest(&schedule, last)?;
        let due = if schedule.is_nightly() { latest(&schedule, due.checked_add(SUMMER_TIME_SHIFT).ok()?)? } else { due };
        if is_fixed(&schedule) { due } else { due.checked_add(SUMMER_TIME_SHIFT).ok()? }
    };
    let is_late = now.duration_since(due) > may_be_late;
    is_late.then_some(due)
}

/// The zone that a CronJob names, empty where it names none, and its schedule.
pub(crate) fn schedule_of(job: &Value) -> Option<(&str, Schedule)> {
    let text = text(job, "/spec/schedule");
    // From 1.22 until 1.29 a new schedule could name a zone itself; one that does keeps it.
    let (zone, text) = match text.split_once(' ').filter(|(zone, _)| zone.starts_with("TZ=") || zone.starts_with("CRON_TZ=")) {
        Some((zone, text)) => (zone.split_once('=').map_or("", |(_, zone)| zone), text),
        None => (self::text(job, "/spec/timeZone"), text),
    };
    Some((zone, Schedule::parse(text)?))
}

/// Whether a zone has no offset from UTC.
pub(crate) fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "Etc/UTC")
}

/// Whether a schedule means the same times in every zone.
pub(crate) fn is_fixed(schedule: &Schedule) -> bool {
    schedule.is_hourly() || matches!(schedule, Schedule::Every(_))
}

/// Whether a run was due at the time that is said at the latest, and may have been before, as the zone's clock is not known.
fn zone_matters(job: &Value) -> bool {
    schedule_of(job).is_some_and(|(zone, schedule)| !is_utc(zone) && !is_fixed(&schedule))
}

/// When somebody wrote more than its status last, where the object says so; before 1.22 entries do not say that they are of the status.
fn written(job: &Value) -> Option<Timestamp> {
    let entries = items(job, "/metadata/managedFields").filter(|entry| text(entry, "/subresource").is_empty());
    entries.filter_map(|entry| time(entry, "/time")).max()
}

/// The latest time at which it may be due next, in whatever zone: kube-controller-manager's own is not in the data.
pub(crate) fn latest(schedule: &Schedule, last: Timestamp) -> Option<Timestamp> {
    let offsets = (-12 * 4..=14 * 4).filter_map(|quarter| Offset::from_seconds(quarter * 15 * 60).ok());
    let due: Option<Vec<Timestamp>> = offsets.map(|offset| schedule.next(last, offset)).collect();
    due?.into_iter().max()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(spec: Value, last: &str, now: &str, wanted: Option<&str>) {
        let job = json!({"metadata": {"creationTimestamp": "2026-08-16T06:00:00Z"}, "spec": spec, "status": {"lastScheduleTime": last}});
        let found = overdue(&job, now.parse().unwrap(), MAX_START_DELAY).map(|due| due.to_string());
        assert_eq!(found.as_deref(), wanted, "{spec}");
    }

    #[test]
    fn a_run_is_late_when_it_is_in_every_zone() {
        let five = || json!({"schedule": "*/5 * * * *"});
        check(five(), "2026-11-28T09:00:00Z", "2026-11-28T09:16:00Z", Some("2026-11-28T09:05:00Z"));
        check(five(), "2026-11-28T09:00:00Z", "2026-11-28T09:14:00Z", None);
        check(json!({"schedule": "*/5 * * * *", "suspend": true}), "2026-11-21T09:00:00Z", "2026-11-28T10:16:00Z", None);
        let utc = json!({"schedule": "0 8 * * *", "timeZone": "Etc/UTC"});
        check(utc.clone(), "2026-11-28T08:00:00Z", "2026-11-29T08:09:00Z", None);
        check(utc, "2026-11-28T08:00:00Z", "2026-11-29T08:11:00Z", Some("2026-11-29T08:00:00Z"));
        // Monday in Auckland is Sunday in UTC: without the zone a week has to pass, and no more.
        let weekly = json!({"schedule": "0 8 * * 1", "timeZone": "Pacific/Auckland"});
        check(weekly.clone(), "2026-11-22T19:00:00Z", "2026-11-29T20:09:00Z", None);
        check(weekly, "2026-11-22T19:00:00Z", "2026-11-29T20:11:00Z", Some("2026-11-29T20:00:00Z"));
        // A night's hour may have been left out once.
        let nightly = json!({"schedule": "30 2 * * *"});
        check(nightly.clone(), "2026-11-22T02:30:00Z", "2026-11-23T12:00:00Z", None);
        check(nightly, "2026-11-22T02:30:00Z", "2026-11-25T12:00:00Z", Some("2026-11-24T04:30:00Z"));
    }

    #[test]
    fn without_the_zones_clock_the_time_is_the_latest() {
        let of = |schedule: &str, zone: &str| zone_matters(&json!({"spec": {"schedule": schedule, "timeZone": zone}}));
        assert_eq!([of("0 8 * * *", ""), of("0 8 * * *", "Pacific/Auckland"), of("30 2 * * 1", "")], [true; 3]);
        assert_eq!([of("0 8 * * *", "Etc/UTC"), of("TZ=UTC 0 8 * * *", ""), of("*/5 * * * *", ""), of("@every 1h", "")], [false; 4]);
    }

    #[test]
    fn a_schedule_counts_from_when_it_was_written() {
        let due = |subresource: &str, now: &str| {
            let written = json!([{"manager": "kubectl", "time": "2026-11-28T09:02:00Z", "subresource": subresource}]);
            let job = json!({"metadata": {"managedFields": written}, "spec": {"schedule": "*/5 * * * *"},
                "status": {"lastScheduleTime": "2026-11-21T09:00:00Z"}});
            overdue(&job, now.parse().unwrap(), MAX_START_DELAY).map(|due| due.to_string())
        };
        assert_eq!(due("", "2026-11-28T09:14:00Z"), None);
        assert_eq!(due("", "2026-11-28T09:16:00Z").as_deref(), Some("2026-11-28T09:05:00Z"));
        assert_eq!(due("status", "2026-11-28T09:14:00Z").as_deref(), Some("2026-11-21T09:05:00Z"));
    }
}
