//! `ketcd blame`: the object as YAML, each line with the revision, time and manager that last set it.

use clap::Args;

use ketcd_render::blame as render;

use crate::cli::absence::{Missing, Search};
use crate::cli::output::{Format, Output, note};
use crate::cli::running::Ask;
use crate::cli::session::Session;
use crate::cli::{Error, Outcome, Result};
use ketcd_cluster::read::Keys;
use ketcd_cluster::rights::Question;

/// Show who last set each field of an object
///
/// Prints the object as YAML. Each line begins with the revision and the time at which its value was last set, and with the field manager
/// that set it, as far as the readable history and managedFields show it. With --rev or --at, shows the object as it was then.
#[derive(Args, Debug)]
#[command(before_help = "\
# Who set each line of a Deployment\n\
ketcd -f snapshot.db blame deploy/web/tomcat\n\
# The same as it was at revision 600\n\
ketcd -f snapshot.db blame deploy/web/tomcat --rev 600")]
pub(crate) struct BlameArgs {
    /// The object: kind/namespace/name, or a raw key.
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<String>,
}

impl Ask for BlameArgs {
    fn question(&self) -> Question<'_> {
        Question::Blame(&self.addresses)
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        let keys = Keys::of(session, &self.addresses).await?;
        if keys.many {
            return Err(Error::new("blame takes one object").hint("write kind/namespace/name"));
        }
        let mut missing = Missing::of(session, &keys).await?;
        let range = keys.ranges.first().cloned();
        let blamed = session.blame(keys).await?;
        if let Some(range) = range.filter(|_| blamed.is_there) {
            missing.saw(&range.start);
        }
        let Some((object, lines)) = blamed.blame.finish() else {
            if !missing.report(session, &Search::up_to(session, "blame").await?).await? {
                note("nothing found: it has no readable version");
            }
            return Ok(Outcome::Nothing);
        };
        let managed_fields = session.args.managed_fields();
        match &session.format {
            Format::Table | Format::Wide | Format::Yaml => render::write_text(&object, &lines, managed_fields, out.width(), out)?,
            Format::Json | Format::Ndjson => render::write_json(&object, &lines, managed_fields, out)?,
            other => return Err(other.unsupported("blame", "yaml, json")),
        }
        Ok(Outcome::Found)
    }
}
