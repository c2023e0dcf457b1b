#![doc = include_str!("../README.md")]

mod at_moment;
mod cluster;
pub mod cores;
mod error;
pub mod not_found;
mod notice;
pub mod numbers;
mod open;
mod options;
mod problems;
mod questions;
mod reading;
mod selection;
mod since;

pub use cluster::{CRD_PATH, Cluster, DEFAULT_PREFIX, built_in};
pub use error::{DeniedKeys, Error, Nothing, Result};
pub use notice::{Incomplete, Notice, Notices, RestartsUnknown, SchedulerStart};
pub use options::{Options, ReleaseChoice};
pub use problems::Problems;
pub use questions::asked_keys::AskedKeys;
pub(crate) use questions::{asked_keys, writers};
pub use questions::{
    blame, browser, bundle, census, configuration, describe, diff, explain, export, extract, grep, rehearse, report, survey, traces,
    triage, usage, verify,
};
pub(crate) use reading::audit;
pub use reading::audit::{LogHistory, LogNotes, open_logs};
pub use reading::other_requests::{OtherRequest, RequestScope};
pub use reading::read::Read;
pub use reading::{api, clock, files, kinds, read, related, replay, rights, watching};
pub use selection::Selection;
pub use since::{Since, Window, WindowEnd};

pub use futures_util::TryStreamExt;
pub use ketcd_history::AttributedChange;
pub use ketcd_kube::{FieldSelector, LabelSelector, Object};
pub use ketcd_store::{At, Revision};
