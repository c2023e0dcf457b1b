//! `get`: one object, whole or one of its subresources.

use axum::response::Response;
use ketcd_store::{At, KeyRange, KeyValue, Want};
use serde_json::{Value, json};

use super::call::Call;
use super::form::Form;
use super::objects::partial;
use super::scale;
use crate::wire::{EXPIRED_LIST, Result, Status};

/// Answers the get of an object.
pub(crate) async fn get(call: &Call, name: &str, subresource: Option<&str>) -> Result<Response> {
    let objects = &call.objects;
    let entry = read(call, name).await?;
    let stored = objects.stored(&entry);
    match subresource {
        Some("log") => {
            return Err(Status::not_allowed(format!(
                "etcd holds no logs: {name} is shown as it was at revision {}, and what its containers wrote is on its node",
                call.moment.revision
            )));
        }
        Some("scale") => {
            let stored = stored.map_err(|reason| undecoded(call, name, &reason))?;
            return call.respond(&scale::of(&call.resource, &stored)?);
        }
        _ => {}
    }
    match Form::of(call, call.moment).await? {
        Form::Objects => {
            let object = stored.map_err(|reason| undecoded(call, name, &reason))?;
            call.respond(&objects.served(&entry, Ok(object))?)
        }
        Form::Metadata(version) => {
            let object = stored.map_err(|reason| undecoded(call, name, &reason))?;
            call.respond(&partial(&object, version))
        }
        Form::Table(table) => {
            let mut row = Vec::new();
            table.append_row(objects, &entry, table.cells(&stored), &[], &mut row)?;
            let row: Value = serde_json::from_slice(&row).map_err(Status::internal)?;
            call.respond(&json!({
                "kind": "Table", "apiVersion": table.api_version(), "metadata": {"resourceVersion": entry.mod_revision.to_string()},
                "columnDefinitions": table.definitions(), "rows": [row],
            }))
        }
    }
}

/// Reads the key of an object at the moment looked at.
async fn read(call: &Call, name: &str) -> Result<KeyValue> {
    if let Some(asked) = call.params.revision.filter(|asked| *asked > call.moment.revision.0) {
        return Err(Status::too_large_version(asked, call.moment.revision.0));
    }
    let key = KeyRange::key(call.key_prefix() + name);
    let found = call.app.data.source().first(key, At::Revision(call.moment.revision), Want::Values, 1).await;
    let found = found.map_err(|error| Status::of_failure(error, Some(EXPIRED_LIST)))?;
    found.into_iter().next().ok_or_else(|| Status::not_found(&call.resource, name))
}

fn undecoded(call: &Call, name: &str, reason: &str) -> Box<Status> {
    Status::internal(format!("{} {name:?} cannot be decoded: {reason}", call.resource.qualified()))
}
