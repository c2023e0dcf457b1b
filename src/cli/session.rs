//! A source with what is needed to read it: opened once, used by every command.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use futures_util::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::OnceCell;

use ketcd_history::clock::{Moment, newest_stamp};
use ketcd_kube::{self, Decoder, Kinds, ObjectPath, RegistryKey, Release, ReleaseEvidence, Resource};
use ketcd_store::etcd::EtcdSource;
use ketcd_store::load::{Cache, Limits};
use ketcd_store::shell::quoted;
use ketcd_store::{self, At, KeyRange, Listing, Revision, Source, Want};

use super::args::GlobalArgs;
use super::attended::{Attended, Interrupt};
use super::dating::Dates;
use super::encryption::{self, Encryption};
use super::error::Refusal;
use super::output::{self, Format};
use super::problems::Problems;
use super::rights::{DEFINITIONS, Refused, unless_denied};
use super::{Error, Outcome, Result, cautions, connection, progress};

/// The `--etcd-prefix` of nearly every API server.
pub(super) const DEFAULT_PREFIX: &str = "/registry";

/// Kubernetes' own kinds.
pub(super) static BUILT_IN: OnceLock<Kinds> = OnceLock::new();

/// An open source and the flags that say how to look at it.
pub(super) struct Session {
    /// Where the data comes from.
    pub source: Box<dyn Source>,
    /// Whether the user broke the reading off.
    pub interrupt: Interrupt,
    /// The flags of every command.
    pub args: GlobalArgs,
    /// What `-o` asks for.
    pub format: Format,
    /// The revision to look at, from `--rev` or `--at`.
    pub at: At,
    /// The API server's release as the data shows it; not determined where `--release` is given.
    pub release_evidence: ReleaseEvidence,
    /// Decodes stored values that are not shown themselves.
    pub decoder: Decoder,
    /// Decodes objects for display and reports problems found in them.
    pub reporting_decoder: Decoder,
    problems: Arc<Problems>,
    /// What `--encryption-config` names.
    pub encryption: Encryption,
    prefix: OnceCell<String>,
    kinds: OnceCell<Kinds>,
    /// What the user may not read.
    pub(super) refused: Refused,
    pub(super) dates: Dates,
    /// The newest time that objects read from files of objects carry.
    pub(super) newest_stamp: Option<Timestamp>,
}

impl Session {
    /// Opens the source that the flags name and resolves `--rev`. Columns look the same in every release, so for them alone
    /// (`columns_only`) none is looked for in the data.
    pub(super) async fn open(args: &GlobalArgs, columns_only: bool) -> Result<Self> {
        let mut session = Self::new(args)?;
        session.begin(columns_only).await?;
        Ok(session)
    }

    /// Opens the source that the flags name; nothing is read of a live etcd yet.
    ///
    /// # Errors
    /// Flags that cannot be used, a file that cannot be read.
    pub(super) fn new(args: &GlobalArgs) -> Result<Self> {
        let format = args.format()?;
        let at = revision_asked(args)?;
        moment_asked(args)?;
        let encryption = encryption::open(args.encryption_config.as_deref())?;
        if let Some(config) = args.encryption_config.as_deref().filter(|_| !args.unattended) {
            cautions::of_key("--encryption-config", config);
        }
        // A live etcd may ask for a password first.
        if let ([first, more @ ..], false) = (&args.files[..], args.unattended || args.names_live_etcd()) {
            let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            progress::start(format!("opening {first}{more}"));
        }
        let (source, newest_stamp) = open_source(args)?;
        if !args.unattended {
            progress::start("waiting for etcd".to_owned());
        }
        let interrupt = Interrupt::default();
        Ok(Self {
            source: Box::new(Attended::new(source, interrupt.clone())),
            interrupt,
            args: args.clone(),
            format,
            at,
            release_evidence: ReleaseEvidence::default(),
            decoder: below(Decoder::new(), args).with_key_ring(encryption.keys.clone()).showing_secrets(args.show_secrets),
            reporting_decoder: Decoder::new(),
            problems: Arc::new(Problems::new(args.unknown)),
            encryption,
            prefix: OnceCell::new_with(args.prefix.as_deref().map(ketcd_kube::normalize_prefix)),
            kinds: OnceCell::new(),
            refused: Refused::default(),
            dates: Dates::default(),
            newest_stamp,
        })
    }

