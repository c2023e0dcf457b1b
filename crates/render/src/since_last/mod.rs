//! What became of troubles since an earlier triage.

mod earlier;
pub(crate) mod identity;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use ketcd_cluster::triage::Answer;
use ketcd_history::trouble::triage::Finding;
use ketcd_history::trouble::triage::since_last::{TroubleState, split, states};
use ketcd_store::Revision;

pub use earlier::{EarlierTriage, EarlierTrouble};

/// What became of troubles since an earlier triage.
#[derive(Clone, Debug)]
pub struct SinceEarlier {
    /// The revision of the earlier one.
    pub revision: Revision,
    /// Its moment, where it shows it.
    pub time: Option<Timestamp>,
    /// The troubles that it has and that are not seen now.
    pub gone: Vec<GoneTrouble>,
    states: BTreeMap<String, TroubleState>,
    first_seen: BTreeMap<String, Timestamp>,
}

/// A trouble that is not seen any more.
#[derive(Clone, Debug)]
pub struct GoneTrouble {
    /// What the earlier triage said of it.
    pub trouble: EarlierTrouble,
    /// Whether it ended; where some of the data could not be read now, it stays.
    pub state: TroubleState,
}

/// Why an earlier triage cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It is of another cluster: what tells them apart, of the earlier one and of this one.
    Cluster(String, String),
    /// It was asked for something else: what, in words.
    Scope(String),
    /// It is of a later state.
    Younger,
}

impl EarlierTriage {
    /// Says why this one cannot be compared with an answer about these words in this namespace.
    ///
    /// # Errors
    /// It is of another cluster, of other objects, or of a later state.
    pub fn fits(&self, answer: &Answer, namespace: Option<&str>, asked: &[String]) -> Result<(), Unfit> {
        let etcd = answer.storage.status.cluster_id.as_ref();
        let pairs = [(self.kube_system.as_ref(), answer.kube_system.as_ref()), (self.etcd.as_ref(), etcd)];
        // A restored cluster has another etcd, and keeps its namespaces.
        let known = pairs.into_iter().find_map(|(earlier, now)| earlier.zip(now));
        if let Some((earlier, now)) = known.filter(|(earlier, now)| earlier != now) {
            return Err(Unfit::Cluster(earlier.clone(), now.clone()));
        }
        if self.namespace.as_deref() != namespace || self.asked != asked {
            return Err(Unfit::Scope(self.scope_in_words()));
        }
        let is_same_etcd = self.etcd.as_ref().zip(etcd).is_none_or(|(earlier, now)| earlier == now);
        let is_younger = match self.time.zip(answer.now) {
            // JSON has milliseconds.
            Some((earlier, now)) => earlier.as_millisecond() > now.as_millisecond(),
            None => is_same_etcd && self.revision > answer.revision,
        };
        if is_younger { Err(Unfit::Younger) } else { Ok(()) }
    }

    fn scope_in_words(&self) -> String {
        let namespace = self.namespace.as_ref().map(|namespace| format!("namespace {namespace}"));
        let asked = (!self.asked.is_empty()).then(|| self.asked.join(" "));
        let parts: Vec<String> = namespace.into_iter().chain(asked).collect();
        if parts.is_empty() { "everything".to_owned() } else { parts.join(", ") }
    }
}

impl SinceEarlier {
    /// Compares an answer with an earlier triage, and splits its findings so that the troubles of each have one state.
    pub fn new(earlier: EarlierTriage, answer: &mut Answer) -> Self {
        let is_whole = answer.absence.is_none() && answer.not_decoded == 0 && !answer.is_partial;
        let mut now = BTreeSet::new();
        answer.findings.iter().for_each(|finding| gather(finding, &mut now));
        let last: BTreeSet<&str> = earlier.troubles.iter().map(|trouble| &*trouble.id).collect();
        let found = states(&last, &now.iter().map(String::as_str).collect(), is_whole);
        let states: BTreeMap<String, TroubleState> = found.into_iter().map(|(id, state)| (id.to_owned(), state)).collect();
        let first_seen = earlier.troubles.iter().filter_map(|trouble| Some((trouble.id.clone(), trouble.first_seen?))).collect();
        let gone = earlier.troubles.into_iter().filter(|trouble| !now.contains(&trouble.id));
        let gone = gone.map(|trouble| GoneTrouble { state: states[&trouble.id], trouble }).collect();
        let since = Self { revision: earlier.revision, time: earlier.time, gone, states, first_seen };
        since.split(answer);
        since
    }

    fn split(&self, answer: &mut Answer) {
        let state = |finding: &Finding, place: usize| {
            let id = finding.keys().get(place).map(identity::of_key);
            id.and_then(|id| self.states.get(&id).copied()).unwrap_or(TroubleState::New)
        };
        let parts = split(std::mem::take(&mut answer.findings), &state);
        let causes = std::mem::take(&mut answer.causes);
        answer.causes = parts.iter().map(|(place, _)| causes.get(*place).cloned().unwrap_or_default()).collect();
        answer.findings = parts.into_iter().map(|(_, finding)| finding).collect();
    }

    pub(crate) fn state_of(&self, finding: &Finding) -> Option<TroubleState> {
        self.states.get(&identity::of_key(finding.keys().first()?)).copied()
    }

    /// Returns the moment of the first triage that reported a trouble.
    pub(crate) fn first_seen(&self, id: &str) -> Option<Timestamp> {
        self.first_seen.get(id).copied()
    }
}

/// Gathers the ids of a finding's troubles and of those that followed from it.
fn gather(finding: &Finding, ids: &mut BTreeSet<String>) {
    ids.extend(finding.keys().iter().map(identity::of_key));
    finding.effects.iter().for_each(|effect| gather(effect, ids));
}
