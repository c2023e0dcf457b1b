//! The sentence for each notice.

use ketcd_cluster::{Incomplete, Notice, RestartsUnknown, SchedulerStart};
use ketcd_history::clock::Bound;
use ketcd_store::{EarlierRevisions, Revision, Unsearched};

use super::duration::{length, seconds_between};
use super::watch::gap_words;

/// The first few of some names, and how many more there are.
fn listed(mut names: impl ExactSizeIterator<Item = String>) -> String {
    const MAX_NAMES_LISTED: usize = 6;
    let first: Vec<String> = names.by_ref().take(MAX_NAMES_LISTED).collect();
    let more = if names.len() > 0 { format!(" and {} more", names.len()) } else { String::new() };
    format!("{}{more}", first.join(", "))
}

/// Says where scheduling attempts are missing.
fn attempts_missing(stretches: &[(Revision, Revision)]) -> String {
    let named = listed(stretches.iter().map(|(from, to)| if from == to { from.to_string() } else { format!("{from} to {to}") }));
    format!("revisions {named} cannot be read; attempts within them are missing")
}

/// Names resources, and counts their changes together.
fn counted(resources: &[(String, u64)]) -> (String, u64, &'static str) {
    let mut by_count: Vec<&(String, u64)> = resources.iter().collect();
    by_count.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named = listed(by_count.iter().map(|(resource, _)| resource.clone()));
    let count = resources.iter().map(|(_, count)| count).sum();
    (named, count, if count == 1 { "change" } else { "changes" })
}

/// Says which changes no request made.
fn unexplained(revisions: &[Revision]) -> String {
    let named = listed(revisions.iter().map(|revision| format!("r{revision}")));
    format!(
        "no request in the audit logs made {named}, though they hold the requests of other such changes: they were written directly to etcd, or their requests were not logged"
    )
}

