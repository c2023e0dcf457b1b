//! `/ui/api/findings`: what is wrong at the cursor, and what became of it.

use std::collections::HashMap;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::triage::Finding;
use ketcd_render::browser::{MAX_FINDING_OBJECTS, View, finding_ids, places};
use ketcd_render::contract::browser::PageFindings;
use ketcd_render::contract::triage::{Finding as JsonFinding, Triage};
use ketcd_render::triage::TriagePage;
use ketcd_store::Revision;

use super::question::{Asked, failed, written};
use crate::data::waited;
use crate::wire::Result;

/// The most findings of an answer: those that weigh most.
const MAX_FINDINGS: usize = 200;

pub(super) async fn answer(asked: &Asked<'_>) -> Result<Vec<u8>> {
    let moment = asked.moment("at").await?;
    let cluster = asked.stand.at(Revision(moment.revision));
    let answer = waited(cluster.triage()).map_err(failed)?;
    let invocation = &asked.page.invocation;
    let page = TriagePage { namespace: cluster.options.namespace.as_deref(), ..TriagePage::of(&answer, invocation) };
    let shown = &answer.findings[..answer.findings.len().min(MAX_FINDINGS)];
    let addresses = addresses(asked, shown).await?;
    let key = |subject: &Subject| (subject.kind.clone(), subject.namespace.clone(), subject.name.clone());
    let named = |subject: &Subject| addresses.get(&key(subject)).cloned().unwrap_or_default();
    // At the newest revision, what is wrong is what still is.
    let own;
    let later = if moment.revision < asked.stand.newest.0 {
        asked.stand.later().await?
    } else {
        own = finding_ids(&answer.findings);
        &own
    };
    let places = places(shown, later, moment.ms, named);
    let command = asked.command(&View::Findings(asked.cursor("at", Revision(moment.revision))));
    let mut triage = Triage::from(&page);
    // Somebody may have changed everything in a window: causes have the changes that matter, and `/ui/api/changed` answers who changed what.
    triage.changes.clear();
    triage.findings.truncate(MAX_FINDINGS);
    triage.findings.iter_mut().for_each(cut);
    let findings_left = answer.findings.len() - shown.len();
    written(&PageFindings { command, findings_left, moment, places, triage })
}

/// Leaves out most objects of a finding that has thousands, and what is wrong with each: a page shows some, and their number.
fn cut(finding: &mut JsonFinding<'_>) {
    finding.objects.truncate(MAX_FINDING_OBJECTS);
    finding.troubles.clear();
    finding.messages.truncate(MAX_FINDING_OBJECTS);
    finding.effects.truncate(MAX_FINDING_OBJECTS);
    finding.effects.iter_mut().for_each(cut);
}

/// How the objects of the findings are named to ketcd.
async fn addresses(asked: &Asked<'_>, findings: &[Finding]) -> Result<HashMap<(String, String, String), String>> {
    let index = asked.stand.index().await?;
    let mut addresses = HashMap::new();
    let mut waiting: Vec<&Finding> = findings.iter().collect();
    while let Some(finding) = waiting.pop() {
        waiting.extend(&finding.effects);
        for Subject { kind, namespace, name, .. } in finding.subjects.iter().take(MAX_FINDING_OBJECTS) {
            if let Some(place) = index.find(kind, namespace, name) {
                let address = asked.stand.cluster.name_of(&index.lives[place].key).await?;
                addresses.insert((kind.clone(), namespace.clone(), name.clone()), address);
            }
        }
    }
    Ok(addresses)
}
