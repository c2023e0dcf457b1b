//! CronJobs, whose last run goes back: those that catch up with a run that was made already.
//!
//! k8s.io/kubernetes v1.36.3, `pkg/controller/cronjob/utils.go` (`mostRecentScheduleTime`) and `cronjob_controllerv2.go` (`syncCronJob`): of all
//! runs missed since `status.lastScheduleTime` the controller starts the most recent one alone, however many there are, and none that is older than
//! `startingDeadlineSeconds`. The controller before 1.21 starts none where more than 100 were missed (`getRecentUnmetScheduleTimes`).

use std::collections::HashMap;

use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use ketcd_kube::Release;

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::super::objects::{affected, counted, full_name, is_deleted, release, text, uid};
use super::super::states::States;
use crate::error::Result;
use crate::questions::triage::rules::cron::Schedule;
use crate::questions::triage::rules::cron_job::{is_fixed, is_utc, latest, schedule_of};
use crate::verify::Weight;

/// The first release whose controller starts a run however many were missed.
const FIRST_CONTROLLER_2: Release = Release(21);

/// Over more missed runs than this many the controller of old gave up.
const MAX_MISSED_RUNS: usize = 100;

/// How many runs are counted at most; the most recent of more is not looked for.
const MAX_COUNTED_RUNS: usize = 50_000;

/// The command that shows when each ran last.
const SHOW_COMMAND: &str = "kubectl get cronjobs -A";

/// A run that is started once the controllers are back.
#[derive(Debug, PartialEq, Eq)]
struct CatchUp {
    /// When it was due; `None` where the controller's time zone would have to be known.
    due: Option<Timestamp>,
    /// How many runs were missed, at least.
    missed: usize,
}

/// Returns which CronJobs catch up.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let jobs = states.backup.objects("/cronjobs/").await?;
    let Some(now) = states.asked.now.filter(|_| !jobs.is_empty()) else {
        if !jobs.is_empty() {
            states.note("which CronJobs catch up: the time of the restore is not known");
        }
        return Ok(Vec::new());
    };
    let newest = match &states.newest {
        Some(newest) => newest.objects("/cronjobs/").await?.into_iter().map(|job| (full_name(&job), job)).collect(),
        None => HashMap::new(),
    };
    let (mut twice, mut late) = (Vec::new(), Vec::new());
    for job in &jobs {
        let Some(catch_up) = catches_up(job, now, release(states)) else { continue };
        let later = newest.get(&full_name(job)).filter(|later| uid(later) == uid(job));
        let (is_twice, says) = said(&catch_up, later.and_then(|later| time(later, "/status/lastScheduleTime")), states.newest.is_some());
        let list = if is_twice { &mut twice } else { &mut late };
        list.push(affected(job, says));
    }
    if states.newest.is_none() && !twice.is_empty() {
        states.note("which CronJobs have run since the backup: no newer state");
    }
    let mut forecasts = Vec::new();
    forecasts.extend(again(twice, states.newest.is_some()));
    forecasts.extend(overdue(late));
    Ok(forecasts)
}

/// Whether a run may have been made already, and what is said of it.
fn said(catch_up: &CatchUp, last_run: Option<Timestamp>, is_known: bool) -> (bool, String) {
    let missed = match catch_up.missed {
        1 => "1 run".to_owned(),
        2..=MAX_MISSED_RUNS => format!("{} runs", catch_up.missed),
        _ => format!("more than {MAX_MISSED_RUNS} runs"),
    };
    match (catch_up.due, last_run) {
        (Some(due), Some(last)) if due <= last => {
            (true, format!("would start the run of {due} again; {missed} since the last one it knows"))
        }
        (Some(due), _) if is_known => (false, format!("would start the run of {due}")),
        (Some(due), _) => (true, format!("would start the run of {due}, which may have been made; {missed} since the last one it knows")),
        (None, Some(last)) => (true, format!("would start its last run again if none was due after {last}; its zone's clock is not known")),
        (None, None) => (!is_known, "would start its last run; its zone's clock is not known".to_owned()),
    }
}

fn again(jobs: Vec<Affected>, is_known: bool) -> Option<Forecast> {
    if jobs.is_empty() {
        return None;
    }
    let count = counted(jobs.len(), "CronJob", "CronJobs");
    let would = if is_known { "would make a run again that was made since" } else { "would start a run, which may have been made since" };
    let says = format!("{count} {would}: their last run goes back, and each catches up with the most recent one");
    let headline = format!("{count} {} catch up", if is_known { "would" } else { "may" });
    let forecast = Forecast::new(ForecastKind::CronJobs, Weight::Medium, says, jobs).with_headline(headline);
    Some(forecast.with_command(SHOW_COMMAND))
}

fn overdue(jobs: Vec<Affected>) -> Option<Forecast> {
    if jobs.is_empty() {
        return None;
    }
    let says = format!("{} would start a run that is due and was not made", counted(jobs.len(), "CronJob", "CronJobs"));
    Some(Forecast::new(ForecastKind::CronJobs, Weight::Low, says, jobs).with_command(SHOW_COMMAND))
}