/// Returns what a notice says.
#[expect(clippy::too_many_lines, reason = "one arm for each notice")]
pub fn words(notice: &Notice) -> String {
    match notice {
        Notice::Damage(problem) | Notice::ClockProblem(problem) | Notice::SchedulerConfiguration(problem) => problem.clone(),
        Notice::SchedulerStart(start) => start_words(start),
        Notice::AuditLines { log, damaged: 1, lost, first } => {
            let lost = if *lost > 0 { "; its event is lost" } else { "; it is left out" };
            format!("{log}: line {} {}{lost}", first.line, first.problem)
        }
        Notice::AuditLines { log, damaged, lost, first } => {
            let lost = if *lost > 0 { format!(", {lost} of them events or parts of one") } else { String::new() };
            format!("{log}: {damaged} lines are left out{lost}; the first is line {}, which {}", first.line, first.problem)
        }
        Notice::AuditLogCut { log, problem } => format!("{log}: cannot be read to its end: {problem}"),
        Notice::AuditWithoutBodies { resources } => {
            let (named, count, plural) = counted(resources);
            format!("{named} are logged without bodies: {count} {plural} to them cannot be shown")
        }
        Notice::AuditWithoutAnswers { resources } => {
            let (named, count, plural) = counted(resources);
            format!("{named} are logged without answers: {count} {plural} to them are derived from the requests alone")
        }
        Notice::AuditGap { from, to } => {
            format!(
                "the audit logs lack the requests of revisions {from} to {to}: ketcd cannot tell who made these changes, and draws no conclusion from that"
            )
        }
        Notice::Unexplained { revisions } => unexplained(revisions),
        Notice::AuditClocksDiffer(seconds) => {
            format!(
                "the audit logs were written by API servers whose clocks differ by at least {seconds:.1} s: requests are matched that much less closely"
            )
        }
        Notice::AuditElsewhere { span: None } => "the audit logs hold no finished request".to_owned(),
        Notice::AuditElsewhere { span: Some(span) } => {
            format!("the audit logs hold no request of this history: they are from {} to {}", span.from, span.to)
        }
        Notice::AuditWithoutReads { resources } => {
            format!(
                "the audit logs hold no get, list or watch of {}: their policy leaves reads out, or there were none",
                resources.join(", ")
            )
        }
        Notice::RequestsLeftOut { most, from } => {
            format!(
                "only the newest {most} requests without a change are shown, from {from} on: select others with --until, --by or --verb"
            )
        }
        Notice::Definition { key, problem } => format!("{key}: {problem}"),
        Notice::Undefined { problem } => {
            format!("{problem}, which define custom kinds: only objects of built-in kinds are shown")
        }
        Notice::ReleaseUnknown { problem, assumed } => format!(
            "{problem}, which shows the API server's release: objects are printed as release {assumed} would; choose another with --release"
        ),
        Notice::Missed { resources } => format!("not shown, no permission to read: {}", resources.join(", ")),
        Notice::MomentBeforeObjects { asked, newest } => {
            format!("--at {asked} is before the newest time in the objects, {newest}: it only changes the ages shown")
        }
        Notice::OneMoment => "API objects show one moment: the past is known only from the times in them".to_owned(),
        Notice::SecretsNotHeld => "the bundle does not hold the values of Secrets: --show-secrets shows what stands in for them".to_owned(),
        Notice::Reach { oldest, dated, earlier, is_live } => {
            let reach = dated.map(|(oldest, newest)| format!(" {}", length(seconds_between(oldest, newest)))).unwrap_or_default();
            let more = if *is_live { "; a member's data dir, read with -f, may hold more" } else { "" };
            let shown = match earlier {
                EarlierRevisions::Compacted => "were compacted; only what could be recovered is shown",
                EarlierRevisions::NotRecorded => "were not recorded; only what the first recorded state still held is shown",
                EarlierRevisions::LeftOut => "were left out of the bundle; only what its first state still held is shown",
                #[cfg(not(ketcd_exhaustive))]
                _ => unreachable!("of another version"),
            };
            format!("the whole history reaches back{reach} to revision {oldest}; earlier revisions {shown}{more}")
        }
        Notice::Gap { from, to } => gap_words(*from, *to),
        Notice::HeavyHistory { revisions } => format!(
            "this reads {revisions} revisions of history at once, and etcd may need several times their size in memory; a snapshot, read with -f, costs \
             it less"
        ),
        Notice::Unsearched { key, unsearched: Unsearched { from, to, longest } } => format!(
            "{key}: not every revision from {from} to {to} was searched; ketcd may have missed it if it existed for {longest} revisions or fewer"
        ),
        Notice::AttemptsMissing(stretches) => attempts_missing(stretches),
        Notice::RestartsUnknown(RestartsUnknown::Denied { lock }) => format!(
            "no permission to read lease {lock}: ketcd cannot tell whether the scheduler restarted, and evaluates decisions as if it had not"
        ),
        Notice::RestartsUnknown(RestartsUnknown::Unread { lock, from, to }) => format!(
            "lease {lock} cannot be read at revisions {from} to {to}: ketcd cannot tell whether the scheduler restarted, \
             and evaluates decisions as if it had not"
        ),
        Notice::NotDecoded { reason, count, first } => {
            let which = if *count == 1 { first.clone() } else { format!("{count} values, the first {first},") };
            format!("{which} not decoded: {reason}")
        }
        Notice::Broken { key, revision, reason } => format!("{key} at revision {revision} is broken: {reason}"),
        Notice::UnknownField { key, field } if key.is_empty() => field.to_string(),
        Notice::UnknownField { key, field } => format!("{key}: {field}"),
        Notice::UnknownFields { fields, objects } => {
            let s = if *fields == 1 { "" } else { "s" };
            let objects = if *objects == 1 { "one object".to_owned() } else { format!("{objects} objects") };
            format!("{fields} unknown field{s} in {objects} left out; --unknown shows them")
        }
        Notice::GateWithoutEffect(name) => format!("feature gate {name} affects no scheduling rule that ketcd knows"),
        Notice::ChangesSampled { changed, read } => format!("{changed} objects changed; details were read for {read} of them"),
        Notice::MembersNotCompared { compared, revision, left_out } => not_compared(*compared, *revision, &left_out.join("; ")),
        Notice::SinceBeforeHistory { asked, oldest } => {
            let asked = match asked {
                Bound::Revision(revision) => format!("revision {revision}"),
                Bound::Moment(moment) => moment.to_string(),
            };
            format!("{asked} is before the readable history: beginning with revision {oldest}, the oldest")
        }
        Notice::BeginsWithinMinute { moment, oldest, time } => {
            format!(
                "the readable history begins within the minute of {moment}, at {}: this is revision {oldest}, the oldest",
                time.strftime("%H:%M:%S")
            )
        }
        Notice::Resolved { moment, time, revision } => format!("{moment} is {}, revision {revision}", time.strftime("%Y-%m-%dT%H:%M:%SZ")),
        Notice::AfterTheData { time, newest, revision } => {
            let [time, newest] = [time, newest].map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ"));
            format!("{time} is after the data, which end at {newest}, revision {revision}: what happened since then is not known")
        }
        Notice::DoesNotChange { oldest } => format!("this source does not change: showing its history from revision {oldest}"),
        Notice::OtherPrefix { prefix, objects } => {
            let s = if *objects == 1 { " of another API server is" } else { "s of another API server are" };
            format!("{objects} object{s} below {prefix}: --prefix {prefix} shows what is there")
        }
        Notice::KeysNotSearched { from } => format!(
            "more was found than is held at once: {from} and all keys after it were not searched; name kinds, or use -n, --in or a longer pattern, or search \
             a snapshot with -f"
        ),
        Notice::VersionsNotSearched { key, after } => format!(
            "more was found in {key} than is held at once: its versions after revision {after} were not searched; --since {after} searches them"
        ),
        Notice::OwnersNotCounted(why) => {
            let why = match why {
                Incomplete::Printed => "printed objects may not be the whole cluster",
                Incomplete::Damaged => "their owners may be in the damaged part",
            };
            format!("objects whose owner no longer exists are not counted: {why}")
        }
    }
}

fn start_words(start: &SchedulerStart) -> String {
    match start {
        SchedulerStart::Default { pod } => {
            format!("{pod} starts kube-scheduler without --config: it runs the default profile, without extenders")
        }
        SchedulerStart::Configured { place } => {
            format!("decisions are evaluated with the scheduler's configuration in {place}; --scheduler-config replaces it")
        }
        SchedulerStart::Elsewhere { pod, file } => {
            format!("{pod} starts kube-scheduler with --config={file}, which is not in etcd; give that file with --scheduler-config")
        }
        SchedulerStart::Gates { pod, gates } => format!("feature gates as {pod} sets them: {gates}; --feature-gates replaces them"),
        SchedulerStart::Unusable { place, problem } => format!("{place} is not used: {problem}"),
        SchedulerStart::Differ { one, other } => {
            format!("the scheduler's configurations in {one} and {other} differ, so neither is used; name one with --scheduler-config")
        }
    }
}

fn not_compared(compared: usize, revision: Revision, why: &str) -> String {
    if compared >= 2 {
        return format!("not all members were compared: {why}");
    }
    let command = format!("etcdctl endpoint hashkv --cluster --rev {revision}");
    format!("members were not compared: {why}. Voting members can be compared with `{command}`, by root")
}
