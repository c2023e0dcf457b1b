//! Listing objects: addresses and selectors in, objects one by one to a sink that prints them. What `ls` and `get` have in common.

mod documents;
mod follow;
mod names;
mod raw;
mod sort;
mod tables;
mod templates;

use clap::Args;

use super::absence::{self, Search};
use super::output::{Format, Output};
use super::overtaken::{self, Overtaken};
use super::select::SelectArgs;
use super::session::Session;
use super::{Outcome, Result, window};
use ketcd_cluster::Selection;
use ketcd_kube::{Address, KeyResource, Kinds, RegistryKey};
use ketcd_render::style::StyledWrite;
use ketcd_render::table::{LabelColumns, View, row_fields};
use ketcd_store::KeyValue;

pub(super) use follow::{Watched, follow};
pub(super) use ketcd_cluster::read::{Extent, Item, ReadBody};
use ketcd_cluster::read::{Fetch, decoder};

/// Which objects, in what order, with what beside them.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct ListArgs {
    /// Which objects count.
    #[command(flatten)]
    pub select: SelectArgs,
    /// Show only the first N objects.
    #[arg(long, value_name = "N", help_heading = "Selection", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// Sort by the field at this path, such as `.metadata.creationTimestamp`.
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub sort_by: Option<String>,
    /// Print tables without headings.
    #[arg(long, help_heading = "Output")]
    pub no_headers: bool,
    /// Print tables with kinds before names, such as `pod/web-0`.
    #[arg(long, help_heading = "Output")]
    pub show_kind: bool,
    /// Print tables with a last column for all labels.
    #[arg(long, help_heading = "Output")]
    pub show_labels: bool,
    /// Print tables with a column for each of these labels.
    #[arg(short = 'L', long, value_name = "LABEL", value_delimiter = ',', help_heading = "Output")]
    pub label_columns: Vec<String>,
}

/// What is to be listed: addresses in their order, or everything.
pub(super) enum Wanted {
    Addresses(Vec<Address>),
    Everything,
}

