//! The sink of each format that `-o` names.

use super::listing_target::{ListArgs, ListingTarget};
use super::sink::Sink;
use super::{documents, names, raw, tables, templates};
use crate::cli::outcome::Result;
use crate::cli::output::Format;
use crate::cli::session::Session;
use ketcd_kube::Address;
use ketcd_render::table::{LabelColumns, TableView};

/// When objects come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// All at once.
    AtOnce,
    OneByOne,
}

/// Returns what prints what is wanted, as `-o` says.
///
/// # Errors
/// A template that cannot be read, or a format for one object alone.
pub(super) async fn sink<'c>(
    session: &'c Session,
    wanted: &ListingTarget,
    args: &ListArgs,
    pace: Pace,
    is_terminal: bool,
) -> Result<Box<dyn Sink<'c> + 'c>> {
    let (format, addresses) = (&session.format, if let ListingTarget::Addresses(addresses) = wanted { &addresses[..] } else { &[] });
    let is_one = pace == Pace::OneByOne || matches!(addresses, [one] if is_single(one));
    Ok(match format {
        Format::Name => Box::new(names::Names),
        Format::Ndjson => Box::new(documents::ObjectLines),
        Format::Json if is_one => Box::new(documents::Single::json()),
        Format::Json => Box::new(documents::JsonList::json()),
        Format::Yaml if is_one => Box::new(documents::Single::yaml()),
        Format::Yaml => Box::new(documents::JsonList::yaml()),
        Format::Kyaml if is_one => Box::new(documents::Single::kyaml()),
        Format::Kyaml => Box::new(documents::JsonList::kyaml()),
        Format::JsonPath(template) => Box::new(templates::Template::new(template, is_one)?),
        Format::JsonPathAsJson(template) => Box::new(templates::Template::as_json(template, is_one)?),
        Format::CustomColumns(columns) => Box::new(templates::Columns::new(columns, args.no_headers, is_terminal)?),
        Format::CustomColumnsFile(text) => Box::new(templates::Columns::of_file(text, args.no_headers, is_terminal)?),
        Format::GoTemplate(template) => Box::new(templates::GoTemplates::new(template, is_one)?),
        Format::Raw if is_one => Box::new(raw::Raw { shows_secrets: session.cluster.options.show_secrets, is_written: false }),
        Format::Raw => return Err(raw::several()),
        Format::Metrics | Format::Markdown => return Err(format.unsupported("get", "table, wide, json, yaml, kyaml, name, ndjson, raw")),
        Format::Table | Format::Wide => {
            let now = session.moment_of_ages().await?;
            let view = TableView { now, is_wide: *format == Format::Wide, release: session.cluster.release() };
            let labels = LabelColumns { columns: args.label_columns.clone(), all: args.show_labels };
            let is_everything = matches!(wanted, ListingTarget::Everything);
            let of_list = is_everything || !addresses.iter().all(is_single);
            // Rows that come one by one cannot wait until it is known whether others are of another kind.
            let mut kinds = addresses.iter().map(Address::kind);
            let first = kinds.next();
            let several = pace == Pace::OneByOne && kinds.any(|kind| Some(kind) != first);
            let tables = tables::Tables::new(session, view, labels, args.no_headers, is_everything);
            Box::new(tables.with_kinds(several || args.show_kind).of_list(of_list))
        }
    })
}

/// Whether the address can name no more than one object.
fn is_single(address: &Address) -> bool {
    match address {
        Address::Objects { name, .. } => name.is_some(),
        Address::Key(key) => !key.ends_with('/'),
    }
}
