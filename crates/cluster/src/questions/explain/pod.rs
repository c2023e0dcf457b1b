//! One pod explained: the attempt that decided, and the state that it saw.

use std::sync::Arc;

use ketcd_history::trouble::triage::Finding;
use ketcd_kube::{Address, Scope};
use ketcd_scheduler::cluster::{ObjectKey, WatchedKind};
use ketcd_scheduler::{Attempt, AttemptOutcome, Explanation, FilterMode, LOOK_AHEAD, Replay};
use ketcd_store::{At, Revision};

use super::decisions::mode;
use super::explainer::Explainer;
use super::since::{SinceRefusal, since_refusal};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::not_found::{Looked, NotFound};
use crate::triage::volumes_held;

/// Revisions beyond which a history is not walked as a whole for one answer.
const MAX_WALKED_REVISIONS: i64 = 100_000;

/// A pod explained: its last attempt or, where something was written since that refused it, the one to come.
pub struct Explained {
    /// The explanation.
    pub explanation: Explanation,
    /// The refusals before it.
    pub refusals: Vec<Attempt>,
    /// What was written after the last refusal.
    pub since: Option<SinceRefusal>,
    /// What holds a volume on another node than the pod's, at the revision looked at; none where its containers were started.
    pub held: Vec<Finding>,
    /// The replay, at the state that was evaluated or a later one.
    pub replay: Replay,
    /// Whether the replay has come to the revision looked at.
    is_at_end: bool,
}

impl Explained {
    /// Leaves out refusals up to a revision; returns whether the decision itself came after it, or is still to come.
    pub fn keep_after(&mut self, after: Revision) -> bool {
        self.refusals.retain(|attempt| attempt.revision > after.0);
        let attempt = &self.explanation.attempt;
        attempt.outcome == AttemptOutcome::Pending || attempt.revision > after.0
    }

    /// Whether the pod waits at the revision looked at, and the replay shows the cluster as it is there: then remedies can be tried out on that.
    pub fn waits_now(&self) -> bool {
        let pod = &self.explanation.attempt.pod;
        let now = self.replay.state().pod(&pod.namespace, &pod.name);
        self.is_at_end && now.is_some_and(|pod| pod.node_name.is_none() && !pod.terminating)
    }

    /// Returns how the scheduler's filters are named in the explanation.
    pub fn mode(&self) -> FilterMode {
        mode(&self.replay, &self.explanation)
    }
}

