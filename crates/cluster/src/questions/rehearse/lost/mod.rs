//! What is lost: objects and changes since the backup, those of people and GitOps first, then what controllers make again.

mod judging;
mod logged;
mod remade;
mod tally;
mod words;

use ketcd_restore::exclusions::Surroundings;

use self::judging::Judging;
use self::tally::{Pile, Tally};
use super::extraction::{self, ExtractCommands};
use super::forecast::{Forecast, ForecastKind};
use super::sources::{flags_of, names_of};
use super::states::States;
use crate::cores;
use crate::error::Result;
use crate::verify::Weight;
use crate::writers::WriterKind;

/// Fewer keys that differ are not worth a thread.
const MIN_KEYS_PER_THREAD: usize = 64;

/// Returns what will be.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let Some(newest) = &states.newest else { return Ok(Vec::new()) };
    let judging = Judging {
        states,
        old: &states.backup,
        new: newest,
        old_kinds: states.backup.cluster.kinds().await?,
        new_kinds: newest.cluster.kinds().await?,
        around: surroundings(states).await?,
        users: logged::users(states).await?,
    };
    // Each thread counts its part, and keeps no more than is shown: what differs may be all of a large cluster.
    let workers = cores::count().min(states.differing.len() / MIN_KEYS_PER_THREAD).max(1);
    let parts: Vec<_> = states.differing.chunks(states.differing.len().div_ceil(workers).max(1)).collect();
    let tallies = cores::in_order(&parts, 1, |part| {
        let mut tally = Tally::default();
        part.iter().filter_map(|differing| judging.judged(differing)).for_each(|judged| tally.add(judged));
        tally
    });
    let mut all = Tally::default();
    tallies.into_iter().for_each(|tally| all.merge(tally));
    let commands = commands(states).await?;
    Ok(all.into_piles().into_iter().map(|pile| forecast(pile, &commands)).collect())
}

/// The Services whose addresses controllers keep, where addresses differ.
async fn surroundings(states: &States<'_>) -> Result<Surroundings> {
    let mut around = Surroundings::default();
    if states.differing_below("/services/endpoints/").next().is_some() {
        for state in [Some(&states.backup), states.newest.as_ref()].into_iter().flatten() {
            state.objects("/services/specs/").await?.iter().for_each(|service| around.note(service));
        }
    }
    Ok(around)
}

struct Commands {
    /// What differs, object by object.
    diff: String,
    /// Manifests of what people and GitOps wrote since.
    extract: String,
    /// The same held against the backup, so that conflicts are named.
    plan: String,
}

async fn commands(states: &States<'_>) -> Result<Commands> {
    let Some(newest) = &states.newest else { return Ok(Commands { diff: String::new(), extract: String::new(), plan: String::new() }) };
    let (old, new) = (&states.backup_status, states.newest_status.as_ref().unwrap_or(&states.backup_status));
    let (since, to) = (states.backup.revision, newest.revision);
    let diff = match (names_of(old).as_slice(), names_of(new).as_slice()) {
        (one, other) if one == other => format!("ketcd{} diff --rev {since}..{to}", flags_of(new)),
        ([one], [other]) => format!("ketcd diff {one} {other}"),
        _ => format!("ketcd{} grep -A --since {since} ''", flags_of(new)),
    };
    let ExtractCommands { extract, plan } = extraction::commands(states, newest).await?;
    Ok(Commands { diff, extract, plan: plan.unwrap_or_default() })
}

fn forecast(pile: Pile, commands: &Commands) -> Forecast {
    let Pile { kind, is_remade, .. } = pile;
    let (count, counted) = (pile.count(), words::counted(&pile.counts, words::MAX_KINDS_NAMED));
    let brief = words::counted(&pile.counts, words::MAX_KINDS_IN_HEADLINE);
    let (weight, says, headline) = match (kind, is_remade) {
        (ForecastKind::LostObjects, false) => {
            let is_made_by_hand = pile.has(&[WriterKind::Person, WriterKind::GitOps, WriterKind::Unknown]);
            let weight = if is_made_by_hand { Weight::High } else { Weight::Medium };
            (weight, format!("what was made since the backup is gone: {counted}"), brief)
        }
        (ForecastKind::LostChanges, false) => {
            let weight = if pile.has(&[WriterKind::Person]) { Weight::High } else { Weight::Medium };
            (weight, format!("what was changed since the backup goes back: {counted}"), format!("changes to {brief}"))
        }
        (_, false) => {
            let comes = if count == 1 { "comes" } else { "come" };
            (Weight::Medium, format!("what was deleted since the backup comes back: {counted}"), format!("{brief} {comes} back"))
        }
        (ForecastKind::LostObjects, true) => {
            (Weight::Low, format!("controllers made since, and make again what the backup asks for: {counted}"), String::new())
        }
        (ForecastKind::LostChanges, true) => {
            (Weight::Low, format!("controllers write again what they changed since: {counted}"), String::new())
        }
        (_, true) => (Weight::Low, format!("controllers settle what comes back of theirs: {counted}"), String::new()),
    };
    let is_extracted = !is_remade && kind != ForecastKind::Returns;
    let shown = if is_extracted { vec![&commands.extract, &commands.plan, &commands.diff] } else { vec![&commands.diff] };
    let commands = shown.into_iter().filter(|command| !command.is_empty()).cloned().collect();
    Forecast { count, commands, ..Forecast::new(kind, weight, says, pile.affected()).with_headline(headline) }
}
