//! What troubles of several objects must share to be reported as one: what is said of all of them is true of each.

use std::collections::BTreeSet;

use super::refusals::Refusals;
use super::{Trouble, TroubleKind};

/// What a trouble says that must be equal for two to be one. Messages, restarts and beginnings may differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Likeness {
    kind: TroubleKind,
    reason: Option<String>,
    about: Vec<String>,
    numbers: Option<(i64, i64)>,
    /// Why the scheduler refused nodes, without how many of them.
    refusals: BTreeSet<String>,
}

impl Trouble {
    /// Returns what must be equal in another trouble for the two to be reported as one.
    pub fn likeness(&self) -> Likeness {
        let (mut about, mut numbers, mut refusals) = (self.about.clone(), self.numbers, BTreeSet::new());
        match self.kind {
            // Restarts are counted, the exit code says what happens.
            TroubleKind::CrashLooping | TroubleKind::OutOfMemory => numbers = numbers.map(|(_, code)| (0, code)),
            // The name of the node or of the holder, and how long its lease is good for.
            TroubleKind::NodeSilent | TroubleKind::ComponentSilent => (about, numbers) = (Vec::new(), None),
            // Each change has a revision of its own.
            TroubleKind::ChangeUnexplained => numbers = None,
            // Each pod may have a claim of its own.
            TroubleKind::DeviceAwaited if about.len() == 3 => drop(about.remove(1)),
            TroubleKind::Unschedulable => refusals = reasons(self.message.as_deref().unwrap_or_default()),
            _ => {}
        }
        Likeness { kind: self.kind, reason: self.reason.clone(), about, numbers, refusals }
    }

    /// Returns the same for a report of a few words, which have no room for exit codes and for what the scheduler says.
    pub(super) fn likeness_in_short(&self) -> Likeness {
        match self.kind {
            TroubleKind::CrashLooping | TroubleKind::OutOfMemory => Trouble::new(self.kind).likeness(),
            _ => Trouble { message: None, ..self.clone() }.likeness(),
        }
    }
}

/// The reasons of a scheduler's message; of one in another form, the whole of it.
fn reasons(message: &str) -> BTreeSet<String> {
    match Refusals::of(message) {
        Some(refusals) => refusals.reasons.into_iter().map(|(_, reason)| reason.to_owned()).collect(),
        None => BTreeSet::from([message.to_owned()]),
    }
}
