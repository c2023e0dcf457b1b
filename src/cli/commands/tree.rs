//! `ketcd tree`: the owners of objects above them, and what they own below.

use std::io::Write;
use std::sync::Arc;

use clap::Args;
use jiff::Timestamp;

use crate::cli::absence::read_subjects;
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::{Outcome, Result};
use ketcd_cluster::related::Family;
use ketcd_cluster::related::owners::{Owner, StoredObject};
use ketcd_cluster::rights::Question;
use ketcd_render::contract::common::Time;
use ketcd_render::contract::tree::{TreeList, TreeNode};
use ketcd_render::table::{View, readiness};
use ketcd_render::tree as render;

/// Show what owns objects, and what they own
///
/// Follows ownerReferences by uid: above an object its controllers, below it everything it owns, such as a Deployment's ReplicaSets and
/// their pods. Only the kinds that this kind owns are read, in its namespace, and custom resources named as owners there.
#[derive(Args, Debug)]
#[command(before_help = "\
# The ReplicaSets and pods of a Deployment\n\
ketcd -f snapshot.db tree deploy/web/tomcat\n\
# The same as they were at revision 600\n\
ketcd -f snapshot.db tree deploy/web/tomcat --rev 600")]
pub(crate) struct TreeArgs {
    /// The objects: kind/namespace/name, a kind, or a raw key.
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<String>,
}

impl TreeArgs {
    /// What it asks.
    pub(super) fn question(&self) -> Question<'_> {
        Question::Objects(&self.addresses)
    }
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: &TreeArgs, out: &mut Output) -> Result<Outcome> {
    if !matches!(session.format, Format::Table | Format::Json | Format::Ndjson) {
        return Err(session.format.unsupported("tree", "table, json, ndjson"));
    }
    let asked = read_subjects(session, "tree", &args.addresses).await?;
    let (at, many) = (asked.at, asked.many);
    if asked.objects.is_empty() {
        return Ok(Outcome::Nothing);
    }
    let now = session.moment().await?;
    let family = Family::of(session, asked.objects, at).await?;
    session.note_missed().await?;
    let view = View { now, is_wide: false, release: session.release() };
    let items: Vec<TreeNode> = family.subjects.iter().map(|(subject, owners)| tree(&family, subject, owners, view)).collect();
    match session.format {
        Format::Ndjson => {
            for item in &items {
                serde_json::to_writer(&mut *out, item)?;
                writeln!(out)?;
            }
        }
        Format::Json if many => render::write_json(&TreeList { items, kind: "List" }, out)?,
        Format::Json => render::write_json(&items[0], out)?,
        _ => render::write_text(&items, now, out)?,
    }
    Ok(Outcome::Found)
}

/// An object with what it owns, below its owners.
fn tree(family: &Family, subject: &StoredObject, owners: &[Owner], view: View) -> TreeNode {
    let mut node = TreeNode { asked: true, ..with_owned(family, subject, view, &mut Vec::new()) };
    for owner in owners {
        let above = match &owner.found {
            Some(found) => node_of(found, view),
            None => named(owner),
        };
        node = TreeNode { owned: vec![node], ..above };
    }
    node
}

/// An object and all below it. `above` are the uids over it: data may hold a circle.
fn with_owned(family: &Family, object: &StoredObject, view: View, above: &mut Vec<String>) -> TreeNode {
    let uid = object.uid().to_owned();
    let mut node = node_of(object, view);
    if !uid.is_empty() && !above.contains(&uid) {
        let owned: &[Arc<StoredObject>] = family.owned(&uid);
        above.push(uid);
        node.owned = owned.iter().map(|owned| with_owned(family, owned, view, above)).collect();
        above.pop();
    }
    node
}

fn node_of(object: &StoredObject, view: View) -> TreeNode {
    let text = |path: &str| object.object.pointer(path).and_then(serde_json::Value::as_str);
    let [ready, status] = readiness(object.kind.as_ref(), &object.object, view);
    TreeNode {
        asked: false,
        created: text("/metadata/creationTimestamp").and_then(|time| time.parse::<Timestamp>().ok()).map(Time),
        found: true,
        kind: text("/kind").unwrap_or_default().to_owned(),
        name: text("/metadata/name").unwrap_or_default().to_owned(),
        namespace: object.namespace().map(str::to_owned),
        owned: Vec::new(),
        ready,
        status,
        uid: object.uid().to_owned(),
    }
}

/// An owner of which only the reference is known.
fn named(owner: &Owner) -> TreeNode {
    let text = |field: &str| owner.reference[field].as_str().unwrap_or_default().to_owned();
    TreeNode {
        asked: false,
        created: None,
        found: false,
        kind: text("kind"),
        name: text("name"),
        namespace: None,
        owned: Vec::new(),
        ready: String::new(),
        status: String::new(),
        uid: text("uid"),
    }
}
