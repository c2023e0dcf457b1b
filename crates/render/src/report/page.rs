//! The page itself: data for the script, each object's details deflated.
//!
//! The browser runs the one script whose digest the page names, that of `ketcd ui`, and asks the network for nothing: whatever data says, it stays
//! text. The script reads what is written here in `crates/serve/ui/src/source/packed.ts`.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::lines::ReportLine;
use super::packer::Packer;
use super::row::{ReportRow, Tick};
use crate::command_line::Invocation;
use crate::contract::triage::Triage;
use ketcd_cluster::survey::Unlisted;
use ketcd_history::ChangeKind;
use ketcd_store::Revision;

const PAGE_HTML: &str = include_str!("page.html");
/// A marker near the beginning of every page.
const GENERATOR_META: &[u8] = br#"<meta name="generator" content="ketcd report">"#;

/// Whether a file that begins like this is a page that was written here.
pub fn is_page(head: &[u8]) -> bool {
    head.starts_with(b"<!doctype html>") && head.windows(GENERATOR_META.len()).any(|window| window == GENERATOR_META)
}

/// What the page says of itself.
pub struct Heading<'a> {
    /// The title.
    pub title: &'a str,
    /// The source's name.
    pub source: &'a str,
    /// The release of Kubernetes.
    pub release: &'a str,
    /// The first and the last revision that can be looked at.
    pub revisions: (Revision, Revision),
    /// How far back the history reaches, in a sentence.
    pub reach: &'a str,
    /// Doubts that the reader must know of, one sentence each.
    pub notes: &'a [String],
    /// How ketcd was called: the page's commands begin so.
    pub invocation: &'a Invocation,
    /// Whether only a part of the objects was asked for.
    pub is_part: bool,
    /// The page's script, which reads what is written here (`crates/serve/ui`).
    pub script: &'a str,
    /// The page's style.
    pub style: &'a str,
}

/// What the page shows.
pub(super) struct Contents<'a> {
    /// From when to when, in milliseconds since 1970.
    pub span: (i64, i64),
    /// What is wrong at the end.
    pub triage: Triage<'a>,
    /// What stands out.
    pub standing: Vec<Value>,
    /// When nothing is readable.
    pub gaps: &'a [(i64, i64)],
    pub rows: &'a [ReportRow],
    pub unlisted: &'a [Unlisted],
    pub lines: &'a [ReportLine],
}

/// Writes the page, a row at a time.
pub(super) fn write(heading: &Heading<'_>, contents: &Contents<'_>, packer: &mut Packer, out: &mut dyn Write) -> io::Result<()> {
    let mut template = Template { rest: PAGE_HTML, out };
    template.upto("{{style digest}}")?.write_all(BASE64.encode(Sha256::digest(heading.style)).as_bytes())?;
    template.upto("{{script digest}}")?.write_all(BASE64.encode(Sha256::digest(heading.script)).as_bytes())?;
    template.upto("{{title}}")?.write_all(escape(heading.title).as_bytes())?;
    template.upto("{{style}}")?.write_all(heading.style.as_bytes())?;
    write_data(heading, contents, &mut Inert(template.upto("{{data}}")?))?;
    write_details(contents, packer, template.upto("{{details}}")?)?;
    template.upto("{{script}}")?.write_all(heading.script.as_bytes())?;
    template.out.write_all(template.rest.as_bytes())
}

/// The page with places to fill.
struct Template<'t, 'o> {
    rest: &'t str,
    out: &'o mut dyn Write,
}

impl Template<'_, '_> {
    /// Writes as far as a place.
    fn upto(&mut self, mark: &str) -> io::Result<&mut dyn Write> {
        let (before, after) = self.rest.split_once(mark).ok_or_else(|| io::Error::other(format!("the page has no place for {mark}")))?;
        self.rest = after;
        self.out.write_all(before.as_bytes())?;
        Ok(self.out)
    }
}

/// JSON that cannot end the script element it lies in.
struct Inert<'o>(&'o mut dyn Write);

