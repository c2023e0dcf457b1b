//! `ketcd extract`: stored objects as manifests that `kubectl apply` takes.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use crate::cli::extraction::{self, Folder, WrittenArgs};
use crate::cli::input::selectors::SelectArgs;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::{Format, Output, note};
use crate::cli::session::Session;
use crate::cli::session::absence::{Search, note_nothing};
use crate::cli::session::command::Ask;
use ketcd_cluster::Selection;
use ketcd_cluster::extract::{Targets, With};
use ketcd_cluster::rights::Question;
use ketcd_render::extraction::{self as render, ManifestForm};

/// Print manifests that bring stored objects back
///
/// Prints manifests for `kubectl apply -f -` in an order that applies, without what API servers and controllers set and without the objects
/// that controllers create again. What is left out is reported on standard error, with the reason. `ns/NAME` is the namespace with
/// everything in it, as is `-n NAME --all`. Secrets are left out unless --show-secrets is given.
#[derive(Args, Debug)]
#[command(before_help = "\
# A Deployment and its Service, for kubectl apply -f -\n\
ketcd -f snapshot.db extract deploy/web/tomcat svc/web/tomcat\n\
# A namespace, with the ConfigMaps and rights that its pods need\n\
ketcd -f snapshot.db extract ns/web --with config,rbac")]
pub(crate) struct ExtractArgs {
    /// The objects: kind/namespace/name, a kind, a kind followed by names, a raw key, or ns/NAME for a namespace with everything in it.
    #[arg(value_name = "ADDRESS", required_unless_present_any = ["all", "rules"])]
    addresses: Vec<String>,
    #[command(flatten)]
    select: SelectArgs,
    /// Extract the namespace of -n with everything in it, or with -A the whole cluster.
    ///
    /// A whole cluster has its claims and volumes bound to each other as before.
    #[arg(long, conflicts_with = "addresses")]
    all: bool,
    /// Add what belongs to the objects: `owned`, `config`, `rbac`, `storage`, `crds`.
    ///
    /// `owned` is what their controllers created, `config` the ConfigMaps, Secrets, ServiceAccounts and classes that their pods need, `rbac`
    /// the permissions of their ServiceAccounts, `storage` claims and volumes, bound to each other as before, `crds` the definitions of custom
    /// resources.
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_enum, hide_possible_values = true)]
    with: Vec<Added>,
    /// Turn rules off, so that what they strip or leave out is kept; --rules lists them.
    #[arg(long, hide_short_help = true, value_name = "RULE", value_delimiter = ',')]
    keep: Vec<String>,
    /// List the rules: what each strips or leaves out, and why.
    #[arg(long, conflicts_with_all = ["addresses", "all"])]
    rules: bool,
    /// The API versions of the manifests: `stored` or `preferred`.
    ///
    /// `stored` is as they are in etcd, `preferred` as an API server of the release (--release, or the one found in the data) prefers.
    #[arg(long, hide_short_help = true, value_name = "VERSION", value_enum, default_value = "stored", hide_possible_values = true)]
    api_version: ApiVersion,
    /// Write a file for each object into this new folder, with a kustomization.yaml.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "rules")]
    out: Option<PathBuf>,
    /// Show what applying the manifests would change in another cluster, and what would prevent it.
    ///
    /// The cluster is the one a kubeconfig names, read by `kubectl get`, or the newest state of a source as -f takes it: a newer snapshot,
    /// an etcd.
    #[arg(long, value_name = "KUBECONFIG|SOURCE", value_hint = ValueHint::AnyPath, conflicts_with_all = ["rules", "out"])]
    against: Option<String>,
    #[command(flatten)]
    written: WrittenArgs,
    /// With --against, show every field that changes, including bookkeeping.
    #[arg(long, hide_short_help = true, requires = "against")]
    all_fields: bool,
}

/// What is added to the objects asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Added {
    /// What their controllers made.
    Owned,
    /// What pods need to be admitted and to start.
    Config,
    /// The rights of their ServiceAccounts.
    Rbac,
    /// Claims, volumes and their classes.
    Storage,
    /// The definitions of custom resources.
    Crds,
}

/// In which version a manifest is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ApiVersion {
    /// As the object is stored.
    Stored,
    /// As the release prefers it.
    Preferred,
}

impl ExtractArgs {
    /// What is added. A whole cluster has the volumes of its claims.
    fn with(&self, of_all_namespaces: bool) -> With {
        let has = |added| self.with.contains(&added) || added == Added::Storage && self.all && of_all_namespaces;
        With {
            owned: has(Added::Owned),
            config: has(Added::Config),
            rbac: has(Added::Rbac),
            storage: has(Added::Storage),
            crds: has(Added::Crds),
        }
    }
}

impl Ask for ExtractArgs {
    const ONLY_PRINTS: bool = false;

    fn question(&self) -> Question<'_> {
        Question::Extract(&self.addresses)
    }

    fn selection(&self) -> Result<Selection> {
        self.select.read()
    }

    fn answer_alone(&self, out: &mut Output) -> Result<Option<Outcome>> {
        if !self.rules {
            return Ok(None);
        }
        render::write_rules(out)?;
        Ok(Some(Outcome::Found))
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        let form = match session.format {
            Format::Table | Format::Yaml => ManifestForm::Yaml,
            Format::Json => ManifestForm::List,
            Format::Ndjson => ManifestForm::Lines,
            Format::Name => ManifestForm::Names,
            _ => return Err(session.format.unsupported("extract", "yaml, json, ndjson, name")),
        };
        let folder = self.out.as_deref().map(Folder::open).transpose()?;
        let with = self.with(session.cluster.options.all_namespaces);
        let switches = extraction::switches(&self.keep, with)?;
        let asked = if self.all { Targets::Everything } else { Targets::Words(&self.addresses) };
        let written = self.written.read(&session.cluster).await?;
        let mut gathered = session.cluster.extract_written(&asked, with, &switches, &written).await.map_err(|error| match error {
            ketcd_cluster::Error::NoKind => Error::from(error).hint("write kind/namespace/name, or ns/NAME for all of a namespace"),
            error => error.into(),
        })?;
        Search::report_all("extract", &gathered.absent);
        let is_missing = !gathered.absent.is_empty();
        if let Some(addresses) = gathered.nothing_of.take() {
            note_nothing(session, Some(&addresses)).await?;
        }
        let preferred = (self.api_version == ApiVersion::Preferred).then(|| session.cluster.release());
        let extraction = gathered.into_manifests(&switches, preferred);
        if let Some(name) = &self.against {
            return extraction::plan(session, name, &extraction, self.all_fields, out).await;
        }
        match &folder {
            Some(folder) if !extraction.manifests.is_empty() => {
                folder.write(&extraction.manifests, session.cluster.options.show_secrets)?
            }
            Some(_) => {}
            None => render::write_manifests(&extraction.manifests, form, out)?,
        }
        out.flush()?;
        render::notes(&extraction.summary).iter().for_each(|line| note(line));
        Ok(if extraction.manifests.is_empty() || is_missing { Outcome::Nothing } else { Outcome::Found })
    }
}
