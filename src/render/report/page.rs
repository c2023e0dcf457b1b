//! The page itself: data for the script, each object's details deflated.
//!
//! The browser runs the one script whose digest the page names, and asks the network for nothing: whatever data says, it stays text.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::row::{ObjectRow, Tick};
use ketcd_history::ChangeKind;

const HTML: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Stands near the beginning of every page.
const GENERATOR: &[u8] = br#"<meta name="generator" content="ketcd report">"#;

/// Whether a file that begins like this is a page that was written here.
pub fn is_page(head: &[u8]) -> bool {
    head.starts_with(b"<!doctype html>") && head.windows(GENERATOR.len()).any(|window| window == GENERATOR)
}

/// What the page says of itself.
pub struct Heading<'a> {
    /// The title.
    pub title: &'a str,
    /// The source's name.
    pub source: &'a str,
    /// How far back the history reaches, in a sentence.
    pub reach: &'a str,
    /// Doubts the reader must know: each a sentence.
    pub notes: &'a [String],
}

/// Writes the page.
pub(super) fn write(
    heading: &Heading<'_>,
    span: (i64, i64),
    gaps: &[(i64, i64)],
    rows: &[ObjectRow],
    order: &[(usize, usize)],
    out: &mut dyn Write,
) -> io::Result<()> {
    let shown: Vec<Value> = order.iter().map(|&(row, depth)| summary(&rows[row], depth, span.0)).collect();
    let details = order.iter().map(|&(row, _)| details(&rows[row])).collect::<io::Result<Vec<String>>>()?;
    let data = json!({
        "title": heading.title, "source": heading.source, "reach": heading.reach, "notes": heading.notes,
        "t0": span.0, "t1": span.1, "gaps": gaps.iter().map(|gap| [gap.0 - span.0, gap.1 - span.0]).collect::<Vec<_>>(),
        "rows": shown,
    });
    let mut rest = HTML;
    for (mark, filling) in [
        ("{{digest}}", &BASE64.encode(Sha256::digest(SCRIPT))),
        ("{{title}}", &escape(heading.title)),
        ("{{style}}", &STYLE.to_owned()),
        ("{{data}}", &inert(&data)),
        ("{{details}}", &inert(&json!(details))),
        ("{{script}}", &SCRIPT.to_owned()),
    ] {
        let (before, after) = rest.split_once(mark).ok_or_else(|| io::Error::other(format!("the page has no place for {mark}")))?;
        out.write_all(before.as_bytes())?;
        out.write_all(filling.as_bytes())?;
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

/// What the row shows without a click. Times are milliseconds after the report's beginning.
fn summary(row: &ObjectRow, depth: usize, begin: i64) -> Value {
    let relative = |time: Option<i64>| time.map(|time| time - begin);
    let states: Vec<Value> = row.states.iter().map(|(time, state)| json!([relative(*time), state.tone.as_str(), state.label])).collect();
    let ticks: Vec<Value> = row.ticks.iter().map(|Tick { time, kind, label }| json!([relative(*time), letter(*kind), label])).collect();
    let events: Vec<Value> = row
        .events
        .iter()
        .map(|event| json!([event["t"].as_i64().map(|time| time - begin), event["reason"], event["type"] == "Warning"]))
        .collect();
    json!({
        "k": row.kind, "ns": row.namespace, "n": row.name, "d": depth, "b": relative(row.begin), "f": relative(row.readable), "e": relative(row.end),
        "s": states, "c": ticks, "v": events, "a": row.decisions.len(), "x": row.vanished,
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
fn details(row: &ObjectRow) -> io::Result<String> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    serde_json::to_writer(
        &mut encoder,
        &json!({"uid": row.uid, "versions": row.versions, "events": row.events, "decisions": row.decisions}),
    )?;
    Ok(BASE64.encode(encoder.finish()?))
}

/// JSON that cannot end the script element it lies in.
fn inert(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
