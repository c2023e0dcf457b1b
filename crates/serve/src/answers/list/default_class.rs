//! Which row of a page is marked as the default: that depends on the others, so the page is looked through once before.

use futures_util::StreamExt;
use ketcd_render::table::DefaultClass;
use ketcd_store::{At, Want};
use tokio::task::coop::consume_budget;

use super::plan::List;
use crate::wire::Result;

/// Returns the default among the StorageClasses of a page; `None` for other resources, and for a list that is not a table.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn default_class(list: &List) -> Result<Option<DefaultClass>> {
    let call = &list.call;
    let default = DefaultClass::of(&call.resource.kind, call.app.data.release()).filter(|_| list.is_table());
    let Some(mut default) = default else { return Ok(None) };
    let listing = call.app.data.source().range(list.keys.clone(), At::Revision(list.revision), Want::Values).await;
    let (mut entries, mut seen) = (listing.map_err(|error| list.unreadable(error))?.entries, 0);
    while let Some(entry) = entries.next().await {
        consume_budget().await;
        let entry = entry.map_err(|error| list.unreadable(error))?;
        let Some(Ok(class)) = call.objects.name(&entry.key).map(|_| call.objects.stored(&entry)) else { continue };
        if !list.filter.is_empty() && !list.filter.matches(&class) {
            continue;
        }
        if list.is_page() && seen == call.params.limit {
            break;
        }
        seen += 1;
        default.see(&class);
    }
    Ok(Some(default))
}
