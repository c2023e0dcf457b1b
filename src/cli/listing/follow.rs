//! `get -w`: the objects as they are, then each change of one of them, as kubectl prints them.

use futures_util::TryStreamExt;
use jiff::Timestamp;

use super::tables::Tables;
use super::{Item, ListArgs, ReadBody, Sink, Wanted, documents, is_single, names, templates};
use crate::cli::absence::{Missing, Search, note_nothing, note_nothing_of};
use crate::cli::output::{Format, Output, note};
use crate::cli::session::Session;
use crate::cli::{Outcome, Result};
use ketcd_cluster::read::{Keys, Read, changes_from, own_key};
use ketcd_history::{Change, ObjectVersion};
use ketcd_kube::{Body as Decoded, KeyResource, ObjectPath, RegistryKey};
use ketcd_render::style::StyledWrite;
use ketcd_render::table::{LabelColumns, View};
use ketcd_store::{At, KeyValue, Revision, Until, Want};

/// What `-w` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Watched {
    /// The objects as they are, then their changes.
    ObjectsAndChanges,
    /// The changes alone.
    Changes,
}

/// Prints what the words name as `watched` says: a live etcd is followed until the command is interrupted, a file to its end.
pub(in crate::cli) async fn follow(
    session: &Session,
    words: &[String],
    args: &ListArgs,
    watched: Watched,
    out: &mut Output,
) -> Result<Outcome> {
    let keys = Keys::of(session, words).await?;
    if session.format == Format::Raw {
        return Err(session.format.unsupported(
            "get --watch",
            "table, wide, json, yaml, kyaml, name, ndjson, jsonpath, jsonpath-as-json, go-template, custom-columns",
        ));
    }
    let select = args.select.read()?;
    let newest = session.source.span().await?.newest;
    let at = match session.at {
        At::Newest => newest,
        At::Revision(revision) => revision,
    };
    out.set_content(session.format.content());
    let mut printer = Printer::new(session, args, &keys, out).await?;
    let mut is_missing = false;
    if watched == Watched::ObjectsAndChanges {
        let mut missing = Missing::of(session, &keys).await?;
        for range in &keys.ranges {
            let mut entries = session.source.range(range.clone(), At::Revision(at), Want::Values).await?.entries;
            while let Some(entry) = entries.try_next().await? {
                missing.saw(&entry.key);
                let object = session.reporting_decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body;
                if matches!(&object, Decoded::Object(object) if !select.fits(object)) {
                    continue;
                }
                printer.print_first(session, &keys, &entry, ObjectVersion::from(object), out).await?;
            }
        }
        printer.end_first(out)?;
        is_missing = missing.report(session, &Search::at(session, "get").await?).await?;
        if printer.printed == 0 {
            note_nothing(session, &Wanted::Addresses(keys.addresses.clone())).await?;
        }
    }
    out.flush()?;
    let past = if at < newest { Some(session.clock().await?) } else { None };
    let mut changes = changes_from(session, keys.clone(), at.after(), Until::Forever).await?;
    while let Some(read) = changes.try_next().await? {
        match read {
            Read::Item(change) if select.takes(&change) => {
                printer.now = match past.filter(|_| change.revision <= newest) {
                    Some(clock) => clock.date(change.revision).map(|dated| dated.time),
                    None => Some(Timestamp::now()),
                };
                printer.print_change(session, &keys, change, out).await?;
                out.flush()?;
            }
            Read::Item(_) => {}
            Read::Gap { from, to } => note(&format!("revisions {from} to {to} were compacted away before they could be read: a gap")),
        }
    }
    if printer.printed == 0 && watched == Watched::Changes && !session.interrupt.is_set() {
        note_nothing_of(session, &keys, &format!("no change after revision {at}")).await?;
    }
    Ok(if printer.printed == 0 || is_missing { Outcome::Nothing } else { Outcome::Found })
}

/// Prints objects one by one in the format asked for.
struct Printer<'a> {
    format: &'a Format,
    args: &'a ListArgs,
    tables: Option<Tables>,
    is_terminal: bool,
    shows_managed_fields: bool,
    now: Option<Timestamp>,
    printed: usize,
}

impl<'a> Printer<'a> {
    async fn new(session: &'a Session, args: &'a ListArgs, keys: &Keys, out: &Output) -> Result<Self> {
        let now = session.moment_of_ages().await?;
        let is_wide = session.format == Format::Wide;
        let tables = matches!(session.format, Format::Table | Format::Wide).then(|| {
            let labels = LabelColumns { columns: args.label_columns.clone(), all: args.show_labels };
            let first = keys.addresses.first().and_then(|address| address.kind());
            let several = keys.addresses.iter().any(|address| address.kind() != first);
            let of_list = !keys.addresses.iter().all(is_single);
            Tables::new(session, View { now, is_wide, release: session.release() }, labels, args.no_headers, false)
                .with_kinds(several || args.show_kind)
                .of_list(of_list)
        });
        let (is_terminal, shows_managed_fields) = (out.is_terminal(), session.args.show_managed_fields);
        Ok(Self { format: &session.format, args, tables, is_terminal, shows_managed_fields, now, printed: 0 })
    }

