//! One thing that a restore would do: a sentence, the objects that it is about, and the commands that show or mend it.

use ketcd_store::Revision;

use crate::kinds::KeySubject;
use crate::verify::Weight;

/// The parts of a forecast, in the order in which they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Chapter {
    /// What is lost: objects and changes since the backup.
    Lost,
    /// What runs and will not be known to the API.
    Runs,
    /// What will not fit the world outside etcd.
    Fits,
    /// What is stale.
    Stale,
}

impl Chapter {
    /// Every chapter.
    pub const ALL: [Self; 4] = [Self::Lost, Self::Runs, Self::Fits, Self::Stale];

    /// Returns the name that machine output has for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Runs => "runs",
            Self::Fits => "fits",
            Self::Stale => "stale",
        }
    }
}

/// What a forecast is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum ForecastKind {
    /// Objects that exist now and not in the backup.
    LostObjects,
    /// Objects that were changed since the backup.
    LostChanges,
    /// Objects that were deleted since the backup and come back.
    Returns,
    /// Pods that run and will be in no API.
    UnknownPods,
    /// Pods that the backup knows under another uid, or on another node.
    OtherPods,
    /// Jobs that run again.
    JobsAgain,
    /// CronJobs that catch up with runs they already made.
    CronJobs,
    /// StatefulSets whose volumes moved on.
    StatefulVolumes,
    /// Pods of the backup that no longer run and would start again.
    PodsReturn,
    /// Pods of the backup whose node is gone.
    PodsOrphaned,
    /// Volumes that the backup has and that are gone or reclaimed.
    VolumesGone,
    /// Volumes that are attached elsewhere.
    VolumesElsewhere,
    /// Volumes made since, whose disks nobody would know.
    VolumesUnknown,
    /// Claims that will hang.
    ClaimsHang,
    /// Nodes that the backup has and that are gone.
    NodesGone,
    /// Nodes that came after the backup.
    NodesUnknown,
    /// Pod ranges, taints or cordons of nodes that differ.
    NodesDiffer,
    /// Node ports and service addresses that are given twice.
    GivenTwice,
    /// Webhooks and APIServices whose servers are not there.
    Callbacks,
    /// Definitions and stored versions that the running API server does not serve.
    StoredVersions,
    /// Encryption keys that are needed.
    EncryptionKeys,
    /// Leases and endpoints of API servers that are gone.
    ApiServers,
    /// Locks of leaders.
    LeaderLocks,
    /// Tokens.
    Tokens,
    /// Certificates and their requests.
    Certificates,
    /// Watchers whose revisions go back.
    Watchers,
    /// Events that are lost or old.
    Events,
}

impl ForecastKind {
    /// Every kind.
    pub const ALL: [Self; 27] = [
        Self::LostObjects,
        Self::LostChanges,
        Self::Returns,
        Self::UnknownPods,
        Self::OtherPods,
        Self::JobsAgain,
        Self::CronJobs,
        Self::StatefulVolumes,
        Self::PodsReturn,
        Self::PodsOrphaned,
        Self::VolumesGone,
        Self::VolumesElsewhere,
        Self::VolumesUnknown,
        Self::ClaimsHang,
        Self::NodesGone,
        Self::NodesUnknown,
        Self::NodesDiffer,
        Self::GivenTwice,
        Self::Callbacks,
        Self::StoredVersions,
        Self::EncryptionKeys,
        Self::ApiServers,
        Self::LeaderLocks,
        Self::Tokens,
        Self::Certificates,
        Self::Watchers,
        Self::Events,
    ];

