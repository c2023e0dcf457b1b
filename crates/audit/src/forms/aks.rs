//! Azure's tables `AKSAudit` and `AKSAuditAdmin`: an event's members as columns (Azure Monitor's reference of tables). Columns of objects hold them, or
//! their text.

use std::borrow::Cow;
use std::collections::HashMap;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::Record;
use super::event::{Event, ObjectRef, Status, User, record_of};
use crate::names::Names;

/// A row: the text of a column, of JSON as it is, of a string what it says.
type Row<'r> = dyn Fn(&str) -> Option<Cow<'r, str>> + 'r;

/// The event in a row that is a document.
pub(super) fn of_members(members: &HashMap<&str, &RawValue>, names: &mut Names) -> Option<Record> {
    let cell = |column: &str| {
        let text = members.get(column)?.get();
        Some(if text.starts_with('"') { Cow::Owned(serde_json::from_str::<String>(text).ok()?) } else { Cow::Borrowed(text) })
    };
    of_row(&cell, names)
}

/// The event in a row of a table with columns of these names.
pub(crate) fn event_of_row<'r>(columns: &[String], cell: impl Fn(usize) -> &'r str, names: &mut Names) -> Option<Record> {
    let of_column = |column: &str| Some(Cow::Borrowed(cell(columns.iter().position(|known| known == column)?)));
    of_row(&of_column, names)
}

fn of_row(cell: &Row<'_>, names: &mut Names) -> Option<Record> {
    let text = |column: &str| cell(column).unwrap_or_default();
    let (verb, stage) = (text("Verb"), text("Stage"));
    if verb.is_empty() || cell("AuditId").is_none() {
        return None;
    }
    let object = |column: &str| raw(&text(column));
    let (asked, answer, reference, status) = (object("RequestObject"), object("ResponseObject"), text("ObjectRef"), text("ResponseStatus"));
    let (user, acted_as, from) = (text("User"), text("ImpersonatedUser"), text("SourceIps"));
    let event = Event {
        audit_id: text("AuditId"),
        level: text("Level"),
        // The admin table has finished requests alone, and no stages in some exports.
        stage: if stage.is_empty() { Cow::Borrowed("ResponseComplete") } else { stage },
        request_uri: text("RequestUri"),
        verb,
        user: serde_json::from_str(&user).unwrap_or_else(|_| User { username: user.clone() }),
        impersonated_user: serde_json::from_str(&acted_as).ok(),
        source_ips: addresses(&from),
        user_agent: text("UserAgent"),
        object_ref: serde_json::from_str::<ObjectRef<'_>>(&reference).ok(),
        response_status: parsed::<Status>(&status),
        request_object: asked.as_deref(),
        response_object: answer.as_deref(),
        request_received_timestamp: time(&text("RequestReceivedTime")),
        stage_timestamp: time(&text("StageReceivedTime")).or_else(|| time(&text("TimeGenerated"))),
        timestamp: None,
    };
    Some(record_of(&event, names))
}

fn parsed<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

fn raw(text: &str) -> Option<Box<RawValue>> {
    if text.starts_with(['{', '[']) { RawValue::from_string(text.to_owned()).ok() } else { None }
}

/// Addresses as a list, or alone.
fn addresses(text: &str) -> Option<Vec<Cow<'_, str>>> {
    match serde_json::from_str::<Vec<String>>(text) {
        Ok(found) => Some(found.into_iter().map(Cow::Owned).collect()),
        Err(_) => (!text.is_empty()).then(|| vec![Cow::Borrowed(text)]),
    }
}

/// A time: RFC 3339, or as Azure's portal writes it into CSV.
fn time(text: &str) -> Option<Timestamp> {
    const OF_PORTAL: [&str; 2] = ["%m/%d/%Y, %I:%M:%S%.f %p", "%m/%d/%Y %I:%M:%S%.f %p"];
    let civil = |format: &&str| DateTime::strptime(format, text).ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    text.parse().ok().or_else(|| OF_PORTAL.iter().find_map(civil))
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_of_the_service_and_of_its_portal_are_read() {
        for (text, wanted) in [
            ("2026-11-24T18:36:56.1234567Z", "2026-11-24T18:36:56.1234567Z"),
            ("11/24/2026, 6:36:56.123 PM", "2026-11-24T18:36:56.123Z"),
            ("11/24/2026 06:36:56.123 PM", "2026-11-24T18:36:56.123Z"),
        ] {
            assert_eq!(time(text).map(|time| time.to_string()).as_deref(), Some(wanted));
        }
        assert_eq!(time("yesterday"), None);
    }
}
