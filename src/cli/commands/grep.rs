//! `ketcd grep`: which objects hold or ever held a value, from when to when, and who set it.

use clap::{Args, ValueEnum};

use crate::cli::input::history_window::WindowArgs;
use crate::cli::input::selectors::SelectArgs;
use crate::cli::outcome::Outcome;
use crate::cli::outcome::Result;
use crate::cli::output::Format;
use crate::cli::output::Output;
use crate::cli::session::Session;
use crate::cli::session::absence::{self, note_nothing_of};
use crate::cli::session::command::Ask;
use ketcd_cluster::Selection;
use ketcd_cluster::grep::{GrepQuestion, MAX_HELD_BYTES, Pattern, Place, Search};
use ketcd_cluster::read::Keys;
use ketcd_cluster::rights::Question;
use ketcd_render::grep::{self as render, Form, GrepPrinter, MatchAmount};

/// Find which objects hold or ever held a value
///
/// Searches every readable version of every object, live, deleted and recovered ones, for a text: an image, an IP, a node, a uid, the name of a
/// ConfigMap. Shows by object where it was found, from which revision to which, and who set it. Masked values of Secrets are not searched.
/// With --since and --until, what was there in between; with --rev or --at, up to then. The exit code is 1 where nothing is found, or a named
/// object does not exist.
#[derive(Args, Debug)]
#[command(before_help = "\
# Who ever had this image\n\
ketcd -f snapshot.db grep tomcat:8.0\n\
# Which pods were ever on one of two nodes\n\
ketcd -f snapshot.db grep -e '^node[12]$' pods -l")]
pub(crate) struct GrepArgs {
    /// The text, to the letter.
    #[arg(value_name = "PATTERN")]
    pattern: String,
    /// The kinds or objects: kinds, kind/namespace/name, or a raw key. Default: everything, or with -n all of the namespace.
    #[arg(value_name = "KIND")]
    words: Vec<String>,
    /// PATTERN is a regular expression.
    #[arg(short = 'e', long)]
    regexp: bool,
    /// Ignore the case of letters.
    #[arg(short = 'i', long)]
    ignore_case: bool,
    /// Where to look: `names`, `values`, `keys`, `managers`, `messages`. Default: names, values and messages.
    ///
    /// `names` are the object's name and namespace; `keys` the names of fields, labels, annotations and of what a ConfigMap or a Secret holds;
    /// `managers` the field managers; `messages` those of conditions, containers and Events; `values` is everything else.
    #[arg(long = "in", value_name = "WHERE", value_delimiter = ',', value_enum, hide_possible_values = true)]
    places: Vec<Where>,
    /// Print only the objects.
    #[arg(short = 'l', long = "list", conflicts_with = "count")]
    list: bool,
    /// Print only how much was found.
    #[arg(long)]
    count: bool,
    #[command(flatten)]
    window: WindowArgs,
    /// Only objects that ever had these labels: `app=web,tier in (front,back),!canary`.
    #[arg(long, value_name = "SELECTOR", hide_short_help = true, help_heading = "Selection")]
    selector: Option<String>,
    /// Only objects that ever had these fields: `spec.nodeName=n1`.
    #[arg(long, value_name = "SELECTOR", hide_short_help = true, help_heading = "Selection")]
    field_selector: Option<String>,
}

/// Where to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Where {
    Names,
    Values,
    Keys,
    Managers,
    Messages,
}

impl From<Where> for Place {
    fn from(place: Where) -> Self {
        match place {
            Where::Names => Self::Names,
            Where::Values => Self::Values,
            Where::Keys => Self::Keys,
            Where::Managers => Self::Managers,
            Where::Messages => Self::Messages,
        }
    }
}

impl Ask for GrepArgs {
    const PRINTS_TEXT: bool = true;

    fn question(&self) -> Question<'_> {
        Question::Grep(&self.words)
    }

    fn window(&self) -> Option<&WindowArgs> {
        Some(&self.window)
    }

    /// What was written counts, be the object gone or changed.
    fn selection(&self) -> Result<Selection> {
        let select = SelectArgs { selector: self.selector.clone(), field_selector: self.field_selector.clone() };
        Ok(Selection { ever: true, ..select.read()? })
    }

    async fn answer(&self, session: &Session, out: &mut Output) -> Result<Outcome> {
        let amount = match (&session.format, self.list, self.count) {
            (Format::Table | Format::Wide | Format::Json | Format::Ndjson, false, false) => MatchAmount::Values,
            (Format::Table | Format::Wide | Format::Json | Format::Ndjson, true, _) | (Format::Name, _, false) => MatchAmount::Objects,
            (Format::Table | Format::Wide | Format::Json | Format::Ndjson, false, true) => MatchAmount::Count,
            (other, ..) => return Err(other.unsupported("grep", "table, wide, json, ndjson, name")),
        };
        let search = self.search()?;
        let words = search.words();
        let form = match session.format {
            Format::Json => Form::Document,
            Format::Ndjson => Form::Lines,
            _ => Form::Text(out.width().filter(|_| session.format != Format::Wide)),
        };
        session.cluster.note_reach().await?;
        let with_changes = amount == MatchAmount::Values;
        let question = GrepQuestion { search, words: &self.words, with_changes, max_held_bytes: MAX_HELD_BYTES };
        let (mut found, mut printer) = (session.cluster.grep(question).await?, GrepPrinter::new(form, amount));
        while let Some(object) = found.next().await? {
            printer.write(&object, out)?;
        }
        printer.finish(&found, session.window_in_head().await?, out)?;
        let absent = found.absent().await?;
        absence::Search::report_each("grep", &self.typed(), &absent);
        if printer.is_empty() && (absent.is_empty() || found.searched().versions > 0) {
            note_nothing_of(session, &Keys::all(), &render::nothing(&found, &words, &self.words)).await?;
        }
        Ok(match (found.left_out().is_empty(), printer.is_empty() || !absent.is_empty()) {
            (false, _) => Outcome::Damaged,
            (true, true) => Outcome::Nothing,
            (true, false) => Outcome::Found,
        })
    }
}

impl GrepArgs {
    /// Flags and pattern, to be suggested again.
    fn typed(&self) -> Vec<String> {
        let given = [("-e", self.regexp), ("-i", self.ignore_case)].into_iter().filter(|(_, is_given)| *is_given);
        let places = self.places.iter().map(|place| format!("--in={}", Place::from(*place).as_str()));
        given.map(|(flag, _)| flag.to_owned()).chain(places).chain([self.pattern.clone()]).collect()
    }

    /// What is searched for, and where.
    fn search(&self) -> Result<Search> {
        let pattern = Pattern::new(&self.pattern, self.regexp, self.ignore_case)?;
        let places: Vec<Place> = self.places.iter().copied().map(Place::from).collect();
        Ok(Search { pattern, places: if places.is_empty() { Place::USUAL.to_vec() } else { places } })
    }
}