impl Write for Inert<'_> {
    fn write(&mut self, json: &[u8]) -> io::Result<usize> {
        for (index, part) in json.split(|&byte| byte == b'<').enumerate() {
            if index > 0 {
                self.0.write_all(b"\\u003c")?;
            }
            self.0.write_all(part)?;
        }
        Ok(json.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn write_data(heading: &Heading<'_>, contents: &Contents<'_>, out: &mut Inert<'_>) -> io::Result<()> {
    let Contents { span, triage, standing, gaps, rows, unlisted, lines } = contents;
    let head = json!({
        "title": heading.title, "source": heading.source, "reach": heading.reach, "notes": heading.notes,
        "release": heading.release, "revisions": [heading.revisions.0.0, heading.revisions.1.0],
        "call": heading.invocation.ketcd("").to_string(), "findings": triage.findings, "changes": triage.changes, "warnings": triage.warnings,
        "lookedAt": (!heading.is_part).then_some(&triage.looked_at), "stand": standing, "t0": span.0, "t1": span.1, "gaps": gaps.iter().map(|gap| [gap.0 - span.0, gap.1 - span.0]).collect::<Vec<_>>(),
    });
    let head = head.to_string();
    out.write_all(head.strip_suffix('}').unwrap_or(&head).as_bytes())?;
    out.write_all(b",\"rows\":[")?;
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        let row = match *line {
            ReportLine::Object(row, depth) => summary(&rows[row], depth, span.0),
            ReportLine::Unlisted(group) => counted(&unlisted[group]),
        };
        serde_json::to_writer(&mut *out, &row)?;
    }
    out.write_all(b"]}")
}

/// What clicks open, in the order of the rows.
fn write_details(contents: &Contents<'_>, packer: &mut Packer, out: &mut dyn Write) -> io::Result<()> {
    let mut packed = Vec::new();
    out.write_all(b"[")?;
    for (index, line) in contents.lines.iter().enumerate() {
        packed.clear();
        if let ReportLine::Object(row, _) = *line {
            details(&contents.rows[row], packer, &mut packed)?;
        }
        let separator = if index > 0 { "," } else { "" };
        write!(out, "{separator}\"{}\"", BASE64.encode(&packed))?;
    }
    out.write_all(b"]")
}

/// What the row shows without a click. Times are milliseconds after the report's beginning.
fn summary(row: &ReportRow, depth: usize, begin: i64) -> Value {
    let relative = |time: Option<i64>| time.map(|time| time - begin);
    let states: Vec<Value> = row.states.iter().map(|(time, state)| json!([relative(*time), state.tone.as_str(), state.label])).collect();
    let tick = |Tick { time, kind, label, revision, .. }: &Tick| json!([relative(*time), letter(*kind), label, revision]);
    let ticks: Vec<Value> = row.ticks.iter().map(tick).collect();
    let events: Vec<Value> =
        row.events.iter().map(|event| json!([relative(event.time), event.reason, event.kind.as_deref() == Some("Warning")])).collect();
    json!({
        "k": row.kind, "ns": row.namespace, "n": row.name, "i": row.address, "u": row.uid, "o": row.last.node, "d": depth, "b": relative(row.begin), "f": relative(row.readable), "e": relative(row.end),
        "s": states, "c": ticks, "v": events, "a": row.decisions.count(), "x": row.vanished,
    })
}

/// The row for objects without a row of their own: how many are in each state at the end, the largest number first.
fn counted(unlisted: &Unlisted) -> Value {
    let states: Vec<Value> = unlisted
        .states
        .iter()
        .map(|(state, count)| match state {
            Some(state) => json!([state.tone.as_str(), state.label, count]),
            None => json!(["done", "gone", count]),
        })
        .collect();
    let count: usize = unlisted.states.iter().map(|(_, count)| count).sum();
    json!({
        "k": unlisted.kind, "ns": unlisted.namespace, "n": format!("{count} without a row"), "d": 0, "b": null, "f": null, "e": null,
        "s": [], "c": [], "v": [], "a": 0, "x": false, "q": states,
    })
}

fn letter(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "+",
        ChangeKind::Modified => "~",
        ChangeKind::Deleted => "-",
    }
}

/// What a click opens, deflated.
fn details(row: &ReportRow, packer: &mut Packer, out: &mut Vec<u8>) -> io::Result<()> {
    let mut text = format!("{{\"uid\":{},\"left\":{},\"versions\":[", json!(row.uid), row.left_out).into_bytes();
    row.versions.write(&mut text, packer, out)?;
    text.extend_from_slice(b"],\"decisions\":[");
    row.decisions.write(&mut text, packer, out)?;
    text.extend_from_slice(b"],\"events\":");
    serde_json::to_writer(&mut text, &row.events)?;
    text.push(b'}');
    packer.append(&text, out)?;
    Packer::end(out);
    Ok(())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
