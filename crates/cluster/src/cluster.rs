//! A source with what is needed to read it: opened once, asked by every question.

use std::sync::{Arc, LazyLock};

use futures_util::TryStreamExt;
use tokio::sync::OnceCell;

use ketcd_kube::{Decoder, KeyResource, Kinds, ObjectPath, RegistryKey, Release, ReleaseEvidence, Scope};
use ketcd_store::{At, Error as StoreError, KeyRange, KeyValue, Listing, Revision, Source, Want};

use crate::audit::logs::Audit;
use crate::clock::dates::Dates;
use crate::error::{DeniedKeys, Error, Result};
use crate::notice::Notice;
use crate::options::{Options, ReleaseChoice};
use crate::problems::Problems;
use crate::reading::history_cache::{HistoryCache, HistoryPass};
use crate::rights::refused::{Refused, unless_denied};
use crate::since::{Since, WindowEnd};

/// The `--etcd-prefix` of nearly every API server.
pub const DEFAULT_PREFIX: &str = "/registry";

/// The `--etcd-prefix` of OpenShift's kube-apiserver.
pub(crate) const OPENSHIFT_PREFIX: &str = "/kubernetes.io";

/// Where custom kinds are defined, below the prefix.
pub const CRD_PATH: &str = "apiextensions.k8s.io/customresourcedefinitions";

static BUILT_IN: LazyLock<Kinds> = LazyLock::new(Kinds::builtin);

/// Returns Kubernetes' own kinds.
pub fn built_in() -> &'static Kinds {
    &BUILT_IN
}

/// One cluster: an open source and how to look at it.
pub struct Cluster {
    /// Where the data comes from.
    pub source: Box<dyn Source>,
    /// How it is looked at, as it was asked for: `at` and `since` say which revisions that came to.
    pub options: Options,
    /// The revision to look at.
    pub at: At,
    /// Since when changes count; `None` where all readable ones do.
    pub since: Option<Since>,
    /// What the moment to look at was resolved to; `None` where a revision or nothing was named.
    pub(crate) until: Option<WindowEnd>,
    /// The API server's release as the data shows it; not determined where one is given.
    pub release_evidence: ReleaseEvidence,
    /// Decodes stored values that are not shown themselves.
    pub decoder: Decoder,
    /// Decodes objects for display and reports problems found in them.
    pub reporting_decoder: Decoder,
    pub(crate) problems: Arc<Problems>,
    pub(crate) prefix: OnceCell<String>,
    kinds: OnceCell<Kinds>,
    /// What the user may not read.
    pub(crate) refused: Refused,
    pub(crate) dates: Arc<Dates>,
    pub(crate) pass: HistoryPass,
    pub(crate) audit: Arc<Audit>,
}

impl Cluster {
    /// Returns the cluster that a source holds. Nothing is read yet: [`Cluster::announce`] says what will be read, [`Cluster::begin`] begins.
    pub fn new(source: Box<dyn Source>, options: Options) -> Self {
        let prefix = options.prefix.as_deref().map(ketcd_kube::normalize_prefix);
        let pass = HistoryPass::default();
        Self {
            source: HistoryCache::before(source, &pass),
            at: options.at,
            since: None,
            until: None,
            release_evidence: ReleaseEvidence::default(),
            decoder: Decoder::new().with_storage(prefix.as_deref(), options.keys.clone()).showing_secrets(options.show_secrets),
            reporting_decoder: Decoder::new(),
            problems: Arc::new(Problems::new(options.report_unknown, options.notices.clone())),
            prefix: OnceCell::new_with(prefix),
            kinds: OnceCell::new(),
            refused: Refused::default(),
            dates: Arc::default(),
            pass,
            audit: Arc::default(),
            options,
        }
    }

