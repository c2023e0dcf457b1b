//! What a list reads, and what it is written in, decided before the first object is read.

use ketcd_render::table::row_order;
use ketcd_store::{Error as StoreError, KeyRange, Revision};
use serde_json::Value;

use crate::answers::call::Call;
use crate::answers::form::Form;
use crate::data::{After, Moment};
use crate::request::{Continuation, Filter, Match};
use crate::wire::{EXPIRED_LIST, Encoding, ListEncoder, Result, Status};

/// A list on its way.
pub(super) struct List {
    pub(super) call: Call,
    pub(super) filter: Filter,
    /// What the items become.
    pub(super) form: Form,
    pub(super) format: Format,
    pub(super) keys: KeyRange,
    pub(super) revision: Revision,
    continuation: Option<Continuation>,
}

/// What a list is written in.
pub(super) enum Format {
    Json,
    Yaml,
    Protobuf(ListEncoder),
}

impl List {
    /// The list that is asked for.
    ///
    /// # Errors
    /// It cannot be: the selectors, the revision or the token that continues it are wrong, or it has no protobuf.
    pub(super) async fn new(call: Call) -> Result<Self> {
        let filter = call.filter()?;
        let continuation = continuation(&call)?;
        let revision = revision(&call, continuation.as_ref())?;
        let mut keys = call.keys(&filter);
        if let Some(continuation) = &continuation {
            keys.start = (call.key_prefix() + &continuation.start).into_bytes();
        }
        let is_now = revision == call.moment.revision;
        let moment = if is_now { call.moment } else { Moment { revision, time: None, after: After::Nothing } };
        let form = Form::of(&call, moment).await?;
        let format = match call.accepted.encoding {
            Encoding::Json => Format::Json,
            Encoding::Yaml => Format::Yaml,
            Encoding::Protobuf => {
                let (kind, api_version) = type_meta(&call, &form);
                Format::Protobuf(ListEncoder::new(api_version, kind, call.app.data.release())?)
            }
        };
        Ok(Self { call, filter, form, format, keys, revision, continuation })
    }

    /// The list's kind and version.
    pub(super) fn type_meta(&self) -> (String, String) {
        type_meta(&self.call, &self.form)
    }

    /// Whether it is a page, after which others may follow.
    pub(super) fn is_page(&self) -> bool {
        self.call.params.limit > 0
    }

    pub(super) fn is_table(&self) -> bool {
        matches!(self.form, Form::Table(_))
    }

    pub(super) fn is_yaml(&self) -> bool {
        matches!(self.format, Format::Yaml)
    }

    /// The number by which the rows are sorted, where they are not in the order of their keys.
    pub(super) fn row_order(&self) -> Option<fn(&Value) -> i64> {
        if self.is_table() { row_order(&self.call.resource.kind) } else { None }
    }

    /// What the list says when the source fails: a page whose revision was compacted, how to go on all the same.
    pub(super) fn unreadable(&self, error: StoreError) -> Box<Status> {
        match (&self.continuation, error) {
            (Some(continuation), StoreError::Compacted { .. }) => continuation.expired(),
            (_, error) => Status::of_failure(error, Some(EXPIRED_LIST)),
        }
    }
}

fn continuation(call: &Call) -> Result<Option<Continuation>> {
    match call.params.continue_token.as_str() {
        "" => Ok(None),
        _ if call.params.revision.is_some_and(|revision| revision > 0) => {
            Err(Status::bad_request("specifying resource version is not allowed when using continue"))
        }
        token => Continuation::decode(token).map(Some),
    }
}

/// The revision whose objects are listed.
fn revision(call: &Call, continuation: Option<&Continuation>) -> Result<Revision> {
    let (params, now) = (&call.params, call.moment.revision);
    let is_exact = params.revision_match == Some(Match::Exact) || params.revision_match.is_none() && params.limit > 0;
    match (continuation, params.revision) {
        (Some(continuation), _) => Ok(continuation.revision.unwrap_or(now)),
        (None, Some(asked @ 1..)) if is_exact => Ok(Revision(asked)),
        (None, Some(asked)) if asked > now.0 => Err(Status::too_large_version(asked, now.0)),
        (None, _) => Ok(now),
    }
}

fn type_meta(call: &Call, form: &Form) -> (String, String) {
    match form {
        Form::Objects => (call.resource.list_kind(), call.resource.api_version()),
        Form::Metadata(version) => ("PartialObjectMetadataList".to_owned(), format!("meta.k8s.io/{version}")),
        Form::Table(table) => ("Table".to_owned(), table.api_version()),
    }
}
