//! What Python asks with: words and options, as JSON.

use ketcd_cluster::grep::{Pattern, Place, Search};
use ketcd_cluster::{At, Cluster, Notices, Options, Revision, Selection};
use ketcd_history::clock::{Bound, Moment};
use ketcd_history::diff::ManagedFields;
use ketcd_kube::{FieldSelector, LabelSelector, SelectorError};
use ketcd_render::contract::export::Table;
use serde::Deserialize;

use crate::failure::Failure;
use crate::opened::Opened;
use crate::shared::{Abandoned, Shared};

/// Words and options. Of each question those count that its method in Python has.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Asked {
    /// Addresses.
    pub(crate) words: Vec<String>,
    rev: Option<i64>,
    at: Option<String>,
    since: Option<String>,
    until: Option<String>,
    namespace: Option<String>,
    pub(crate) all_namespaces: bool,
    selector: Option<String>,
    field_selector: Option<String>,
    show_managed_fields: bool,
    pub(crate) limit: Option<usize>,
    /// Whole objects with changes; of a search the objects alone.
    pub(crate) objects: bool,
    pattern: String,
    regexp: bool,
    ignore_case: bool,
    places: Vec<String>,
    pub(crate) quota: Option<u64>,
    pub(crate) node: Option<String>,
    pub(crate) no_remedies: bool,
    pub(crate) scheduler_version: Option<String>,
    pub(crate) feature_gates: Option<String>,
    pub(crate) scheduler_config: Option<String>,
    table: String,
}

impl Asked {
    /// Reads what Python sends.
    ///
    /// # Errors
    /// An option that there is not, or of another type.
    pub(crate) fn read(text: &str) -> Result<Self, Failure> {
        serde_json::from_str(text).map_err(|error| Failure::new(format!("an option is wrong: {error}")))
    }

    /// Opens the cluster as it is to be looked at; `ever` says that an object counts which the selectors selected at any revision.
    ///
    /// # Errors
    /// An option that cannot be read, or the source cannot be.
    pub(crate) async fn cluster(
        &self,
        opened: &Opened,
        (notices, abandoned): (Notices, Abandoned),
        selection: Selection,
    ) -> Result<Cluster, Failure> {
        let bound = |name: &str, text: &Option<String>| {
            let read = text.as_deref().map(str::parse::<Bound>).transpose();
            read.map_err(|error| Failure::new(format!("{name}: {error}")))
        };
        let at = self.at.as_deref().map(str::parse::<Moment>).transpose().map_err(|error| Failure::new(format!("at: {error}")))?;
        let (at, moment) = match (bound("until", &self.until)?, self.rev, at) {
            (None, None, moment) => (At::Newest, moment),
            (None, Some(rev), None) if rev > 0 => (At::Revision(Revision(rev)), None),
            (None, Some(rev), None) => return Err(Failure::new(format!("invalid rev={rev}: expected a positive whole number"))),
            (Some(Bound::Revision(revision)), None, None) => (At::Revision(revision), None),
            (Some(Bound::Moment(moment)), None, None) => (At::Newest, Some(moment)),
            _ => return Err(Failure::new("rev, at and until name the same end of the history").hint("give one of them")),
        };
        let options = Options {
            at,
            moment,
            since: bound("since", &self.since)?,
            prefix: opened.prefix.clone(),
            namespace: self.namespace.clone(),
            all_namespaces: self.all_namespaces,
            selection,
            keys: opened.keys.clone(),
            show_managed_fields: self.show_managed_fields,
            newest_stamp: opened.newest_stamp,
            notices,
            ..Options::default()
        };
        let source = Shared::new(opened.source.clone(), abandoned);
        let mut cluster = Cluster::new(Box::new(source), options);
        cluster.set_audit_logs(opened.audit_logs()?);
        cluster.begin().await?;
        Ok(cluster)
    }

    /// The selectors.
    ///
    /// # Errors
    /// One that cannot be read.
    pub(crate) fn selection(&self, ever: bool) -> Result<Selection, Failure> {
        let wrong = |name: &'static str| {
            move |error: SelectorError| {
                Failure::new(format!("{name}: {error}")).hint("write it as kubectl does, for example app=web,tier!=db")
            }
        };
        let labels = self.selector.as_deref().map(LabelSelector::parse).transpose().map_err(wrong("selector"))?;
        let fields = self.field_selector.as_deref().map(FieldSelector::parse).transpose().map_err(wrong("field_selector"))?;
        Ok(Selection { labels: labels.unwrap_or_default(), fields: fields.unwrap_or_default(), ever })
    }

    /// The selectors as the command's flags.
    pub(crate) fn typed(&self) -> Vec<String> {
        let labels = self.selector.iter().map(|selector| format!("-l {selector}"));
        labels.chain(self.field_selector.iter().map(|selector| format!("--field-selector {selector}"))).collect()
    }

    /// Whether managedFields are shown.
    pub(crate) fn managed_fields(&self) -> ManagedFields {
        if self.show_managed_fields { ManagedFields::Shown } else { ManagedFields::Hidden }
    }

    /// What is searched for, and where.
    ///
    /// # Errors
    /// A pattern that cannot be read, or a place that there is not.
    pub(crate) fn search(&self) -> Result<Search, Failure> {
        let pattern = Pattern::new(&self.pattern, self.regexp, self.ignore_case)?;
        let places = self.places.iter().map(|name| {
            let known = [Place::Names, Place::Values, Place::Keys, Place::Managers, Place::Messages];
            let found = known.into_iter().find(|place| place.as_str() == name);
            found.ok_or_else(|| Failure::new(format!("invalid place {name:?}: expected names, values, keys, managers or messages")))
        });
        let places = places.collect::<Result<Vec<_>, _>>()?;
        Ok(Search { pattern, places: if places.is_empty() { Place::USUAL.to_vec() } else { places } })
    }

    /// The table asked for.
    ///
    /// # Errors
    /// A name of none.
    pub(crate) fn table(&self) -> Result<Table, Failure> {
        let names = || Table::ALL.map(Table::name).join(", ");
        let found = Table::ALL.into_iter().find(|table| table.name() == self.table);
        found.ok_or_else(|| Failure::new(format!("no table is called {:?}", self.table)).hint(format!("there are {}", names())))
    }
}