/// Prints objects one by one; tables may wait until all are known.
pub(super) trait Sink {
    /// How much of each object it wants to see.
    fn need(&self) -> Extent;
    /// Takes an object.
    fn add(&mut self, item: Item<'_>, out: &mut dyn StyledWrite) -> Result<()>;
    /// Prints what was kept until all are known.
    fn finish(self: Box<Self>, out: &mut dyn StyledWrite) -> Result<()>;
}

/// Lists what is wanted of a command as `-o` says.
pub(super) async fn list(session: &Session, command: &'static str, wanted: &Wanted, args: &ListArgs, out: &mut Output) -> Result<Outcome> {
    out.set_content(session.format.content());
    overtaken::repeated(session, out, async |out, overtaken| once(session, (command, wanted), args, overtaken, out).await).await
}

/// Reads the listing once.
async fn once(
    session: &Session,
    (command, wanted): (&'static str, &Wanted),
    args: &ListArgs,
    overtaken: Overtaken,
    out: &mut Output,
) -> Result<Outcome> {
    let Selection { labels, fields, .. } = args.select.read()?;
    let mut sink = sink(session, wanted, args, &session.format, out.is_terminal()).await?;
    if let Some(path) = &args.sort_by {
        sink = Box::new(sort::Sorted::new(path, sink, decoder(session))?);
    }
    let limit = args.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let fetch = Fetch::new(session, labels, fields, sink.need()).up_to(limit);
    let mut fetch = fetch.with_row_fields(|kind| row_fields(kind).map(|fields| &fields.all));
    let mut absent = Vec::new();
    let is_cut_short = match read(&mut fetch, wanted, sink.as_mut(), &mut absent, out).await {
        Err(error) if error.is_compacted() && fetch.found() > 0 && (out.has_begun() || overtaken == Overtaken::ShowFound) => true,
        read => read.map(|()| false)?,
    };
    let is_missing = !absent.is_empty();
    for address in absent {
        Search::at(session, command).await?.report(session, address).await?;
    }
    sink.finish(out)?;
    if is_cut_short {
        overtaken::note_cut_short(fetch.found());
        return Ok(Outcome::Damaged);
    }
    if fetch.found() == 0 && !session.interrupt.is_set() {
        absence::note_nothing(session, wanted).await?;
        return Ok(Outcome::Nothing);
    }
    Ok(if is_missing { Outcome::Nothing } else { Outcome::Found })
}

/// Hands what is wanted to the sink; single objects that are not there are `absent`.
async fn read<'w>(
    fetch: &mut Fetch<'_>,
    wanted: &'w Wanted,
    sink: &mut dyn Sink,
    absent: &mut Vec<&'w Address>,
    out: &mut Output,
) -> Result<()> {
    let Wanted::Addresses(addresses) = wanted else { return fetch.everything(&mut |item| sink.add(item, out)).await.map(drop) };
    for address in addresses {
        let here = fetch.address(address, &mut |item| sink.add(item, out)).await?;
        if here == 0 && matches!(address, Address::Objects { name: Some(_), .. } | Address::Key(_)) && !fetch.is_filtered() {
            absent.push(address);
        }
    }
    Ok(())
}

/// Prints objects of built-in kinds that were read already, in their order, as `-o` says; JSON says which stretch of history was asked for.
pub(super) async fn print_all(
    session: &Session,
    entries: impl IntoIterator<Item = KeyValue>,
    args: &ListArgs,
    out: &mut Output,
) -> Result<Outcome> {
    let (prefix, kinds, decoder) = (session.prefix().await?, Kinds::builtin(), decoder(session));
    let mut sink: Box<dyn Sink> = match window::in_head(session).await? {
        None => sink(session, &Wanted::Addresses(Vec::new()), args, &session.format, out.is_terminal()).await?,
        window => Box::new(documents::List::json_within(window)),
    };
    let mut outcome = Outcome::Nothing;
    for entry in entries {
        let key = RegistryKey::parse(prefix, &entry.key, &kinds).object();
        let kind = key.and_then(|key| if let KeyResource::Known(kind) = key.resource { Some(kind) } else { None });
        sink.add(Item { kind, key, entry: &entry, body: ReadBody::object(&decoder, &entry) }, out)?;
        outcome = Outcome::Found;
    }
    sink.finish(out)?;
    Ok(outcome)
}

async fn sink(session: &Session, wanted: &Wanted, args: &ListArgs, format: &Format, is_terminal: bool) -> Result<Box<dyn Sink>> {
    let is_one = matches!(wanted, Wanted::Addresses(addresses) if matches!(&addresses[..], [one] if is_single(one)));
    Ok(match format {
        Format::Name => Box::new(names::Names),
        Format::Ndjson => Box::new(documents::ObjectLines),
        Format::Json if is_one => Box::new(documents::Single::json()),
        Format::Json => Box::new(documents::List::json()),
        Format::Yaml if is_one => Box::new(documents::Single::yaml()),
        Format::Yaml => Box::new(documents::List::yaml()),
        Format::Kyaml if is_one => Box::new(documents::Single::kyaml()),
        Format::Kyaml => Box::new(documents::List::kyaml()),
        Format::JsonPath(template) => Box::new(templates::Template::new(template, is_one)?),
        Format::JsonPathAsJson(template) => Box::new(templates::Template::as_json(template, is_one)?),
        Format::CustomColumns(columns) => Box::new(templates::Columns::new(columns, args.no_headers, is_terminal)?),
        Format::CustomColumnsFile(text) => Box::new(templates::Columns::of_file(text, args.no_headers, is_terminal)?),
        Format::GoTemplate(template) => Box::new(templates::GoTemplates::new(template, is_one)?),
        Format::Raw if is_one => Box::new(raw::Raw { shows_secrets: session.args.show_secrets, is_written: false }),
        Format::Raw => return Err(raw::several()),
        Format::Table | Format::Wide => {
            let now = session.moment_of_ages().await?;
            let view = View { now, is_wide: *format == Format::Wide, release: session.release() };
            let labels = LabelColumns { columns: args.label_columns.clone(), all: args.show_labels };
            let is_everything = matches!(wanted, Wanted::Everything);
            let of_list = is_everything || matches!(wanted, Wanted::Addresses(addresses) if !addresses.iter().all(is_single));
            let tables = tables::Tables::new(session, view, labels, args.no_headers, is_everything);
            Box::new(tables.with_kinds(args.show_kind).of_list(of_list))
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
