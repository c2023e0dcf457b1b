//! `diff --spec`: two clusters, two moments or two namespaces, compared by what objects are meant to be.

use ketcd_cluster::diff::ComparedState;
use ketcd_cluster::diff::spec::spec_diff;
use ketcd_cluster::rights::Question;
use ketcd_render::comparison;
use ketcd_render::spec_comparison::{self as render, SpecShowing};

use crate::cli::changes::compared_states::{self, Named};
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::history_window::Ends;
use crate::cli::input::selectors::SelectArgs;
use crate::cli::outcome::{Error, Outcome, Result};
use crate::cli::output::{Format, Output};
use crate::cli::session::Session;
use crate::cli::session::command::end;

pub(in crate::cli) struct SpecAsked<'a> {
    /// Two files, or addresses.
    pub targets: &'a [String],
    /// The namespace that is compared with that of `-n`.
    pub other_namespace: Option<&'a str>,
    /// Which objects count.
    pub select: &'a SelectArgs,
}

/// Compares two states; a difference is exit 1.
///
/// # Errors
/// Flags that name nothing to compare, or a source that cannot be read.
pub(in crate::cli) async fn compare(global: &GlobalArgs, asked: &SpecAsked<'_>, out: &mut Output) -> Result<Outcome> {
    let namespaces = namespaces(global, asked)?;
    if let (Some([one, other]), []) = (namespaces, asked.targets) {
        let reads = Question::Differences(&[]).reads();
        let session = Session::new(global, &Ends::default(), false)?.begun(&reads).await?;
        let states = [one, other].map(|namespace| ComparedState::of_namespace(&session.cluster, namespace));
        let outcome = write(states, &session, &[], asked, out).await;
        return end(&[&session], session.or_grants(outcome, &reads).await, out);
    }
    match Named::of(global, asked.targets)? {
        Named::Files(first, second) => {
            let (before, after) = (compared_states::open_file(global, first).await?, compared_states::open_file(global, second).await?);
            let mut states = [ComparedState::newest(&before.cluster, first), ComparedState::newest(&after.cluster, second)];
            if let Some(of) = namespaces {
                let [one, other] = states;
                states = [one.in_namespace(of[0]), other.in_namespace(of[1])];
            }
            let outcome = write(states, &after, &[], asked, out).await;
            end(&[&before, &after], outcome, out)
        }
        Named::Revisions(_) if namespaces.is_some() => Err(Error::new("--other-namespace compares two namespaces at one moment")
            .hint("name the moment with --rev N or --at TIME, and no addresses; -l selects objects")),
        Named::Revisions(span) => {
            let reads = Question::Differences(asked.targets).reads();
            let session =
                Session::new(&GlobalArgs { rev: None, at: None, ..global.clone() }, &Ends::default(), false)?.begun(&reads).await?;
            let outcome = match compared_states::between(&session, span).await {
                Ok(states) => write(states, &session, asked.targets, asked, out).await,
                Err(error) => Err(error),
            };
            end(&[&session], session.or_grants(outcome, &reads).await, out)
        }
    }
}

/// The two namespaces to compare, where two were named.
fn namespaces<'a>(global: &'a GlobalArgs, asked: &SpecAsked<'a>) -> Result<Option<[&'a str; 2]>> {
    match (global.namespace.as_deref(), asked.other_namespace) {
        (_, None) => Ok(None),
        (Some(one), Some(other)) => Ok(Some([one, other])),
        (None, Some(other)) => Err(Error::new(format!("--other-namespace {other} needs -n: which namespace is it compared with?"))),
    }
}

async fn write(
    states: [ComparedState<'_>; 2],
    session: &Session,
    words: &[String],
    asked: &SpecAsked<'_>,
    out: &mut Output,
) -> Result<Outcome> {
    let found = spec_diff(&states, words, &asked.select.read()?).await?;
    match &session.format {
        format @ (Format::Table | Format::Wide) => {
            let is_wide = matches!(format, Format::Wide);
            let showing = SpecShowing { width: out.width().filter(|_| !is_wide), is_wide };
            render::write_text(&comparison::head(&states), &found, showing, out)?;
        }
        Format::Ndjson => render::write_lines(&found, out)?,
        Format::Json => {
            let [first, second] = &states;
            let named = [(first.name.as_str(), first.end().await?), (second.name.as_str(), second.end().await?)];
            render::write_document(named, &found, out)?;
        }
        other => return Err(other.unsupported("diff --spec", "table, wide, json, ndjson")),
    }
    Ok(if found.differences.is_empty() { Outcome::Found } else { Outcome::Nothing })
}
