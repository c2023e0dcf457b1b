//! One page about one object: what it is, what is wrong with it, who owns it, what was said of it and what changed last.

mod conditions;
mod containers;
mod generic;
mod json;
mod metadata;
mod node;
mod page;
mod pages;
mod pod;
mod workload;

use std::io;

use jiff::Timestamp;
use serde_json::Value;

use super::change_text::{ChangeWriter, Options};
use super::command_line::Invocation;
use super::event::{EventTable, EventView};
use super::style::{self, FAINT, STRONG, StyledWrite, paint};
use super::table::{Cell, STATE_HEADINGS, TableView, cells, fields};
use super::value::{broken, columns};
use ketcd_history::state::state_of;
use ketcd_kube::Release;

pub use json::document;
use page::Page;
pub use pages::{PageForm, Pages};

pub use ketcd_cluster::describe::{DescribedOwner, Description};

/// How a page is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// The moment ages are counted to; unknown where nothing dates it.
    pub now: Option<Timestamp>,
    /// The release whose API server prints.
    pub release: Release,
    /// Columns of the terminal.
    pub width: Option<usize>,
    /// Whether the source holds the state of one moment, which has no changes.
    pub is_one_moment: bool,
    /// The call of ketcd that suggested commands begin with.
    pub invocation: &'a Invocation,
}

impl Look<'_> {
    fn view(self) -> TableView {
        TableView { now: self.now, is_wide: false, release: self.release }
    }

    /// How long ago a time of an object was, as kubectl writes it; empty if there is none.
    fn ago(self, time: Option<&Value>) -> String {
        match fields::time(time) {
            Some(time) => format!("{} ago", super::table::age(self.now, time)),
            None => String::new(),
        }
    }
}

/// Writes the page.
///
/// # Errors
/// The stream's.
pub fn write_text(description: &Description, look: Look<'_>, out: &mut dyn StyledWrite) -> io::Result<()> {
    write_headline(description, look, out)?;
    let mut page = Page::new(look.width);
    metadata::add(description, look, &mut page);
    let object: &Value = &description.object;
    let kind = description.kind.as_deref().filter(|kind| !kind.is_custom()).map_or("", |kind| &*kind.kind);
    match kind {
        "Pod" => pod::add(object, look, &mut page),
        "Node" => node::add(object, description.pods.as_ref(), look, &mut page),
        _ if workload::is_workload(kind) => workload::add(kind, object, look, &mut page),
        _ => generic::add(object, &mut page)?,
    }
    page.write(out)?;
    conditions::write(object, look, out)?;
    write_events(description, look, out)?;
    write_changes(description, look, out)
}

/// Writes the object and what its row in a table says: `pod/lab/ubuntu  ready 1/1, status Running, …`.
fn write_headline(description: &Description, look: Look<'_>, out: &mut dyn StyledWrite) -> io::Result<()> {
    let cells = cells(description.kind.as_ref(), &description.object, look.view());
    let headline = headline(description, &cells);
    let says = |heading: &str| cells.iter().find(|(own, cell)| own == heading && !cell.is_empty()).map(|(_, cell)| cell);
    let state = STATE_HEADINGS.into_iter().find_map(|heading| Some(format!("{} {}", heading.to_lowercase(), says(heading)?)));
    let style = style::of_tone(state_of(&description.object).tone);
    for line in look.width.map_or_else(|| vec![headline.clone()], |width| broken(&headline, width)) {
        match state.as_deref().filter(|_| style != style::PLAIN).and_then(|state| line.split_once(state).map(|around| (state, around))) {
            Some((state, (before, after))) => {
                writeln!(out, "{}{}{}", paint(STRONG, before), paint(style, state), paint(STRONG, after))?;
            }
            None => writeln!(out, "{}", paint(STRONG, line))?,
        }
    }
    Ok(())
}

fn headline(description: &Description, cells: &[Cell]) -> String {
    let shown = cells.iter().filter(|(heading, cell)| heading != "NAME" && !cell.is_empty() && cell != "<none>" && cell != "<unset>");
    let facts: Vec<String> = shown.map(|(heading, cell)| format!("{} {cell}", heading.to_lowercase())).collect();
    format!("{}  {}", description.name, facts.join(", ")).trim_end().to_owned()
}

fn write_events(description: &Description, look: Look<'_>, out: &mut dyn StyledWrite) -> io::Result<()> {
    if description.events.is_empty() {
        return writeln!(out, "\n{}", paint(STRONG, "Events: none stored"));
    }
    writeln!(out, "\n{}", paint(STRONG, "Events"))?;
    let view = EventView {
        now: look.now,
        with_namespace: false,
        with_object: false,
        with_source: true,
        without_headings: false,
        width: look.width,
    };
    let mut table = EventTable::new(view);
    description.events.iter().for_each(|event| table.push(event));
    table.write(out)
}

fn write_changes(description: &Description, look: Look<'_>, out: &mut dyn StyledWrite) -> io::Result<()> {
    if look.is_one_moment {
        return writeln!(out, "\n{}", paint(FAINT, "API objects are the state of one moment: they show no changes"));
    }
    writeln!(out, "\n{}", paint(STRONG, "Last changes"))?;
    let mut writer = ChangeWriter::new(Options { diff: false, all_fields: false, many: false, wide: false, width: look.width });
    for change in &description.changes {
        writer.write(change, &description.name, out)?;
    }
    if writer.has_inferred() {
        writeln!(out, "{}", paint(FAINT, "* inferred from what changed"))?;
    }
    let what = if description.has_earlier_changes { "field by field, with the earlier ones:" } else { "field by field:" };
    let command = look.invocation.ketcd("history").word(&description.name).and("--diff").to_string();
    let fits = look.width.is_none_or(|width| columns(what) + 1 + columns(&command) <= width);
    let between = if fits { " " } else { "\n  " };
    writeln!(out, "{}{between}{}", paint(FAINT, what), paint(FAINT, command))
}