    /// Finds the release that objects are printed as, and the revision that `--at` means.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(super) async fn begin(&mut self, columns_only: bool) -> Result<()> {
        let moment = moment_asked(&self.args)?;
        let decoder = self.decoder.clone();
        self.decoder = match self.args.release {
            Some(release) => decoder.with_release(release),
            None if columns_only => decoder,
            None => {
                self.release_evidence = self.find_release().await?;
                decoder.with_release_found(self.release_evidence.release().unwrap_or_default())
            }
        };
        self.reporting_decoder = self.decoder.clone().with_observer(self.problems.clone());
        if self.source.is_one_moment() {
            self.check_one_moment(moment).await?;
        } else if let Some(moment) = moment {
            self.at = At::Revision(self.revision_at(moment).await?);
        }
        Ok(())
    }

    /// Looks at the revision that is the newest now, so that everything is read of one revision while a live etcd goes on.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(super) async fn fix_revision(&mut self) -> Result<()> {
        if self.at == At::Newest {
            self.at = At::Revision(self.source.span().await?.newest);
        }
        Ok(())
    }

    /// How many values could not be decoded so far, of those that are shown.
    pub(super) fn not_decoded(&self) -> usize {
        self.problems.not_decoded()
    }

    /// Says what decoding left out and what was found out beside it, and returns how the command ended: damaged, if data was. What the
    /// command shows should be on its way before: a checksum may have to be waited for.
    pub(super) fn end(&self, outcome: Outcome) -> Outcome {
        let late_damage = self.source.late_damage();
        late_damage.iter().for_each(|problem| output::note(problem));
        let is_damaged = self.problems.report() || !self.source.damage().is_empty() || !late_damage.is_empty();
        if is_damaged { Outcome::Damaged } else { outcome }
    }

    /// What a key stands for, as a person would type it: `pod/lab/ubuntu`; the key itself where it is no object's.
    ///
    /// # Errors
    /// The kinds cannot be read.
    pub(super) async fn name_of(&self, key: &[u8]) -> Result<String> {
        let text = || String::from_utf8_lossy(key).into_owned();
        let (prefix, built_in) = (self.prefix().await?, BUILT_IN.get_or_init(Kinds::builtin));
        let mut parsed = RegistryKey::parse(prefix, key, built_in).object();
        // Definitions are read only where a key is of no built-in kind.
        if !matches!(parsed, Some(ObjectPath { resource: Resource::Known(_), .. })) {
            parsed = RegistryKey::parse(prefix, key, self.kinds().await?).object();
        }
        let Some(object) = parsed else { return Ok(text()) };
        let kind = match object.resource {
            Resource::Known(kind) => kind.singular_resource(),
            Resource::Unlisted { group, plural } => format!("{plural}.{group}"),
        };
        Ok(object.namespace.map_or_else(|| format!("{kind}/{}", object.name), |namespace| format!("{kind}/{namespace}/{}", object.name)))
    }

    /// The prefix of the API server's keys: `--prefix`, else `/registry` where it holds keys, else the one found in the keys.
    pub(super) async fn prefix(&self) -> Result<&str> {
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
            (Some(first), Some(second)) => Err(Error::new("several clusters share this etcd").hint(format!(
                "choose one with --prefix {} or --prefix {}",
                quoted(first.as_bytes()),
                quoted(second.as_bytes())
            ))),
        }
    }

    /// The kinds of this cluster: Kubernetes' own and those its CustomResourceDefinitions define at the revision looked at.
    pub(super) async fn kinds(&self) -> Result<&Kinds> {
        self.kinds.get_or_try_init(|| self.find_kinds()).await
    }

    async fn find_kinds(&self) -> Result<Kinds> {
        let mut kinds = Kinds::builtin();
        let prefix = self.prefix().await?;
        if prefix == "/kubernetes.io" {
            kinds.add_openshift();
        }
        let definitions = KeyRange::prefix(format!("{prefix}/{DEFINITIONS}/"));
        let mut found = match self.source.range(definitions, self.at, Want::Values).await {
            Err(ketcd_store::Error::Denied { keys, problem, .. }) => {
                self.refused.definitions(Refusal { keys, problem });
                return Ok(kinds);
            }
            found => found?,
        };
        while let Some(entry) = found.entries.next().await.transpose()? {
            match self.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
                ketcd_kube::Body::Object(definition) => {
                    if !kinds.add_crd(&definition) {
                        output::note(&format!("{}: not a CustomResourceDefinition", String::from_utf8_lossy(&entry.key)));
                    }
                }
                ketcd_kube::Body::Opaque(opaque) => {
                    output::note(&format!("{}: {}", String::from_utf8_lossy(&entry.key), opaque.reason));
                }
            }
        }
        Ok(kinds)
    }

    /// Whether the history of the source is readable from the cluster's first revision on, given the oldest readable one. A state of one moment
    /// has none.
    pub(super) fn is_complete_from(&self, oldest: Revision) -> bool {
        oldest.0 <= 1 && !self.source.is_one_moment()
    }

    /// The keys alive at the revision looked at.
    pub(super) async fn range(&self, keys: KeyRange, want: Want) -> Result<Listing<'_>> {
        Ok(self.source.range(keys, self.at, want).await?)
    }

    /// Whether reading costs a live etcd, so that what is only nice to know is not read.
    pub(super) fn asks_live_etcd(&self) -> bool {
        self.args.names_live_etcd()
    }

    /// The API server's release: `--release`, or the one found in the data.
    pub(super) fn release(&self) -> Release {
        self.args.release.or_else(|| self.release_evidence.release()).unwrap_or_default()
    }

    /// The namespace of namespaced kinds: `-n`, or `default`.
    pub(super) fn namespace(&self) -> &str {
        self.args.namespace.as_deref().unwrap_or("default")
    }
}

