//! `ketcd blame`: the object as YAML, each line with the revision, time and manager that last set it.

use clap::Args;

use ketcd_history::blame::Blamed;
use ketcd_kube::Object;
use ketcd_render::blame as render;

use crate::cli::input::selectors::SelectArgs;
use crate::cli::outcome::{Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::absence::{Missing, Search, note_nothing_of};
use crate::cli::session::command::Ask;
use ketcd_cluster::Selection;
use ketcd_cluster::read::Keys;
use ketcd_cluster::rights::Question;

/// Show who last set each field of an object
///
/// Prints the object as YAML, or several one after the other. Each line begins with the revision and the time at which its value was last set, and with the field manager
/// that set it, as far as the readable history and managedFields show it. With --rev or --at, shows the object as it was then.
#[derive(Args, Debug)]
#[command(before_help = "\
# Who set each line of a Deployment\n\
ketcd -f snapshot.db blame deploy/web/tomcat\n\
# The same as it was at revision 600\n\
ketcd -f snapshot.db blame deploy/web/tomcat --rev 600")]
pub(crate) struct BlameArgs {
    /// The objects: kind/namespace/name, a kind, a kind followed by names, or a raw key.
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<String>,
    #[command(flatten)]
    select: SelectArgs,
}

impl Ask for BlameArgs {
    fn question(&self) -> Question<'_> {
        Question::Blame(&self.addresses)
    }

    fn selection(&self) -> Result<Selection> {
        self.select.read()
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        if !matches!(session.format, Format::Table | Format::Wide | Format::Yaml | Format::Json | Format::Ndjson) {
            return Err(session.format.unsupported("blame", "yaml, json, ndjson"));
        }
        let asked = Keys::of(&session.cluster, &self.addresses).await?;
        let is_list = asked.many && session.format == Format::Json;
        let (mut written, mut is_told) = (0, false);
        for keys in session.cluster.keys_one_by_one(&self.addresses).await? {
            let mut missing = Missing::of(session, &keys).await?;
            let blamed = session.cluster.blame(keys.clone()).await?;
            keys.ranges.iter().filter(|_| blamed.is_there).for_each(|range| missing.saw(&range.start));
            if let Some(object) = blamed.blame.finish() {
                if session.format != Format::Ndjson {
                    render::write_between(is_list, written == 0, out)?;
                }
                write(session, &object, out)?;
                written += 1;
            } else {
                is_told |= missing.report(session, &Search::up_to(session, "blame").await?).await?;
            }
        }
        if is_list {
            render::write_end(written == 0, out)?;
        }
        if written == 0 && !is_told {
            note_nothing_of(session, &asked, "no readable version").await?;
        }
        Ok(if written == 0 || is_told { Outcome::Nothing } else { Outcome::Found })
    }
}

/// Writes one object and who set its fields.
fn write(session: &Session, (object, lines): &(Object, Blamed), out: &mut Output) -> Result<()> {
    let managed_fields = session.managed_fields();
    match session.format {
        Format::Json | Format::Ndjson => render::write_json(object, lines, managed_fields, out)?,
        _ => render::write_text(object, lines, managed_fields, out.width().filter(|_| session.format != Format::Wide), out)?,
    }
    Ok(())
}
