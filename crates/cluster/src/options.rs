//! Options for opening a cluster.

use jiff::Timestamp;

use ketcd_history::clock::{Bound, Moment};
use ketcd_kube::Release;
use ketcd_kube::encryption::KeyRing;
use ketcd_store::At;

use crate::notice::Notices;
use crate::selection::Selection;

/// Options for opening a cluster. The default reads the newest revision, finds prefix and release in the data, and masks Secrets.
#[derive(Clone, Debug)]
pub struct Options {
    /// The revision to look at.
    pub at: At,
    /// The moment to look at instead.
    pub moment: Option<Moment>,
    /// Since when changes count, for questions about changes.
    pub since: Option<Bound>,
    /// The API server's `--etcd-prefix`; found in the keys where it is not given.
    pub prefix: Option<String>,
    /// The namespace of objects whose address names none, and the only one that questions about many objects look at; `default` for the former.
    pub namespace: Option<String>,
    /// Whether addresses without a namespace are of all namespaces.
    pub all_namespaces: bool,
    /// Which of the objects addressed count.
    pub selection: Selection,
    /// Which release objects are printed as.
    pub release: ReleaseChoice,
    /// The keys that open values sealed at rest.
    pub keys: KeyRing,
    /// Whether values of Secrets are shown.
    pub show_secrets: bool,
    /// Whether managedFields are shown.
    pub show_managed_fields: bool,
    /// Whether fields that the release does not know are reported one by one.
    pub report_unknown: bool,
    /// The newest time that objects read from files of objects carry.
    pub newest_stamp: Option<Timestamp>,
    /// Whether objects without a history were read from an API server just now; files do not say when they were printed.
    pub is_present: bool,
    /// Receives notices about the answers.
    pub notices: Notices,
}

/// Which release objects are printed as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReleaseChoice {
    /// The one that the data show.
    #[default]
    Found,
    /// This one.
    Given(Release),
    /// None in particular: what is shown looks the same in every release.
    Any,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            at: At::Newest,
            moment: None,
            since: None,
            prefix: None,
            namespace: None,
            all_namespaces: false,
            selection: Selection::default(),
            release: ReleaseChoice::Found,
            keys: KeyRing::default(),
            show_secrets: false,
            show_managed_fields: false,
            report_unknown: false,
            newest_stamp: None,
            is_present: false,
            notices: Notices::default(),
        }
    }
}
