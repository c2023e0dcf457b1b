//! `ketcd describe`: one page about an object.

use std::io::Write;

use crate::cli::absence::read_subjects;
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::{Outcome, Result};
use clap::Args;
use ketcd_cluster::describe::{Description, describe, node_pods};
use ketcd_cluster::rights::Question;
use ketcd_render::describe::{self as render, Look};
use ketcd_render::json;

/// Up to this many objects, each change is dated as closely as a long history allows.
const CLOSELY: usize = 8;

/// Show one page about an object
///
/// Prints what the object is, its status, its owners, its conditions, its stored Events, and its last changes with their authors. With
/// --rev or --at, shows it as it was then. Only the object, its owners, its Events and its last versions are read; for a node, all pods as
/// well.
#[derive(Args, Debug)]
#[command(before_help = "\
# A pod, its Events and its last changes\n\
ketcd -f snapshot.db describe pod/lab/ubuntu\n\
# A node and its pods as they were at 22:20\n\
ketcd -f snapshot.db describe node/node2 --at 22:20")]
pub(crate) struct DescribeArgs {
    /// The objects: kind/namespace/name, a kind, a kind followed by names, or a raw key.
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<String>,
}

impl DescribeArgs {
    /// What it asks.
    pub(super) fn question(&self) -> Question<'_> {
        Question::Objects(&self.addresses)
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: &DescribeArgs, out: &mut Output) -> Result<Outcome> {
    if !matches!(session.format, Format::Table | Format::Json | Format::Ndjson) {
        return Err(session.format.unsupported("describe", "table, json, ndjson"));
    }
    let asked = read_subjects(session, "describe", &args.addresses).await?;
    if asked.objects.is_empty() {
        if session.format == Format::Json && asked.many {
            writeln!(out, "{{\"items\":[],\"kind\":\"List\"}}")?;
        }
        return Ok(Outcome::Nothing);
    }
    let look = Look {
        now: session.moment().await?,
        release: session.release(),
        width: out.width(),
        is_one_moment: session.source.is_one_moment(),
    };
    let closely = asked.objects.len() <= CLOSELY;
    let mut pods = node_pods(session, &asked.objects, asked.at).await?;
    for (place, object) in asked.objects.into_iter().enumerate() {
        let name = object.object["metadata"]["name"].as_str().filter(|_| object.is_node());
        let pods = name.and_then(|name| pods.remove(name));
        let description = describe(session, object, pods, asked.at, closely).await?;
        write(session, &description, (place, asked.many), look, out)?;
        out.flush()?;
    }
    session.note_missed().await?;
    if session.format == Format::Json && asked.many {
        writeln!(out, "],\"kind\":\"List\"}}")?;
    }
    Ok(Outcome::Found)
}

/// Writes one of the pages, `place` of which were written before.
fn write(session: &Session, description: &Description, (place, many): (usize, bool), look: Look, out: &mut Output) -> Result<()> {
    let document = || render::document(description, session.args.managed_fields());
    match session.format {
        Format::Ndjson => {
            json::write_compact(&document(), out)?;
            writeln!(out)?;
        }
        Format::Json if many => {
            write!(out, "{}", if place == 0 { "{\"items\":[" } else { "," })?;
            json::write_compact(&document(), out)?;
        }
        Format::Json => {
            json::write_pretty(&document(), out)?;
            writeln!(out)?;
        }
        _ => {
            write!(out, "{}", if place == 0 { "" } else { "\n\n" })?;
            render::write_text(description, look, out)?;
        }
    }
    Ok(())
}
