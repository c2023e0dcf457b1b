//! The difference of two states by spec: by kind, and what many objects have in common once.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::contract::spec_diff::{SpecDifference as JsonDifference, SpecDifferences};
use super::json;
use super::row::row;
use super::style::{self, StyledWrite, paint};
use super::value::columns;
use super::visible::visible;
use super::words::address;
use ketcd_cluster::WindowEnd;
use ketcd_cluster::diff::spec::{Naming, SpecDiff, SpecDifference, SpecField};
use ketcd_history::ChangeKind;

/// Columns of a field's path, before it runs over.
const PATH_COLUMNS: usize = 44;
/// Names that one line shows on a terminal.
const MAX_NAMES_SHOWN: usize = 8;

/// How a comparison by spec is shown.
#[derive(Clone, Copy, Debug)]
pub struct SpecShowing {
    /// Columns that values are cut at: the terminal's. `None` where nothing is cut.
    pub width: Option<usize>,
    /// Whether each reason for what was left out is shown.
    pub is_wide: bool,
}

/// Writes the differences as text, under a first line that says how many there are. `head` names the two states.
///
/// # Errors
/// The stream's.
pub fn write_text(head: &str, found: &SpecDiff, showing: SpecShowing, out: &mut dyn StyledWrite) -> io::Result<()> {
    let count = |kind| found.differences.iter().filter(|difference| difference.kind == kind).count();
    let (only_first, only_second, differ) = (count(ChangeKind::Deleted), count(ChangeKind::Added), count(ChangeKind::Modified));
    let counts = match (only_first, only_second, differ) {
        (0, 0, 0) => "nothing differs by spec".to_owned(),
        _ => format!("by spec: {only_first} only in the first, {only_second} only in the second, {differ} different"),
    };
    writeln!(out, "{}   {counts}", paint(style::STRONG, head))?;
    if let [Some(first), Some(second)] = found.releases
        && first != second
    {
        writeln!(out, "API servers of {first} and {second}")?;
    }
    let mut kinds: BTreeMap<(&str, &str), Vec<&SpecDifference>> = BTreeMap::new();
    for difference in &found.differences {
        kinds.entry((&difference.id.kind, &difference.id.group)).or_default().push(difference);
    }
    for ((kind, _), differences) in &kinds {
        writeln!(out, "{}", paint(style::STRONG, kind))?;
        write_kind(differences, showing, out)?;
    }
    write_not_decoded(found, out)?;
    write_defaults(found, out)?;
    write_left_out(found, showing, out)
}

/// Writes the differences of one kind: fields that several objects share, then the rest by object, then what one state alone has.
fn write_kind(differences: &[&SpecDifference], showing: SpecShowing, out: &mut dyn StyledWrite) -> io::Result<()> {
    let (shared, own) = folded(differences);
    for (places, fields) in shared {
        let names = places.iter().map(|place| name(differences[*place])).collect::<Vec<_>>();
        let count = format!("{} objects: ", names.len());
        write_names('~', &count, &names, showing, out)?;
        fields.into_iter().try_for_each(|field| write_field(field, showing, out))?;
    }
    for (difference, fields) in differences.iter().zip(own) {
        let is_changed = difference.kind == ChangeKind::Modified;
        if is_changed && (difference.counts || !fields.is_empty()) {
            write_names('~', "", &[name(difference)], showing, out)?;
            if difference.counts {
                let [first, second] = difference.names.each_ref().map(Vec::len);
                writeln!(out, "      {} {:<PATH_COLUMNS$} {first} → {second}", paint(style::of_sign('~'), '~'), "number of objects")?;
            }
            fields.into_iter().try_for_each(|field| write_field(field, showing, out))?;
        }
    }
    for (sign, kind) in [('-', ChangeKind::Deleted), ('+', ChangeKind::Added)] {
        let names: Vec<String> = differences.iter().filter(|difference| difference.kind == kind).map(|one| counted_name(one)).collect();
        if !names.is_empty() {
            write_names(sign, "", &names, showing, out)?;
        }
    }
    Ok(())
}

/// Fields that the same objects share, by the places of the objects.
type Shared<'d> = Vec<(Vec<usize>, Vec<&'d SpecField>)>;

/// Splits the fields of some objects: those that several share, most objects first, and for each object the others.
fn folded<'d>(differences: &[&'d SpecDifference]) -> (Shared<'d>, Vec<Vec<&'d SpecField>>) {
    let mut places_of: Vec<(&SpecField, Vec<usize>)> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (place, difference) in differences.iter().enumerate() {
        for field in &difference.fields {
            let text = format!("{} {:?}", field.path, field.change);
            let at = *known.entry(text).or_insert_with(|| {
                places_of.push((field, Vec::new()));
                places_of.len() - 1
            });
            places_of[at].1.push(place);
        }
    }
    let mut own: Vec<Vec<&SpecField>> = vec![Vec::new(); differences.len()];
    let mut shared: Shared<'d> = Vec::new();
    for (field, places) in places_of {
        match places[..] {
            [place] => own[place].push(field),
            _ => match shared.iter_mut().find(|(known, _)| *known == places) {
                Some((_, fields)) => fields.push(field),
                None => shared.push((places, vec![field])),
            },
        }
    }
    shared.sort_by_key(|(places, _)| std::cmp::Reverse(places.len()));
    (shared, own)
}

