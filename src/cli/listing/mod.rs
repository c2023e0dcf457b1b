//! Fetch objects: addresses and selectors in, objects one by one to a sink that prints them. What `ls` and `get` have in common.

mod documents;
mod follow;
mod names;
mod raw;
mod sort;
mod tables;
mod templates;

use std::pin::pin;

use clap::Args;
use futures_util::TryStreamExt;
use jiff::Timestamp;

use super::absence::{self, Search};
use super::output::{Format, Output};
use super::overtaken::{self, Overtaken};
use super::select::SelectArgs;
use super::session::Session;
use super::{Outcome, Result, window};
use ketcd_cluster::{Selection, built_in};
use ketcd_kube::Address;
use ketcd_render::table::{LabelColumns, View, row_fields};
use ketcd_store::KeyValue;

pub(super) use follow::{Watched, follow};
pub(super) use ketcd_cluster::read::{Extent, Item, ReadBody};
use ketcd_cluster::read::{Fetch, KeyFilter, decoder};
use ketcd_render::style::StyledWrite;

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

/// When objects come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// All at once.
    AtOnce,
    /// One by one.
    OneByOne,
}

/// Prints objects one by one; tables may wait until all are known.
pub(super) trait Sink<'c> {
    /// How much of each object it wants to see.
    fn need(&self) -> Extent;
    /// Takes an object.
    fn add(&mut self, item: Item<'c>, out: &mut dyn StyledWrite) -> Result<()>;
    /// Prints what waits for others to be aligned with.
    fn flush(&mut self, _: &mut dyn StyledWrite) -> Result<()> {
        Ok(())
    }
    /// Takes changes of objects from now on.
    fn begin_changes(&mut self) {}
    /// Counts ages to this moment from now on.
    fn set_now(&mut self, _: Option<Timestamp>) {}
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
    let select = args.select.read()?;
    let mut sink = sink(session, wanted, args, Pace::AtOnce, out.is_terminal()).await?;
    if let Some(path) = &args.sort_by {
        sink = Box::new(sort::Sorted::new(path, sink, decoder(session))?);
    }
    let limit = args.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let fetch = fetch(session, select, sink.need());
    let (mut found, mut absent) = (0, Vec::new());
    let is_cut_short = match read(&fetch, wanted, (limit, &mut found), sink.as_mut(), &mut absent, out, &mut |_| true).await {
        Err(error) if error.is_compacted() && found > 0 && (out.has_begun() || overtaken == Overtaken::ShowFound) => true,
        read => read.map(|()| false)?,
    };
    let is_missing = !absent.is_empty();
    for address in absent {
        Search::at(session, command).await?.report(session, address).await?;
    }
    sink.finish(out)?;
    if is_cut_short {
        overtaken::note_cut_short(found);
        return Ok(Outcome::Damaged);
    }
    if found == 0 && !session.interrupt.is_set() {
        absence::note_nothing(session, wanted).await?;
        return Ok(Outcome::Nothing);
    }
    Ok(if is_missing { Outcome::Nothing } else { Outcome::Found })
}

/// What reads the objects that are selected, as far as a sink needs them.
fn fetch(session: &Session, select: Selection, need: Extent) -> Fetch<'_> {
    Fetch::new(session, select, need).with_row_fields(|kind| row_fields(kind).map(|fields| &fields.all))
}

/// Hands what is wanted and `is_shown` to the sink; single objects that are not there are `absent`.
async fn read<'c, 'w>(
    fetch: &Fetch<'c>,
    wanted: &'w Wanted,
    (limit, found): (usize, &mut usize),
    sink: &mut dyn Sink<'c>,
    absent: &mut Vec<&'w Address>,
    out: &mut Output,
    is_shown: &mut dyn FnMut(&Item<'c>) -> bool,
) -> Result<()> {
    let addresses = match wanted {
        Wanted::Addresses(addresses) => addresses.iter().map(Some).collect(),
        Wanted::Everything => vec![None],
    };
    for address in addresses {
        let before = *found;
        if before == limit {
            break;
        }
        let mut items = pin!(fetch.items(address, limit - before));
        while let Some(item) = items.try_next().await? {
            if is_shown(&item) {
                sink.add(item, out)?;
                *found += 1;
            }
        }
        let single = address.filter(|address| matches!(address, Address::Objects { name: Some(_), .. } | Address::Key(_)));
        absent.extend(single.filter(|_| *found == before && !fetch.is_filtered()));
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
    let (asked, decoder) = (KeyFilter::any(session.prefix().await?, built_in()), decoder(session));
    let mut sink: Box<dyn Sink<'_> + '_> = match window::in_head(session).await? {
        None => sink(session, &Wanted::Addresses(Vec::new()), args, Pace::AtOnce, out.is_terminal()).await?,
        window => Box::new(documents::List::json_within(window)),
    };
    let mut outcome = Outcome::Nothing;
    for mut item in entries.into_iter().filter_map(|entry| asked.pick(entry)) {
        item.body = ReadBody::object(&decoder, &item.entry);
        sink.add(item, out)?;
        outcome = Outcome::Found;
    }
    sink.finish(out)?;
    Ok(outcome)
}

async fn sink<'c>(session: &'c Session, wanted: &Wanted, args: &ListArgs, pace: Pace, is_terminal: bool) -> Result<Box<dyn Sink<'c> + 'c>> {
    let (format, addresses) = (&session.format, if let Wanted::Addresses(addresses) = wanted { &addresses[..] } else { &[] });
    let is_one = pace == Pace::OneByOne || matches!(addresses, [one] if is_single(one));
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
