//! `/ui/api/findings`: what is wrong at the cursor, and what became of it.

use std::collections::HashMap;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::triage::Finding;
use ketcd_render::browser::places;
use ketcd_render::contract::browser::Findings;
use ketcd_render::contract::triage::Triage;
use ketcd_render::triage::TriagePage;
use ketcd_store::Revision;

use super::question::{Asked, failed, written};
use crate::data::waited;
use crate::wire::Result;

pub(super) async fn answer(asked: &Asked<'_>) -> Result<Vec<u8>> {
    let moment = asked.moment("at").await?;
    let cluster = asked.stand.at(Revision(moment.revision));
    let answer = waited(cluster.triage()).map_err(failed)?;
    let windows: Vec<_> = answer.changed.windows.iter().map(|window| (window.from, window.to, window.is_cut)).collect();
    let invocation = &asked.page.invocation;
    let page = TriagePage {
        findings: &answer.findings,
        causes: &answer.causes,
        warnings: &answer.warnings,
        counts: answer.counts,
        now: answer.now,
        not_before: answer.not_before,
        revision: answer.revision,
        is_past: answer.is_past,
        changes: &answer.changed.changes,
        windows: &windows,
        storage: &answer.storage,
        absence: answer.absence.clone(),
        not_decoded: answer.not_decoded,
        is_partial: answer.is_partial,
        reduced: answer.reduced,
        is_selected: answer.is_selected,
        missing: answer.missing.len(),
        by: None,
        kube_system: answer.kube_system.as_deref(),
        namespace: cluster.options.namespace.as_deref(),
        asked: &[],
        since_last: None,
        is_wide: false,
        width: None,
        invocation,
    };
    let addresses = addresses(asked, &answer.findings).await?;
    let key = |subject: &Subject| (subject.kind.clone(), subject.namespace.clone(), subject.name.clone());
    let named = |subject: &Subject| addresses.get(&key(subject)).cloned().unwrap_or_default();
    let places = places(&answer.findings, asked.stand.later().await?, moment.ms, named);
    let command = invocation.ketcd("triage").and("--rev").word(&moment.revision.to_string()).to_string();
    written(&Findings { command, moment, places, triage: Triage::from(&page) })
}

/// How the objects of the findings are named to ketcd.
async fn addresses(asked: &Asked<'_>, findings: &[Finding]) -> Result<HashMap<(String, String, String), String>> {
    let index = asked.stand.index().await?;
    let mut addresses = HashMap::new();
    let mut waiting: Vec<&Finding> = findings.iter().collect();
    while let Some(finding) = waiting.pop() {
        waiting.extend(&finding.effects);
        for Subject { kind, namespace, name, .. } in &finding.subjects {
            if let Some(place) = index.find(kind, namespace, name) {
                let address = asked.stand.cluster.name_of(&index.lives[place].key).await?;
                addresses.insert((kind.clone(), namespace.clone(), name.clone()), address);
            }
        }
    }
    Ok(addresses)
}
