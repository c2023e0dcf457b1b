//! One request to an API server, as far as it says who asked for what, when, and with what result.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

/// What a request asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verb {
    /// `create`; of `pods/binding` and `pods/eviction` too.
    Create,
    /// `update`.
    Update,
    /// `patch`, server-side apply among them.
    Patch,
    /// `delete` of one object.
    Delete,
    /// `deletecollection`.
    DeleteCollection,
    /// `get`.
    Get,
    /// `list`.
    List,
    /// `watch`.
    Watch,
    /// Any other: of a proxy, of paths that are not resources.
    Other,
}

impl Verb {
    /// Reads the audit log's word.
    pub fn parse(word: &str) -> Self {
        const VERB_WORDS: [Verb; 8] =
            [Verb::Create, Verb::Update, Verb::Patch, Verb::Delete, Verb::DeleteCollection, Verb::Get, Verb::List, Verb::Watch];
        VERB_WORDS.into_iter().find(|verb| verb.as_str().eq_ignore_ascii_case(word)).unwrap_or(Self::Other)
    }

    /// The audit log's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Other => "other",
        }
    }

    /// Whether it asks for a change.
    pub fn writes(self) -> bool {
        matches!(self, Self::Create | Self::Update | Self::Patch | Self::Delete | Self::DeleteCollection)
    }
}

/// How much the policy has the log hold of a request (`audit.k8s.io`, `Level`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Who asked for what, and the result.
    #[default]
    Metadata,
    /// The body of the request too.
    Request,
    /// The body of the answer too.
    RequestResponse,
}

/// What a request was about (`objectRef`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestTarget {
    /// The API group; empty for the core group.
    pub group: Arc<str>,
    /// The version of the group that was asked for; empty where the log does not say.
    pub version: Arc<str>,
    /// The resource, such as `pods`.
    pub resource: Arc<str>,
    /// The namespace; empty if there is none, and for namespaces themselves.
    pub namespace: Arc<str>,
    /// The object's name; empty for a collection, and for a creation whose name the API server made and the log does not hold.
    pub name: Box<str>,
    /// The subresource; empty for the object itself.
    pub subresource: Arc<str>,
}

/// The bodies of a request, as far as the log holds them: JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bodies {
    /// What was sent.
    pub sent: Option<Box<str>>,
    /// What was answered.
    pub answered: Option<Box<str>>,
}

/// A revision that is one: 0 and nothing mean that none is asked for, and no etcd reaches the largest numbers.
pub(crate) fn revision(text: &str) -> Option<i64> {
    text.parse().ok().filter(|revision: &i64| (1..=i64::MAX >> 1).contains(revision))
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The API server's identifier of it; empty where the log has none.
    pub audit_id: Box<str>,
    /// What it asked for.
    pub verb: Verb,
    /// Whom it acted as: the impersonated user, where there is one.
    pub user: Arc<str>,
    /// Who impersonated that user.
    pub impersonator: Option<Arc<str>>,
    /// The client's program, in its own words.
    pub user_agent: Arc<str>,
    /// The addresses it came from, the client's first.
    pub source_ips: Vec<Arc<str>>,
    /// What it was about.
    pub target: RequestTarget,
    /// When the API server received it.
    pub received: Timestamp,
    /// When the API server had answered it.
    pub completed: Timestamp,
    /// How far these times may be off, where the log does not hold both.
    pub doubt: SignedDuration,
    /// Whether its answer has begun and not ended, as of a watch that continues; `completed` is when it began.
    pub is_open: bool,
    /// The HTTP status; 0 where the log only says that it succeeded.
    pub code: u16,
    /// Why it was refused, in Kubernetes' word such as `Forbidden`; `None` where it was not, or the log does not say.
    pub reason: Option<Arc<str>>,
    /// Whether it only tried out what would happen (`dryRun`).
    pub dry_run: bool,
    /// The field manager that it names in its URI, else the first part of its user agent, as the API server takes it; `None` where the log does not hold
    /// the URI.
    pub manager: Option<Arc<str>>,
    /// How much of it the log holds.
    pub level: Level,
    /// The revision of etcd that its answer names (`metadata.resourceVersion` of one object).
    pub names_revision: Option<i64>,
    /// The revision that it was based on: an update of another one is refused.
    pub based_on: Option<i64>,
    /// The identifier of its object, where it or its answer names one.
    pub uid: Option<Box<str>>,
    /// The names of what a `deletecollection` deleted, where the log holds its answer.
    pub deleted: Option<Box<[Box<str>]>>,
    /// Whether it was answered with a `Status` in the place of an object: a `delete` that was removed the object at once.
    pub answers_status: bool,
    /// Whether it asked for a part of a collection, by a selector.
    pub selects: bool,
    /// The bodies, where [`Reader::with_bodies`](crate::Reader::with_bodies) reads.
    pub bodies: Option<Box<Bodies>>,
}

/// Subresources that change no object: what is created under them is an answer, or a connection.
const WITHOUT_EFFECT: [&str; 6] = ["token", "exec", "attach", "portforward", "proxy", "log"];

/// Resources that are questions: what is created is never stored.
const UNSTORED_RESOURCES: [&str; 6] = [
    "tokenreviews",
    "subjectaccessreviews",
    "selfsubjectaccessreviews",
    "localsubjectaccessreviews",
    "selfsubjectrulesreviews",
    "selfsubjectreviews",
];

impl Request {
    /// Whether it was granted.
    pub fn succeeded(&self) -> bool {
        self.code == 0 || (200..300).contains(&self.code)
    }

    /// Whether it may have changed something: reads, refused requests, dry runs and questions have not.
    pub fn may_change(&self) -> bool {
        self.verb.writes()
            && self.succeeded()
            && !self.dry_run
            && !WITHOUT_EFFECT.contains(&&*self.target.subresource)
            && !UNSTORED_RESOURCES.contains(&&*self.target.resource)
    }

    /// The earliest and the latest moment at which it can have changed something, in microseconds.
    pub fn interval(&self) -> (i64, i64) {
        let doubt = i64::try_from(self.doubt.as_micros()).unwrap_or(i64::MAX / 4);
        (self.received.as_microsecond().saturating_sub(doubt), self.completed.as_microsecond().saturating_add(doubt))
    }
}
