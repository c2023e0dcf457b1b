//! What a report says of itself: how far it reaches, where its decisions come from, which objects have no row.

use ketcd_cluster::survey::RowSelection;
use ketcd_cluster::{Window, WindowEnd};
use ketcd_scheduler::Scheduler;
use ketcd_store::{EarlierRevisions, Revision};

use crate::explanation::version_evidence;

/// What the reader must know of what has no row.
pub fn selection_note(selection: &RowSelection) -> String {
    let count: usize = selection.unlisted.iter().flat_map(|unlisted| &unlisted.states).map(|(_, count)| count).sum();
    let mut note = format!(
        "{count} objects have no rows and are counted by kind and namespace: ketcd ls KIND -n NAMESPACE lists them, ketcd report \
             KIND/NAMESPACE/NAME shows one. "
    );
    let quiet = count - selection.storied;
    note.push_str(&match selection.storied {
        0 => "They were never broken or held up, nobody changed or deleted them, and no Event warns about them.".to_owned(),
        storied => format!(
            "{quiet} of them were never broken or held up, nobody changed or deleted them, and no Event warns about them; {storied} \
                 others, with less of a story than those shown, did not fit."
        ),
    });
    note
}

/// How far the history reaches back, as the page says it.
pub fn reach_words(compacted: Option<Revision>, earlier: EarlierRevisions, is_one_moment: bool) -> String {
    match (compacted, earlier) {
        _ if is_one_moment => "the state of one moment; the past is known only from the times in the objects".to_owned(),
        (None, _) => "complete since the cluster began".to_owned(),
        (Some(revision), EarlierRevisions::Compacted) => format!("revisions up to {revision} were compacted away"),
        (Some(revision), EarlierRevisions::NotRecorded) => format!("what happened up to revision {revision} was not recorded"),
        (Some(revision), EarlierRevisions::LeftOut) => format!("what happened up to revision {revision} was left out of the bundle"),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

/// Which stretch of the history was asked for, as the page says it: what its words were resolved to.
pub fn window_words(window: &Window) -> String {
    let end = |end: &WindowEnd| {
        let time = end.time.map(|time| format!(" ({}Z)", time.strftime("%Y-%m-%dT%H:%M:%S"))).unwrap_or_default();
        format!("revision {}{time}", end.revision)
    };
    let since = window.since.as_ref().map(|since| format!("after {}", end(since)));
    let until = window.until.as_ref().map(|until| format!("up to {}", end(until)));
    format!("the report shows what happened {}", since.into_iter().chain(until).collect::<Vec<_>>().join(", "))
}

/// What the reader must know of decisions that were evaluated by the rules of a scheduler.
pub fn decisions_note(scheduler: &Scheduler) -> String {
    let (release, evidence) = (scheduler.version.release, version_evidence(&scheduler.version.evidence));
    if scheduler.configured {
        return format!("Decisions are evaluated by kube-scheduler {release} ({evidence}), with the configuration that was found for it.");
    }
    format!(
        "Decisions are evaluated with the default configuration of kube-scheduler {release} ({evidence}); its own is not stored in etcd."
    )
}

/// What the reader must know of decisions that were not evaluated.
pub fn recorded_note() -> String {
    "Scheduling decisions are shown as they are recorded: evaluating them takes the state of the whole cluster, which is large; ketcd explain \
     pod/NAMESPACE/NAME evaluates those of a pod."
        .to_owned()
}
