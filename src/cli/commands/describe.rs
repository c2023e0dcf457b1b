//! `ketcd describe`: one page about an object.

use std::io::Write;

use clap::Args;
use serde_json::Value;

use crate::cli::object_events::{self, About, EventFilter};
use crate::cli::output::{Format, Output};
use crate::cli::rights::Reads;
use crate::cli::session::Session;
use crate::cli::stored::StoredObject;
use crate::cli::{Outcome, Result, last_changes, node_pods, stored, subjects};
use ketcd_render::contract::describe::NodePods;
use ketcd_render::describe::{self as render, Description, Look, Owner};
use ketcd_render::json;
use ketcd_store::At;

/// So many of the last changes are shown.
const CHANGES: usize = 10;
/// Of no more objects each change is dated as closely as a long history allows.
const CLOSELY: usize = 8;

/// Show one page about an object
///
/// Prints what the object is and how it is, its owners, its conditions, its Events as far as they are stored, and its last changes with who
/// made them. With --rev or --at, as it was then. Reads the object, its owners, its Events and its last versions by their keys, and of a node
/// the pods too.
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
    /// What it reads.
    pub(super) fn reads(&self) -> Reads<'_> {
        Reads::of(&self.addresses)
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: &DescribeArgs, out: &mut Output) -> Result<Outcome> {
    if !matches!(session.format, Format::Table | Format::Json | Format::Ndjson) {
        return Err(session.format.unsupported("describe", "table, json, ndjson"));
    }
    let asked = subjects::read(session, "describe", &args.addresses).await?;
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
    let mut pods = node_pods::read(session, &asked.objects, asked.at).await?;
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

/// Reads what belongs to an object.
pub(super) async fn describe(
    session: &Session,
    subject: StoredObject,
    pods: Option<NodePods>,
    at: At,
    closely: bool,
) -> Result<Description> {
    let owners = stored::owners(session, &subject.object, at).await?;
    let filter = EventFilter { about: vec![About::object(&subject.object)], types: Vec::new() };
    let name = subject.object["metadata"]["name"].as_str().unwrap_or_default();
    let keys = object_events::keys_of(session, subject.namespace(), name).await?;
    let events = match session.may_read(&keys).await? {
        true => object_events::read(session, &[keys], at, &filter).await?,
        false => {
            session.refused.miss(&keys);
            Vec::new()
        }
    };
    let decoder = session.decoder.clone().without_managed_fields();
    let events = events.iter().filter_map(|held| held.object(&decoder)).collect();
    let last = last_changes::read(session, &subject.entry, CHANGES, closely).await?;
    Ok(Description {
        name: named(&subject),
        revision: subject.entry.mod_revision.0,
        owners: owners.into_iter().map(|owner| Owner { reference: owner.reference, found: owner.found.is_some() }).collect(),
        events,
        changes: last.changes,
        has_earlier_changes: last.has_earlier,
        pods,
        kind: subject.kind,
        object: subject.object,
    })
}

/// The object as an address: `pod/lab/ubuntu`; the key where its kind is not known.
fn named(subject: &StoredObject) -> String {
    let text = |field: &str| subject.object["metadata"].get(field).and_then(Value::as_str);
    match (&subject.kind, text("name")) {
        (Some(kind), Some(name)) => {
            let place = text("namespace").map_or(String::new(), |namespace| format!("{namespace}/"));
            format!("{}/{place}{name}", kind.singular_resource())
        }
        _ => String::from_utf8_lossy(&subject.entry.key).into_owned(),
    }
}