impl Explainer<'_> {
    /// Explains one pod: its last attempt, or the one to come, with the refusals before it. Its remedies are those that the filters allow.
    ///
    /// # Errors
    /// The source cannot be read, or the pod is not there.
    pub async fn pod(&mut self, namespace: &str, name: &str) -> Result<Explained> {
        let mut explained = self.found(namespace, name).await?;
        let uid = Arc::clone(&explained.explanation.attempt.pod.uid);
        explained.held = volumes_held(self.cluster, At::Revision(self.until), (namespace, name, &*uid)).await?;
        Ok(explained)
    }

    async fn found(&mut self, namespace: &str, name: &str) -> Result<Explained> {
        let Self { feed, cluster, oldest, until, .. } = self;
        let (cluster, oldest, until) = (*cluster, *oldest, *until);
        let key = ObjectKey { kind: WatchedKind::Pod, namespace: namespace.into(), name: name.into() };
        let mut attempts = if cluster.at == At::Newest { feed.attempts(&key, &self.scheduler, oldest, until).await? } else { Vec::new() };
        let is_entered_midway = cluster.source.is_shared() && cluster.is_long().await?;
        let complete = cluster.is_complete_from(oldest) && !is_entered_midway;
        let replay = Replay::new(self.scheduler.clone(), complete).with_depth(self.depth.clone()).with_remedies(self.remedies);
        let since = match attempts.last() {
            Some((_, last, shown)) if is_refused(last) => {
                since_refusal(cluster, (namespace, name), (Revision(last.revision), *shown, until)).await?
            }
            _ => None,
        };
        let asked = AskedPod { namespace, name, is_entered_midway };
        let Some(last) = attempts.pop().filter(|_| since.is_none()) else { return self.undecided(asked, replay, since).await };
        let refusals = attempts.into_iter().map(|(_, attempt, _)| attempt).filter(is_refused).collect();
        self.decided(asked, replay, last, refusals).await
    }

    /// Explains the last attempt, which was begun and shown at two revisions; or, where it refused a pod that fits now, the one to come.
    async fn decided(
        &mut self,
        asked: AskedPod<'_>,
        mut replay: Replay,
        (begun, last, shown): (Revision, Attempt, Revision),
        refusals: Vec<Attempt>,
    ) -> Result<Explained> {
        let AskedPod { namespace, name, is_entered_midway } = asked;
        let Self { feed, cluster, oldest, until, .. } = self;
        let revision = last.revision;
        let mut found = None;
        // Decisions made before this one may have been written after it.
        let known = Revision(shown.0.saturating_add(LOOK_AHEAD).min(until.0));
        let each = |replay: &mut Replay, attempt: Attempt| {
            if attempt.revision == revision && *attempt.pod.namespace == *namespace && *attempt.pod.name == *name {
                found = Some(replay.explain(attempt));
            } else {
                replay.skip(&attempt);
            }
            Ok::<(), Error>(())
        };
        if is_entered_midway {
            feed.walk_between(&mut replay, (begun, known), each).await?;
        } else {
            // Some of what the scheduler's cache keeps depends on every attempt before; only a history too long to walk is entered midway.
            let begun = if shown.0 - oldest.0 <= MAX_WALKED_REVISIONS { *oldest } else { begun };
            feed.seed(&mut replay, *oldest, begun).await?;
            feed.walk(&mut replay, begun.after(), known, each).await?;
        }
        let mut explanation: Explanation =
            found.ok_or_else(|| Error::invalid(format!("pod {namespace}/{name}: its attempt at r{revision} was not found again")))?;
        cluster.mark_hidden(&mut explanation);
        let is_walked = is_refused(&explanation.attempt)
            && !is_entered_midway
            && until.0 - shown.0 <= MAX_WALKED_REVISIONS
            && !cluster.is_long().await?;
        if is_walked {
            feed.walk(&mut replay, known.after(), *until, |replay, attempt| {
                replay.skip(&attempt);
                Ok::<(), Error>(())
            })
            .await?;
            if let Some(explanation) = fits_now(&mut replay, namespace, name, *until) {
                let since = SinceRefusal { refused_revision: revision, written_revision: revision, ..SinceRefusal::default() };
                return Ok(Explained { explanation, refusals, since: Some(since), held: Vec::new(), replay, is_at_end: true });
            }
        }
        Ok(Explained { explanation, refusals, since: None, held: Vec::new(), replay, is_at_end: is_walked || known == *until })
    }

    /// Explains a pod without an attempt that can be read, or about which something was written since: on the state as it is.
    async fn undecided(&mut self, asked: AskedPod<'_>, mut replay: Replay, since: Option<SinceRefusal>) -> Result<Explained> {
        let AskedPod { namespace, name, is_entered_midway } = asked;
        let Self { feed, cluster, oldest, until, .. } = self;
        match is_entered_midway {
            true => feed.seed_state(&mut replay, *until).await?,
            false => feed.seed(&mut replay, *oldest, *until).await?,
        }
        let Some(pod) = replay.state().pod(namespace, name).cloned() else {
            let object = format!("pods/{namespace}/{name}");
            if let Some(problem) = replay.state().problems().find(|problem| problem.object == object) {
                let (problem, pod) = (problem.what.to_string(), (namespace.to_owned(), name.to_owned()));
                return Err(Error::UnreadablePod { pod, problem, revision: *until });
            }
            return Err(no_pod(cluster, namespace, name).await?);
        };
        let explanation = if pod.node_name.is_some() { replay.explain_bound(&pod, until.0) } else { replay.explain_waiting(&pod, until.0) };
        Ok(Explained { explanation, refusals: Vec::new(), since, held: Vec::new(), replay, is_at_end: true })
    }
}

/// The pod that is asked about.
#[derive(Clone, Copy)]
struct AskedPod<'a> {
    namespace: &'a str,
    name: &'a str,
    /// Whether the history is too long to be walked, so that the replay begins in its midst.
    is_entered_midway: bool,
}

fn is_refused(attempt: &Attempt) -> bool {
    attempt.outcome == AttemptOutcome::Unschedulable
}

/// The evaluation of a pod that still waits, on the state as it is, where a node fits now.
fn fits_now(replay: &mut Replay, namespace: &str, name: &str, until: Revision) -> Option<Explanation> {
    let pod = replay.state().pod(namespace, name).filter(|pod| pod.node_name.is_none())?.clone();
    let explanation = replay.explain_waiting(&pod, until.0);
    let judgement = &explanation.judgement;
    (judgement.whole_pod.is_none() && judgement.nodes.iter().any(|node| node.fits())).then_some(explanation)
}

/// The error of a pod that is not there.
async fn no_pod(cluster: &Cluster, namespace: &str, name: &str) -> Result<Error> {
    let pod = cluster.kinds().await?.find("pods")?;
    let address = Address::named(pod, name, &Scope::Namespace(namespace.to_owned())).map_err(Error::invalid)?;
    Ok(Error::NotFound(Box::new(NotFound::of(cluster, &address, Looked::At(cluster.revision().await?)).await?)))
}