/// Which run the controller starts at a time; `None` where it starts none, or its schedule cannot be read.
fn catches_up(job: &Value, now: Timestamp, release: Release) -> Option<CatchUp> {
    if job["spec"]["suspend"] == true || is_deleted(job) {
        return None;
    }
    let last = time(job, "/status/lastScheduleTime").or_else(|| time(job, "/metadata/creationTimestamp"))?;
    let (zone, schedule) = schedule_of(job)?;
    let deadline = job["spec"]["startingDeadlineSeconds"].as_i64().map(SignedDuration::from_secs);
    let from = deadline.and_then(|deadline| now.checked_sub(deadline).ok()).map_or(last, |oldest| oldest.max(last));
    if !is_utc(zone) && !is_fixed(&schedule) {
        return (latest(&schedule, from)? <= now).then_some(CatchUp { due: None, missed: 1 });
    }
    let catch_up = most_recent(&schedule, from, now)?;
    (release >= FIRST_CONTROLLER_2 || catch_up.missed <= MAX_MISSED_RUNS).then_some(catch_up)
}

fn most_recent(schedule: &Schedule, after: Timestamp, now: Timestamp) -> Option<CatchUp> {
    let mut due = schedule.next(after, Offset::UTC).filter(|due| *due <= now)?;
    let mut missed = 1;
    while let Some(next) = schedule.next(due, Offset::UTC).filter(|next| *next <= now) {
        if missed == MAX_COUNTED_RUNS {
            return Some(CatchUp { due: None, missed });
        }
        (due, missed) = (next, missed + 1);
    }
    Some(CatchUp { due: Some(due), missed })
}

fn time(object: &Value, pointer: &str) -> Option<Timestamp> {
    text(object, pointer).parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::made_up::{MadeUp, NOW, names, object, with};
    use super::*;

    fn job(name: &str, schedule: &str, last: &str) -> Value {
        let spec =
            json!({"schedule": schedule, "timeZone": "Etc/UTC", "jobTemplate": {"spec": {"template": {"spec": {"containers": []}}}}});
        with(object("CronJob", "shop", name, name), json!({"spec": spec, "status": {"lastScheduleTime": last}}))
    }

    fn caught(job: &Value, release: u16) -> Option<(String, usize)> {
        let found = catches_up(job, NOW.parse().unwrap(), Release(release))?;
        Some((found.due.map(|due| due.to_string()).unwrap_or_default(), found.missed))
    }

    #[test]
    fn the_most_recent_run_is_caught_up_with() {
        let hourly = job("a", "30 * * * *", "2026-11-28T08:30:00Z");
        assert_eq!(caught(&hourly, 37), Some(("2026-11-28T11:30:00Z".to_owned(), 3)));
        assert_eq!(caught(&job("a", "30 * * * *", "2026-11-28T11:30:00Z"), 37), None);
        assert_eq!(caught(&with(hourly.clone(), json!({"spec": {"startingDeadlineSeconds": 600}})), 37), None);
        assert_eq!(caught(&with(hourly.clone(), json!({"spec": {"startingDeadlineSeconds": 3600}})), 37).unwrap().1, 1);
        assert_eq!(caught(&with(hourly, json!({"spec": {"suspend": true}})), 37), None);
    }

    #[test]
    fn the_old_controller_gives_up() {
        let minutely = job("a", "* * * * *", "2026-11-28T08:00:00Z");
        assert_eq!(caught(&minutely, 37), Some(("2026-11-28T12:00:00Z".to_owned(), 240)));
        assert_eq!(caught(&minutely, 20), None);
    }

    #[test]
    fn a_zone_of_which_the_clock_is_not_known_leaves_the_time_open() {
        let nightly = with(job("a", "0 3 * * *", "2026-11-25T03:00:00Z"), json!({"spec": {"timeZone": "Pacific/Auckland"}}));
        assert_eq!(caught(&nightly, 37), Some((String::new(), 1)));
    }

    #[tokio::test]
    async fn a_run_that_was_made_since_is_made_again() {
        let backup = [job("again", "0 3 * * *", "2026-11-27T03:00:00Z"), job("due", "50 11 * * *", "2026-11-27T11:50:00Z")];
        let newest = [job("again", "0 3 * * *", "2026-11-28T03:00:00Z"), job("due", "50 11 * * *", "2026-11-27T11:50:00Z")];
        let made_up = MadeUp::two(&backup, &newest).await;
        let found = forecasts(&made_up.states().await).await.unwrap();
        assert_eq!(names(&found, ForecastKind::CronJobs), ["again", "due"]);
        assert_eq!((found[0].weight, found[1].weight), (Weight::Medium, Weight::Low));
        assert!(found[0].affected[0].says.starts_with("would start the run of 2026-11-28T03:00:00Z again"), "{:?}", found[0].affected);
    }

    #[tokio::test]
    async fn a_backup_alone_tells_what_is_due() {
        let made_up = MadeUp::alone(&[job("again", "0 3 * * *", "2026-11-27T03:00:00Z")]).await;
        let states = made_up.states().await;
        let found = forecasts(&states).await.unwrap();
        assert_eq!(found[0].headline, "1 CronJob may catch up");
        assert_eq!(states.not_known().len(), 1);
    }
}