/// What an object is called: `shop/web`; of several that something made, what that is: `of deploy/shop/web`.
fn name(difference: &SpecDifference) -> String {
    let id = &difference.id;
    match &id.naming {
        Naming::Of { kind, name, index } => {
            let index = index.as_ref().map_or(String::new(), |index| format!(" with index {index}"));
            format!("of {}{index}", address(kind, &id.namespace, name))
        }
        naming if id.namespace.is_empty() => naming.to_string(),
        naming => format!("{}/{naming}", id.namespace),
    }
}

/// The same, with how many there are where there are several.
fn counted_name(difference: &SpecDifference) -> String {
    match difference.names.each_ref().map(Vec::len) {
        [0 | 1, 0 | 1] => name(difference),
        [first, second] => format!("{} ({})", name(difference), first.max(second)),
    }
}

fn write_names(sign: char, before: &str, names: &[String], showing: SpecShowing, out: &mut dyn StyledWrite) -> io::Result<()> {
    let shown = if showing.width.is_some() { MAX_NAMES_SHOWN } else { names.len() };
    let listed = names.iter().take(shown).map(|name| visible(name)).collect::<Vec<_>>().join(", ");
    let more = names.len().checked_sub(shown).filter(|more| *more > 0).map_or(String::new(), |more| format!(" and {more} more"));
    writeln!(out, "  {} {before}{listed}{more}", paint(style::of_sign(sign), sign))
}

fn write_field(field: &SpecField, showing: SpecShowing, out: &mut dyn StyledWrite) -> io::Result<()> {
    let row = row(&field.as_change());
    let width = columns(&row.path).max(PATH_COLUMNS);
    let text = showing.width.map_or_else(|| row.value.clone(), |columns| row.cut_to(columns.saturating_sub(9 + width).max(20)));
    writeln!(out, "      {} {:<PATH_COLUMNS$} {text}", paint(style::of_sign(row.sign), row.sign), row.path)
}

fn write_not_decoded(found: &SpecDiff, out: &mut dyn StyledWrite) -> io::Result<()> {
    let [first, second] = found.not_decoded.each_ref().map(Vec::len);
    if first + second == 0 {
        return Ok(());
    }
    let text = format!("not compared: {first} values of the first and {second} of the second cannot be decoded");
    writeln!(out, "{}", paint(style::WARNING, text))
}

/// Says which fields do not count as differences, because they are defaults of a release.
fn write_defaults(found: &SpecDiff, out: &mut dyn StyledWrite) -> io::Result<()> {
    if found.newer_defaults.is_empty() {
        return Ok(());
    }
    let told = found.newer_defaults.iter().map(|(default, count)| {
        let since = default.since.map_or(String::new(), |minor| format!(", since 1.{minor}"));
        format!("{} {} ({count}{since})", default.kind, default.field)
    });
    let text = format!("not counted, as later API servers write the default: {}", told.collect::<Vec<_>>().join("; "));
    writeln!(out, "{}", paint(style::FAINT, text))
}

/// Says what was left out; in full, each with how many each state has and why.
fn write_left_out(found: &SpecDiff, showing: SpecShowing, out: &mut dyn StyledWrite) -> io::Result<()> {
    if found.left_out.is_empty() {
        return Ok(());
    }
    if !showing.is_wide {
        let total: usize = found.left_out.iter().map(|(_, [first, second])| *first.max(second)).sum();
        let names = found.left_out.iter().map(|(reason, _)| reason.name).collect::<Vec<_>>().join(", ");
        return writeln!(out, "{}", paint(style::FAINT, format!("left out: {total} objects ({names}); -o wide says which and why")));
    }
    writeln!(out, "{}", paint(style::FAINT, "left out:"))?;
    found.left_out.iter().try_for_each(|(reason, [first, second])| {
        writeln!(out, "  {}", paint(style::FAINT, format!("{first} and {second}   {}: {}", reason.what, reason.why)))
    })
}

/// Writes the comparison as one JSON document. `states` are the names and ends of the two.
///
/// # Errors
/// The stream's.
pub fn write_document(states: [(&str, WindowEnd); 2], found: &SpecDiff, out: &mut dyn Write) -> io::Result<()> {
    json::write_document(&SpecDifferences::new(states, found), out)
}

/// Writes the differences as JSON, one a line.
///
/// # Errors
/// The stream's.
pub fn write_lines(found: &SpecDiff, out: &mut dyn Write) -> io::Result<()> {
    found.differences.iter().try_for_each(|difference| {
        serde_json::to_writer(&mut *out, &JsonDifference::from(difference))?;
        out.write_all(b"\n")
    })
}