    /// Prints an object as it is, before any change.
    async fn print_first(
        &mut self,
        session: &Session,
        keys: &Keys,
        entry: &KeyValue,
        version: ObjectVersion,
        out: &mut dyn StyledWrite,
    ) -> Result<()> {
        let Some(item) = item(session, keys, entry, self.body(&version)).await? else { return Ok(()) };
        match &mut self.tables {
            Some(tables) => {
                self.printed += 1;
                tables.add(item, out)
            }
            None => self.print(item, out),
        }
    }

    /// Writes a table's rows, which wait for one another to be aligned.
    fn end_first(&mut self, out: &mut dyn StyledWrite) -> Result<()> {
        self.tables.as_mut().map_or(Ok(()), |tables| tables.write_rows(out))
    }

    /// Prints what a change made of an object; of a deletion the object as it was last.
    async fn print_change(&mut self, session: &Session, keys: &Keys, change: Change, out: &mut dyn StyledWrite) -> Result<()> {
        let version = if change.after == ObjectVersion::Absent { &change.before } else { &change.after };
        let entry = key_only(&change);
        match item(session, keys, &entry, self.body(version)).await? {
            Some(item) => self.print(item, out),
            None => Ok(()),
        }
    }

    fn print(&mut self, item: Item<'_>, out: &mut dyn StyledWrite) -> Result<()> {
        let is_first = self.printed == 0;
        self.printed += 1;
        if let Some(tables) = &mut self.tables {
            return tables.add_below(item, self.now, out);
        }
        if *self.format == Format::Yaml && !is_first {
            out.write_all(b"---\n")?;
        }
        let mut sink: Box<dyn Sink> = match self.format {
            Format::Name => Box::new(names::Names),
            Format::Json => Box::new(documents::Single::json()),
            Format::Yaml => Box::new(documents::Single::yaml()),
            Format::Kyaml => Box::new(documents::Single::kyaml()),
            Format::JsonPath(template) => Box::new(templates::Template::new(template, true)?),
            Format::JsonPathAsJson(template) => Box::new(templates::Template::as_json(template, true)?),
            Format::CustomColumns(columns) => {
                Box::new(templates::Columns::new(columns, self.args.no_headers || !is_first, self.is_terminal)?)
            }
            Format::CustomColumnsFile(text) => {
                Box::new(templates::Columns::of_file(text, self.args.no_headers || !is_first, self.is_terminal)?)
            }
            Format::GoTemplate(template) => Box::new(templates::GoTemplates::new(template, true)?),
            Format::Ndjson | Format::Table | Format::Wide | Format::Raw => Box::new(documents::ObjectLines),
        };
        sink.add(item, out)?;
        sink.finish(out)
    }

    fn body(&self, version: &ObjectVersion) -> ReadBody {
        match version {
            ObjectVersion::Object(object) => {
                let mut object = (**object).clone();
                if !self.shows_managed_fields {
                    object.remove_managed_fields();
                }
                ReadBody::Object(object)
            }
            ObjectVersion::Opaque(opaque) => ReadBody::Opaque(opaque.clone()),
            ObjectVersion::Absent | ObjectVersion::Unreadable => ReadBody::None,
        }
    }
}

/// An object with what its key says of it; `None` where the key is none of those that the address is about.
async fn item<'a>(session: &'a Session, keys: &'a Keys, entry: &'a KeyValue, body: ReadBody) -> Result<Option<Item<'a>>> {
    let prefix = session.prefix().await?;
    let address = keys.ranges.iter().zip(&keys.addresses).find(|(range, _)| range.contains(&entry.key)).map(|(_, address)| address);
    let key = match address.and_then(|address| address.kind()) {
        Some(kind) => match own_key(kind, prefix, &entry.key) {
            None => return Ok(None),
            own => own,
        },
        None => RegistryKey::parse(prefix, &entry.key, session.kinds().await?).object(),
    };
    let kind = match key {
        Some(ObjectPath { resource: KeyResource::Known(kind), .. }) => Some(kind),
        _ => None,
    };
    Ok(Some(Item { kind, key, entry, body }))
}

/// The key of a change, whose bytes are not needed any more.
fn key_only(change: &Change) -> KeyValue {
    KeyValue {
        key: change.key.clone(),
        value: bytes::Bytes::new(),
        create_revision: Revision(0),
        mod_revision: change.revision,
        version: 0,
        replaced: Revision(0),
        lease: 0,
    }
}
