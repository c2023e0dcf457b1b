//! The last decision about each of some pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use ketcd_scheduler::cluster::PodInfo;
use ketcd_store::Revision;

use super::decisions::{Decided, Decisions, mode};
use super::pods::Pods;
use crate::error::{Error, Result};

/// The last decision about a pod.
pub struct LastDecision<T> {
    /// The pod decided on, which may have been another of that name.
    uid: Arc<str>,
    /// What was made of it.
    pub made: T,
    /// Whether the pod waits for a decision after this one.
    pub waits: bool,
}

/// The last decisions, by namespace and name of their pods.
pub type LastDecisions<T> = BTreeMap<(Arc<str>, Arc<str>), LastDecision<T>>;

impl Decisions<'_> {
    /// Walks through the history and returns the last decision about each of the pods, since when decisions count; without a beginning, those that are there at the end without one are
    /// explained as they are. Explanations are large, so only what `make` makes of them is kept.
    ///
    /// # Errors
    /// The source cannot be read, or those of `make`.
    pub async fn last_about<T, E: From<Error>>(
        &mut self,
        pods: &Pods,
        mut make: impl FnMut(&Decided) -> Result<T, E>,
    ) -> Result<LastDecisions<T>, E> {
        let mut last = LastDecisions::new();
        let mut keep = |last: &mut LastDecisions<T>, decided: &Decided| {
            let pod = &decided.explanation.attempt.pod;
            last.insert(pod.key(), LastDecision { uid: pod.uid.clone(), made: make(decided)?, waits: false });
            Ok::<(), E>(())
        };
        let after = self.after;
        self.each(|decision| {
            let pod = &decision.attempt().pod;
            if decision.attempt().revision > after.0 && pods.wants(&pod.namespace, &pod.name) {
                return keep(&mut last, &decision.explain());
            }
            decision.skip();
            Ok(())
        })
        .await?;
        let wanted = |pod: &&Arc<PodInfo>| pods.wants(&pod.namespace, &pod.name);
        let there: Vec<Arc<PodInfo>> = self.replay.state().pods().filter(wanted).cloned().collect();
        for pod in there {
            match last.get_mut(&pod.key()).filter(|last| last.uid == pod.uid) {
                Some(last) => last.waits = pod.node_name.is_none() && !pod.finished,
                None if after > Revision(0) => {}
                None => keep(&mut last, &self.as_it_is(&pod))?,
            }
        }
        Ok(last)
    }

    /// Explains a pod as it is at the end: why it runs where it does, or what it waits for.
    fn as_it_is(&mut self, pod: &Arc<PodInfo>) -> Decided {
        let (replay, until) = (&mut self.replay, self.until.0);
        let explanation = if pod.node_name.is_some() { replay.explain_bound(pod, until) } else { replay.explain_waiting(pod, until) };
        Decided { mode: mode(replay, &explanation), explanation }
    }

    /// Returns one message for each pod that could not be read.
    pub fn unreadable_pods(&self, pods: &Pods) -> Vec<String> {
        let unread = self.replay.state().unreadable_pods().filter(|pod| pods.wants(&pod.key.namespace, &pod.key.name));
        unread.map(ToString::to_string).collect()
    }
}