/// A decoder of values below `--prefix`.
fn below(decoder: Decoder, args: &GlobalArgs) -> Decoder {
    match &args.prefix {
        Some(prefix) => decoder.with_prefix(&ketcd_kube::normalize_prefix(prefix)),
        None => decoder,
    }
}

/// `--at`.
fn moment_asked(args: &GlobalArgs) -> Result<Option<Moment>> {
    args.at.as_deref().map(str::parse::<Moment>).transpose().map_err(|error| Error::new(format!("--at: {error}")))
}

/// Opens `-f`'s files, or the live etcd where there are none; with the newest time in them where they hold objects.
fn open_source(args: &GlobalArgs) -> Result<(Box<dyn Source>, Option<Timestamp>)> {
    let (paths, endpoints) = args.sources();
    let limits = limits(args);
    if args.names_live_etcd() {
        let mut connection = args.connection.clone();
        connection.endpoints.extend(endpoints.iter().cloned());
        let config = connection::config(&connection, args.unattended)?;
        let live = Box::new(EtcdSource::new(config, Arc::new(|notice: &str| output::note(notice)))?);
        if paths.is_empty() {
            return Ok((live, None));
        }
        let tell = Arc::new(|sentence: &str| output::note(sentence));
        return Ok((noted(ketcd_store::load::open_beside(&paths, &limits, endpoints.join(","), live, tell)?), None));
    }
    let kinds = RefCell::new(Kinds::builtin());
    let newest = Cell::new(None);
    let source = ketcd_store::load::open_within(&paths, &limits, &|object| {
        newest.set(newest.get().max(newest_stamp(object)));
        if object["kind"] == "CustomResourceDefinition" {
            kinds.borrow_mut().add_crd(object);
        }
        key_of(&kinds.borrow(), object)
    })?;
    Ok((noted(source), newest.get()))
}

/// Says what is wrong with a source.
fn noted(source: Box<dyn Source>) -> Box<dyn Source> {
    source.damage().iter().chain(source.left_out()).for_each(|problem| output::note(problem));
    source
}

/// How much a file may take.
pub(super) fn limits(args: &GlobalArgs) -> Limits {
    Limits { unpacked: args.max_unpacked_size, cache: if args.no_cache { None } else { cache() } }
}

/// Where indexes of large databases are kept.
fn cache() -> Option<Cache> {
    /// Smaller ones are read within a few hundredths of a second.
    const SMALLEST: u64 = 64 << 20;
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let directory = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?.join("ketcd");
    Some(Cache { directory, smallest: SMALLEST })
}

/// The key under which the API server would store an object that was read from a file of objects.
fn key_of(kinds: &Kinds, object: &Value) -> Option<Vec<u8>> {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    let (api_version, kind, name) = (text("/apiVersion")?, text("/kind")?, text("/metadata/name")?);
    let namespace = text("/metadata/namespace");
    let kind = kinds.of_object(api_version, kind)?;
    Some(kind.key(DEFAULT_PREFIX, namespace, name).into_bytes())
}

/// `--rev N`. (`diff` reads its own `A..B`.)
pub(super) fn revision_asked(args: &GlobalArgs) -> Result<At> {
    match args.rev.as_deref() {
        None => Ok(At::Newest),
        Some(text) => match text.parse() {
            Ok(number) if number > 0 => Ok(At::Revision(Revision(number))),
            _ => Err(Error::new(format!("--rev {text:?} is no revision")).hint("give a positive whole number")),
        },
    }
}