    /// Returns the name that machine output has for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::LostObjects => "lostObjects",
            Self::LostChanges => "lostChanges",
            Self::Returns => "returns",
            Self::UnknownPods => "unknownPods",
            Self::OtherPods => "otherPods",
            Self::JobsAgain => "jobsAgain",
            Self::CronJobs => "cronJobs",
            Self::StatefulVolumes => "statefulVolumes",
            Self::PodsReturn => "podsReturn",
            Self::PodsOrphaned => "podsOrphaned",
            Self::VolumesGone => "volumesGone",
            Self::VolumesElsewhere => "volumesElsewhere",
            Self::VolumesUnknown => "volumesUnknown",
            Self::ClaimsHang => "claimsHang",
            Self::NodesGone => "nodesGone",
            Self::NodesUnknown => "nodesUnknown",
            Self::NodesDiffer => "nodesDiffer",
            Self::GivenTwice => "givenTwice",
            Self::Callbacks => "callbacks",
            Self::StoredVersions => "storedVersions",
            Self::EncryptionKeys => "encryptionKeys",
            Self::ApiServers => "apiServers",
            Self::LeaderLocks => "leaderLocks",
            Self::Tokens => "tokens",
            Self::Certificates => "certificates",
            Self::Watchers => "watchers",
            Self::Events => "events",
        }
    }

    /// The chapter that tells of it.
    pub fn chapter(self) -> Chapter {
        match self {
            Self::LostObjects | Self::LostChanges | Self::Returns => Chapter::Lost,
            Self::UnknownPods
            | Self::OtherPods
            | Self::JobsAgain
            | Self::CronJobs
            | Self::StatefulVolumes
            | Self::PodsReturn
            | Self::PodsOrphaned => Chapter::Runs,
            Self::VolumesGone
            | Self::VolumesElsewhere
            | Self::VolumesUnknown
            | Self::ClaimsHang
            | Self::NodesGone
            | Self::NodesUnknown
            | Self::NodesDiffer
            | Self::GivenTwice
            | Self::Callbacks
            | Self::StoredVersions
            | Self::EncryptionKeys => Chapter::Fits,
            Self::ApiServers | Self::LeaderLocks | Self::Tokens | Self::Certificates | Self::Watchers | Self::Events => Chapter::Stale,
        }
    }
}

/// One thing that the restore would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// What it is about.
    pub kind: ForecastKind,
    /// How much it matters: high for what is lost for good or does harm, low for what mends itself.
    pub weight: Weight,
    /// What will be, in one sentence without its full stop.
    pub says: String,
    /// What the first screen says of it: `118 pods would run on 14 nodes unknown to the API`; empty where it does not belong there.
    pub headline: String,
    /// The objects, those of people first; of very many the first, `count` says of how many.
    pub affected: Vec<Affected>,
    /// How many objects it is about.
    pub count: usize,
    /// Commands that show or mend it, at least one, one line each, nothing in them unquoted.
    pub commands: Vec<String>,
}

/// One object that a forecast is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affected {
    /// The object.
    pub subject: KeySubject,
    /// Its uid in the state that runs now, or in the backup where it has none now; empty where it has none.
    pub uid: String,
    /// The node that it is about; empty where it is about none.
    pub node: String,
    /// What becomes of it, in a few words.
    pub says: String,
    /// Who made the last change that is lost, as far as managers or a log say so; empty where nothing does.
    pub by: String,
    /// The revision of the newest state that wrote it last; `None` where it is not there.
    pub revision: Option<Revision>,
}

impl Forecast {
    /// How many objects of a forecast are named at most.
    pub const MAX_AFFECTED: usize = 1_000;

    /// A forecast about some objects.
    pub fn new(kind: ForecastKind, weight: Weight, says: impl Into<String>, mut affected: Vec<Affected>) -> Self {
        let count = affected.len();
        affected.truncate(Self::MAX_AFFECTED);
        Self { kind, weight, says: says.into(), headline: String::new(), affected, count, commands: Vec::new() }
    }

    /// The same with its part of the first screen.
    #[must_use]
    pub fn with_headline(self, headline: impl Into<String>) -> Self {
        Self { headline: headline.into(), ..self }
    }

    /// The same with a command.
    #[must_use]
    pub fn with_command(mut self, command: impl Into<String>) -> Self {
        self.commands.push(command.into());
        self
    }

    /// The same with a command where it has none.
    #[must_use]
    pub(super) fn or_command(self, command: impl FnOnce() -> String) -> Self {
        if self.commands.is_empty() { self.with_command(command()) } else { self }
    }
}
