//! The kinds of trouble: how long each may last before it counts, and how much it weighs.

use std::fmt;

use jiff::SignedDuration;

use crate::state::Tone;

macro_rules! trouble_kinds {
    ($($(#[$doc:meta])* $kind:ident: $weight:literal, $patience:literal;)*) => {
        /// What is wrong. [`TroubleKind::as_str`] is the same word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum TroubleKind {
            $($(#[$doc])* $kind,)*
        }

        impl TroubleKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// Returns the word for machines: the kind's name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => stringify!($kind),)*
                }
            }

            /// Returns its weight for each pod that it affects, or for itself if it affects no pod.
            pub fn weight(self) -> u64 {
                match self {
                    $(Self::$kind => $weight,)*
                }
            }

            /// Returns how long it may last before it is a trouble: what comes with every start or rollout ends sooner.
            pub fn patience(self) -> SignedDuration {
                SignedDuration::from_secs(match self {
                    $(Self::$kind => $patience,)*
                })
            }
        }
    };
}

// Kind: weight, seconds that it may last.
trouble_kinds! {
    /// A member raised an alarm: writes are refused, or data differ.
    EtcdAlarm: 1000, 0;
    /// A member's data differ from the others', though they are of the same revision.
    DataDiffers: 900, 0;
    /// A member knows no leader: it takes no writes, and what it holds may be old.
    MemberLeaderless: 300, 0;
    /// Members follow different leaders, or belong to different clusters.
    MembersDisagree: 300, 0;
    /// A member does not answer.
    MemberSilent: 100, 0;
    /// A member has not applied what the leader has.
    MemberBehind: 60, 0;
    /// The database comes near to its quota.
    DatabaseNearQuota: 80, 0;
    /// An object was changed, and the audit log, which would hold the request, holds none: it was written directly to etcd, or the log is incomplete.
    ChangeUnexplained: 250, 0;
    /// A component of the control plane does not renew its lease: nobody schedules, nobody controls.
    ComponentSilent: 200, 0;
    /// Nobody leads a component of the control plane: who did has given the lease back, as a clean shutdown does. Another takes it within seconds.
    LeaseReleased: 3, 5;
    /// The kubelet does not renew its lease or post its status.
    NodeSilent: 8, 0;
    /// The kubelet says that the node is not ready.
    NodeNotReady: 8, 0;
    /// A node is short of memory, disk or processes, or has no network.
    NodePressure: 4, 0;
    /// A container ends again and again.
    CrashLooping: 6, 0;
    /// A container was killed for using too much memory.
    OutOfMemory: 6, 0;
    /// An image cannot be pulled.
    ImageNotPulled: 6, 0;
    /// A container cannot be made or started.
    ContainerNotStarted: 6, 0;
    /// The scheduler finds no node.
    Unschedulable: 4, 0;
    /// The scheduler has chosen a node, for which a volume is still to be made.
    VolumeAwaited: 4, 0;
    /// The scheduler has chosen a node, and a device of a claim is still to be made ready there.
    DeviceAwaited: 4, 0;
    /// No scheduler has tried the pod.
    NotScheduled: 4, 30;
    /// Bound to a node, and its containers do not start.
    NotStarting: 4, 120;
    /// It runs and is not ready.
    NotReady: 4, 60;
    /// Scheduling gates hold it back.
    Gated: 1, 600;
    /// Its deletion is overdue: the grace period is over.
    Terminating: 2, 60;
    /// The kubelet evicted it, and what is left of it was not deleted.
    Evicted: 1, 0;
    /// A pod without a controller failed.
    PodFailed: 4, 0;
    /// Fewer pods are ready than wanted.
    Short: 4, 60;
    /// A rollout makes no progress.
    RolloutStuck: 4, 0;
    /// A rollout has begun and does not end; the pods of before may still do the work.
    RolloutUnfinished: 1, 60;
    /// The API server refuses the pods that a controller makes.
    PodsRefused: 6, 0;
    /// A job failed.
    JobFailed: 4, 0;
    /// A claim has no volume.
    ClaimPending: 2, 60;
    /// A claim has lost its volume.
    ClaimLost: 6, 0;
    /// A volume could not be reclaimed.
    VolumeFailed: 2, 0;
    /// A namespace does not end.
    NamespaceStuck: 4, 60;
    /// A deletion waits for finalizers.
    FinalizersStuck: 2, 60;
    /// Nothing answers for a webhook that requests must pass.
    WebhookUnreachable: 5, 0;
    /// Nothing answers for a webhook that is passed over where it fails.
    WebhookIgnored: 1, 0;
    /// An aggregated API does not answer.
    ApiUnavailable: 8, 0;
    /// A request for a certificate was denied, or could not be signed.
    RequestRefused: 2, 0;
    /// Nobody has approved a request for a certificate.
    RequestPending: 1, 300;
    /// The certificate that a request was answered with is no longer valid.
    CertificateExpired: 1, 0;
    /// A namespace may make no more of something.
    QuotaExhausted: 1, 0;
    /// A quota's counter is higher than what is there, and nothing more may be made.
    QuotaMiscounted: 2, 0;
    /// A volume is attached to one node, and a pod on another one waits for it.
    VolumeHeld: 4, 60;
    /// The volume that a claim names, or that would suit it, is of another claim or not there.
    VolumeTaken: 4, 60;
    /// A claim waits for a node to be chosen, and its pod has one that no scheduler chose.
    ClaimUnplaced: 4, 60;
    /// The deletion of a claim or a volume waits for what uses it.
    ClaimInUse: 2, 60;
    /// Pods are bound to a node that is not there.
    NodeMissing: 8, 0;
    /// A CronJob should have been started and was not.
    CronJobNotStarted: 2, 0;
    /// A Job has no pods, and nothing says why.
    JobWithoutPods: 4, 60;
    /// An autoscaler cannot scale: it knows no metric, or not its target.
    AutoscalerStuck: 2, 300;
    /// A Service selects no pod.
    ServiceSelectsNothing: 2, 120;
    /// Objects may be stored in a version that is not served.
    VersionNotServed: 1, 0;
    /// A StatefulSet waits for a broken pod of an old template, which it does not replace.
    OutdatedPodKept: 4, 60;
    /// An object's owner is in another namespace: the garbage collector does not find it.
    OwnerElsewhere: 2, 0;
    /// An API server that is gone is still among the endpoints.
    ApiServerGone: 8, 0;
    /// Nothing was compacted for long, though enough was written.
    CompactionStalled: 60, 0;
    /// Nothing was compacted for long, and less was written than is kept anyway.
    CompactionAwaited: 1, 0;
}