    /// Looks at the revision that is the newest now, so that everything is read at one revision while a live etcd changes.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn fix_revision(&mut self) -> Result<()> {
        if self.at == At::Newest {
            self.at = At::Revision(self.source.span().await?.newest);
        }
        Ok(())
    }

    /// Returns the revision looked at: the newest one where none is asked for.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn revision(&self) -> Result<Revision> {
        match self.at {
            At::Newest => Ok(self.source.span().await?.newest),
            At::Revision(revision) => Ok(revision),
        }
    }

    /// Hands a notice to the sink.
    pub fn note(&self, notice: Notice) {
        self.audit.note(&notice);
        self.options.notices.note(&notice);
    }

    /// Returns how many of the values shown so far could not be decoded.
    pub fn not_decoded(&self) -> usize {
        self.problems.not_decoded()
    }

    /// Notes what decoding left out and what was found out late, and returns whether data was damaged. What is shown should be on its way
    /// before: a checksum may have to be waited for.
    pub fn finish(&self) -> bool {
        let late_damage = self.source.late_damage();
        late_damage.iter().for_each(|problem| self.note(Notice::Damage(problem.clone())));
        self.problems.report() || !self.source.damage().is_empty() || !late_damage.is_empty() || self.audit.has_lost_events()
    }

    /// Returns what a key names, as a person would type it: `pod/lab/ubuntu`; the key itself if it is not an object's.
    ///
    /// # Errors
    /// The kinds cannot be read.
    pub async fn name_of(&self, key: &[u8]) -> Result<String> {
        let text = || String::from_utf8_lossy(key).into_owned();
        let (prefix, built_in) = (self.prefix().await?, built_in());
        let mut parsed = RegistryKey::parse(prefix, key, built_in).object();
        // Definitions are read only where a key is of no built-in kind.
        if !matches!(parsed, Some(ObjectPath { resource: KeyResource::Known(_), .. })) {
            parsed = RegistryKey::parse(prefix, key, self.kinds().await?).object();
        }
        let Some(object) = parsed else { return Ok(text()) };
        let kind = match object.resource {
            KeyResource::Known(kind) => kind.singular_resource(),
            KeyResource::Unlisted { group, plural } => format!("{plural}.{group}"),
        };
        Ok(object.namespace.map_or_else(|| format!("{kind}/{}", object.name), |namespace| format!("{kind}/{namespace}/{}", object.name)))
    }

    /// Returns the prefix of the API server's keys: the one given, else `/registry` where it holds keys, else the one found in the keys.
    ///
    /// # Errors
    /// The source cannot be read, or holds several clusters.
    pub async fn prefix(&self) -> Result<&str> {
        self.prefix.get_or_try_init(|| self.find_prefix()).await.map(String::as_str)
    }

    async fn find_prefix(&self) -> Result<String> {
        // A namespace that every cluster has is found without counting all keys.
        let mut is_denied = false;
        let usual = [KeyRange::key(format!("{DEFAULT_PREFIX}/namespaces/default")), KeyRange::prefix(format!("{DEFAULT_PREFIX}/"))];
        for keys in usual {
            match unless_denied(self.source.first(keys, self.at, Want::Keys, 1).await)? {
                None => is_denied = true,
                Some(found) if found.is_empty() => {}
                Some(_) => return Ok(DEFAULT_PREFIX.to_owned()),
            }
        }
        if is_denied {
            self.refused.assume_prefix();
            return Ok(DEFAULT_PREFIX.to_owned());
        }
        let all = self.range(KeyRange::all(), Want::Keys).await?;
        let keys: Vec<_> = all.entries.map_ok(|entry| entry.key).try_collect().await?;
        let found = ketcd_kube::find_prefixes(keys.iter().map(AsRef::as_ref));
        let mut prefixes = found.into_iter();
        match (prefixes.next(), prefixes.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Ok(DEFAULT_PREFIX.to_owned()),
            (Some(first), Some(second)) => Err(Error::SeveralPrefixes([first, second].into_iter().chain(prefixes).collect())),
        }
    }

    /// The kinds of this cluster: Kubernetes' own and those its CustomResourceDefinitions define at the revision looked at.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn kinds(&self) -> Result<&Kinds> {
        self.kinds.get_or_try_init(|| self.find_kinds()).await
    }

    /// Returns the definitions of custom kinds as they are stored at a revision.
    ///
    /// # Errors
    /// The source cannot be read, or the user may not read them.
    pub async fn definitions(&self, at: At) -> Result<Vec<KeyValue>> {
        let keys = KeyRange::prefix(format!("{}/{CRD_PATH}/", self.prefix().await?));
        Ok(self.source.range(keys, at, Want::Values).await?.entries.try_collect().await?)
    }

    /// Whether OpenShift's own kinds are among the cluster's: its kube-apiserver has another prefix than others, and printed objects may be of them.
    pub(crate) async fn has_openshift(&self) -> Result<bool> {
        if !self.source.is_one_moment() {
            return Ok(self.prefix().await? == OPENSHIFT_PREFIX);
        }
        let found = self.source.first(KeyRange::prefix("/openshift.io/"), At::Newest, Want::Keys, 1).await?;
        Ok(!found.is_empty())
    }

    async fn find_kinds(&self) -> Result<Kinds> {
        let mut kinds = Kinds::builtin();
        if self.has_openshift().await? {
            kinds.add_openshift();
        }
        let definitions = match self.definitions(self.at).await {
            Err(Error::Source(StoreError::Denied { keys, problem, .. })) => {
                self.refused.definitions(DeniedKeys { keys, problem });
                return Ok(kinds);
            }
            found => found?,
        };
        for entry in definitions {
            match self.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
                ketcd_kube::Body::Object(definition) => {
                    if !kinds.add_crd(&definition) {
                        let key = String::from_utf8_lossy(&entry.key).into_owned();
                        self.note(Notice::Definition { key, problem: "not a CustomResourceDefinition".to_owned() });
                    }
                }
                ketcd_kube::Body::Opaque(opaque) => {
                    self.note(Notice::Definition { key: String::from_utf8_lossy(&entry.key).into_owned(), problem: opaque.reason });
                }
            }
        }
        Ok(kinds)
    }

    /// Whether the history of the source is readable from the cluster's first revision on, given the oldest readable one. A state of one moment
    /// has none.
    pub fn is_complete_from(&self, oldest: Revision) -> bool {
        oldest.0 <= 1 && !self.source.is_one_moment()
    }

    /// The keys alive at the revision looked at.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn range(&self, keys: KeyRange, want: Want) -> Result<Listing<'_>> {
        Ok(self.source.range(keys, self.at, want).await?)
    }

    /// The API server's release: `--release`, or the one found in the data.
    pub fn release(&self) -> Release {
        match self.options.release {
            ReleaseChoice::Given(release) => release,
            ReleaseChoice::Found | ReleaseChoice::Any => self.release_evidence.release().unwrap_or_default(),
        }
    }

    /// The namespace of namespaced kinds: `-n`, or `default`.
    pub fn namespace(&self) -> &str {
        self.options.namespace.as_deref().unwrap_or("default")
    }

    /// Where objects without a namespace of their own are looked for: `-A`, `-n`, or `default`.
    pub fn scope(&self) -> Scope {
        if self.options.all_namespaces { Scope::All } else { Scope::Namespace(self.namespace().to_owned()) }
    }

    /// The error for a kind that is not built in, if the user may not read the definitions of others.
    pub fn undefined(&self, word: &str) -> Option<Error> {
        let refusal = self.refused.definitions.get()?.clone();
        Some(Error::Undefined { word: word.to_owned(), refusal })
    }
}
