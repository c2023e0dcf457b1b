//! `ketcd blame`: the object as YAML, each line with the revision, time and manager that last set it.

use clap::Args;
use futures_util::TryStreamExt;

use crate::render::blame as render;
use crate::render::change::Shown;
use ketcd_history::AttributedChange;
use ketcd_history::blame::Blame;
use ketcd_store::{At, Until};

use crate::cli::absence::{Missing, Question};
use crate::cli::changes::{Keys, Read, changes};
use crate::cli::output::{Format, Output, note};
use crate::cli::session::Session;
use crate::cli::{Error, Outcome, Result};

/// Shows an object as YAML, each line with the revision, time and manager that last set it.
#[derive(Args, Debug)]
pub(crate) struct BlameArgs {
    /// The object: pod/shop/web-0, or a raw key.
    #[arg(value_name = "ADDRESS", required = true, add = crate::cli::complete::addresses())]
    addresses: Vec<String>,
}

/// Runs the command.
pub(super) async fn run(session: &Session, args: &BlameArgs, out: &mut Output) -> Result<Outcome> {
    let keys = Keys::of(session, &args.addresses).await?;
    if keys.many {
        return Err(Error::new("blame is of one object").hint("write kind/namespace/name"));
    }
    let newest = match session.at {
        At::Newest => session.source.span().await?.newest,
        At::Revision(revision) => revision,
    };
    if session.source.is_one_moment() {
        session.note_reach().await?;
    }
    let clock = session.clock().await?;
    let mut missing = Missing::of(session, &keys).await?;
    let mut blame = Blame::default();
    let mut changes = changes(session, keys, Until::Revision(newest));
    while let Some(read) = changes.try_next().await? {
        if let Read::Item(change) = read {
            missing.saw(&change.key);
            blame.observe(&AttributedChange::new(change, clock));
        }
    }
    let Some((object, lines)) = blame.finish() else {
        if !missing.report(session, &Question::up_to(session, "blame").await?).await? {
            note("nothing found: no version of it is readable");
        }
        return Ok(Outcome::Nothing);
    };
    let shown = Shown { managed_fields: session.args.show_managed_fields };
    match &session.format {
        Format::Table | Format::Wide | Format::Yaml => render::write_text(&object, &lines, shown, out)?,
        Format::Json | Format::Ndjson => render::write_json(object, &lines, shown, out)?,
        other => return Err(other.unsupported("blame", "yaml, json")),
    }
    Ok(Outcome::Found)
}
