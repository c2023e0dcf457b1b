//! A leader lock, whatever object it is kept in.

use serde_json::Value;

use super::super::forecast::Affected;
use super::super::objects::affected;

pub(super) struct StaleLock {
    /// The object.
    pub affected: Affected,
    /// Who leads.
    pub holder: String,
    /// After how many seconds without a renewal another may take it over.
    pub seconds: i64,
}

impl StaleLock {
    /// The lock that is kept in an object, as its record says; `None` where nobody holds it.
    pub(super) fn of(object: &Value, record: &Value) -> Option<Self> {
        let holder = record["holderIdentity"].as_str().filter(|holder| !holder.is_empty())?;
        let seconds = record["leaseDurationSeconds"].as_i64().unwrap_or(0);
        Some(Self { affected: affected(object, ""), holder: holder.to_owned(), seconds })
    }
}