impl TroubleKind {
    /// Returns how long it is reported if the object does not say that it is over.
    pub fn fades(self) -> Option<SignedDuration> {
        matches!(self, Self::OutOfMemory).then(|| SignedDuration::from_mins(15))
    }

    /// How it strikes the reader: broken, or held up.
    pub fn tone(self) -> Tone {
        match self {
            Self::Unschedulable
            | Self::NotScheduled
            | Self::NotStarting
            | Self::Gated
            | Self::Short
            | Self::RolloutUnfinished
            | Self::ClaimPending
            | Self::RequestPending
            | Self::QuotaExhausted
            | Self::WebhookIgnored
            | Self::LeaseReleased
            | Self::VolumeAwaited
            | Self::DeviceAwaited
            | Self::MemberBehind
            | Self::QuotaMiscounted
            | Self::VolumeTaken
            | Self::ClaimUnplaced
            | Self::JobWithoutPods
            | Self::VersionNotServed
            | Self::CompactionAwaited => Tone::Waiting,
            Self::Terminating | Self::NamespaceStuck | Self::FinalizersStuck | Self::ClaimInUse => Tone::Ending,
            _ => Tone::Bad,
        }
    }

    /// Whether it is of pods.
    pub fn is_of_pods(self) -> bool {
        (Self::CrashLooping..=Self::PodFailed).contains(&self)
    }
}

impl fmt::Display for TroubleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
