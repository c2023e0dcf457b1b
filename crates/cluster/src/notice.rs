//! What a caller should know in addition to an answer, and the sink that receives it.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use ketcd_audit::{Damage, LogSpan};
use ketcd_history::clock::{Bound, Dated, Moment};
use ketcd_kube::{Release, UnknownField};
use ketcd_store::{EarlierRevisions, Revision, Unsearched};

/// Something that happened while a question was answered.
#[derive(Clone, Debug)]
pub enum Notice {
    /// Damage of the source that was found late.
    Damage(String),
    /// A custom kind is not known because its definition cannot be used.
    Definition {
        /// The definition's key.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The definitions of custom kinds may not be read: only objects of Kubernetes' own kinds are looked at.
    Undefined {
        /// What was refused, in a sentence that names the user.
        problem: String,
    },
    /// What shows the API server's release may not be read.
    ReleaseUnknown {
        /// What was refused.
        problem: String,
        /// The release that is assumed.
        assumed: Release,
    },
    /// What the user may not read is missing.
    Missed {
        /// The resources, sorted.
        resources: Vec<String>,
    },
    /// The moment asked for is before the newest time in objects that have no history.
    MomentBeforeObjects {
        /// The moment.
        asked: Timestamp,
        /// The newest time.
        newest: Timestamp,
    },
    /// The source is the state of one moment and has no history.
    OneMoment,
    /// Values of Secrets are to be shown, and the source is a bundle that does not hold them.
    SecretsNotHeld,
    /// How far the history reaches back, where it does not reach back to the beginning.
    Reach {
        /// The oldest revision whose state can be read.
        oldest: Revision,
        /// When that and the newest were written.
        dated: Option<(Dated, Dated)>,
        /// What became of the revisions before that.
        earlier: EarlierRevisions,
        /// Whether a member's data dir may hold more.
        is_live: bool,
    },
    /// Revisions that a compaction took meanwhile, both ends included.
    Gap {
        /// The first.
        from: Revision,
        /// The last.
        to: Revision,
    },
    /// A live etcd has to read this many revisions at once.
    HeavyHistory {
        /// How many.
        revisions: i64,
    },
    /// Not every revision was searched for a key.
    Unsearched {
        /// The key.
        key: String,
        /// Which were not.
        unsearched: Unsearched,
    },
    /// Something is wrong with the times in the data.
    ClockProblem(String),
    /// Lines of an audit log are not events.
    AuditLines {
        /// The log.
        log: String,
        /// How many are not.
        damaged: u64,
        /// How many of these were events, or parts of one: what they said is lost.
        lost: u64,
        /// The first, with what is wrong with it.
        first: Damage,
    },
    /// An audit log cannot be read to its end.
    AuditLogCut {
        /// The log.
        log: String,
        /// Why.
        problem: String,
    },
    /// Changes of these resources are in the audit logs without bodies, so that a history out of the logs alone does not show them.
    AuditWithoutBodies {
        /// The resources, with how many changes of each.
        resources: Vec<(String, u64)>,
    },
    /// Changes of these resources are in the audit logs without answers, so that objects are worked out from what was sent.
    AuditWithoutAnswers {
        /// The resources, with how many changes of each.
        resources: Vec<(String, u64)>,
    },
    /// The audit logs lack requests of these revisions, both ends included.
    AuditGap {
        /// The first.
        from: Revision,
        /// The last.
        to: Revision,
    },
    /// Changes that no request of the audit logs made, though they would hold it.
    Unexplained {
        /// Their revisions, in order.
        revisions: Vec<Revision>,
    },
    /// The audit logs were written by API servers whose clocks differ by at least this many seconds.
    AuditClocksDiffer(f64),
    /// The audit logs hold no request of the time of this history.
    AuditElsewhere {
        /// From when to when they are; `None` where they hold no request.
        span: Option<LogSpan>,
    },
    /// The audit logs hold no read of objects of these resources.
    AuditWithoutReads {
        /// The resources, sorted.
        resources: Vec<String>,
    },
    /// More requests made no change than are held at once: earlier ones are not shown.
    RequestsLeftOut {
        /// How many are held.
        most: usize,
        /// When the first of them was received.
        from: Timestamp,
    },
    /// Scheduling attempts are missing within these stretches of revisions, both ends included, which cannot be read.
    AttemptsMissing(Vec<(Revision, Revision)>),
    /// Whether a scheduler was restarted is not known: decisions are evaluated as if its cache and its queue had been kept.
    RestartsUnknown(RestartsUnknown),
    /// Values that are no objects or are sealed, and were not decoded.
    NotDecoded {
        /// Why.
        reason: String,
        /// How many.
        count: usize,
        /// The key of the first.
        first: String,
    },
    /// A value is broken.
    Broken {
        /// Its key.
        key: String,
        /// The revision that wrote it.
        revision: i64,
        /// What is wrong with it.
        reason: String,
    },
    /// A field that the release does not know.
    UnknownField {
        /// The object's key; empty where it has none.
        key: String,
        /// The field.
        field: UnknownField,
    },
    /// Fields that the release does not know were left out.
    UnknownFields {
        /// How many fields.
        fields: usize,
        /// In how many objects.
        objects: usize,
    },
    /// A feature gate that changes no scheduling rule.
    GateWithoutEffect(String),
    /// What reading a scheduler's configuration brought up.
    SchedulerConfiguration(String),
    /// How the scheduler was started, as the data show it.
    SchedulerStart(SchedulerStart),
    /// More objects changed than were read.
    ChangesSampled {
        /// How many changed.
        changed: usize,
        /// How many of them were read.
        read: usize,
    },
    /// Members whose data were not compared.
    MembersNotCompared {
        /// How many members were.
        compared: usize,
        /// At which revision.
        revision: Revision,
        /// Why others were not, a clause each.
        left_out: Vec<String>,
    },
    /// The beginning asked for is before the history that can be read.
    SinceBeforeHistory {
        /// What was asked for.
        asked: Bound,
        /// The oldest revision that can be read.
        oldest: Revision,
    },
    /// The history begins within the minute that was asked for.
    BeginsWithinMinute {
        /// What was asked for.
        moment: Moment,
        /// The oldest revision that can be read.
        oldest: Revision,
        /// When the first dated one was written.
        time: Timestamp,
    },
    /// The moment that an age or a time of day was resolved to.
    Resolved {
        /// What was asked for.
        moment: Moment,
        /// When that is.
        time: Timestamp,
        /// The newest revision then.
        revision: Revision,
    },
    /// A moment lies behind the newest one that the source shows.
    AfterTheData {
        /// The moment.
        time: Timestamp,
        /// The newest one that is known.
        newest: Timestamp,
        /// The newest revision.
        revision: Revision,
    },
    /// The source does not change, so its history is watched.
    DoesNotChange {
        /// The oldest revision that can be read.
        oldest: Revision,
    },
    /// Keys that are not of the API server looked at hold objects of another one.
    OtherPrefix {
        /// What its keys begin with.
        prefix: String,
        /// How many objects there are, of those that were looked at.
        objects: usize,
    },
    /// A search of a live etcd found more than can be held at once: keys were not searched.
    KeysNotSearched {
        /// The first of them; none after it was searched either.
        from: String,
    },
    /// A search found more in one object than can be held at once: its later versions were not searched.
    VersionsNotSearched {
        /// The object's key.
        key: String,
        /// The last revision that was searched.
        after: Revision,
    },
    /// Objects whose owner no longer exists are not counted.
    OwnersNotCounted(Incomplete),
}

/// How the scheduler was started, and what of that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedulerStart {
    /// A Pod shows that no configuration was given: the default profile runs.
    Default {
        /// The Pod, as an address.
        pod: String,
    },
    /// The configuration was found, and is used.
    Configured {
        /// A file, or the address of a ConfigMap.
        place: String,
    },
    /// A configuration was given that is not in etcd.
    Elsewhere {
        /// The Pod, as an address.
        pod: String,
        /// The file that it names.
        file: String,
    },
    /// Feature gates of a Pod are used.
    Gates {
        /// The Pod, as an address.
        pod: String,
        /// The value of `--feature-gates`.
        gates: String,
    },
    /// What was found cannot be used.
    Unusable {
        /// A file, or the address of a Pod or ConfigMap.
        place: String,
        /// Why.
        problem: String,
    },
    /// Two configurations were found that differ.
    Differ {
        /// One of them.
        one: String,
        /// The other.
        other: String,
    },
}

/// Why it is not known whether a scheduler was restarted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestartsUnknown {
    /// The lock may not be read.
    Denied {
        /// The lock, as `NAMESPACE/NAME`.
        lock: String,
    },
    /// The lock cannot be read at some revisions, both ends included.
    Unread {
        /// The lock, as `NAMESPACE/NAME`.
        lock: String,
        /// The first.
        from: Revision,
        /// The last.
        to: Revision,
    },
}

/// Why a state may lack objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incomplete {
    /// Printed objects need not be all of a cluster.
    Printed,
    /// The source is damaged.
    Damaged,
}

/// Takes notices as they come; the default drops them.
#[derive(Clone)]
pub struct Notices(Arc<dyn Fn(&Notice) + Send + Sync>);

impl Notices {
    /// Returns a sink that hands each notice to `take`.
    pub fn new(take: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// Takes a notice.
    pub fn note(&self, notice: &Notice) {
        (self.0)(notice);
    }
}

impl Default for Notices {
    fn default() -> Self {
        Self::new(|_| ())
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notices")
    }
}
