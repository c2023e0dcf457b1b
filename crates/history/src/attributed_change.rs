//! A change with its time, its actor and its request.

use super::actor::{Actor, ActorFrom, actor, actor_by};
use super::change::Change;
use super::clock::{Arrived, Clock, Dated};
use ketcd_audit::Authorship;

/// What audit logs say of who made a change.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Logged {
    /// The request that made it, those that may have, or that none did.
    pub request: Authorship,
    /// The program that the object itself records as the writer.
    pub recorded: Option<Actor>,
}

/// A change with its time, its actor and its request.
#[derive(Clone, Debug)]
pub struct AttributedChange {
    /// The change.
    pub change: Change,
    /// When it was made; `None` where nothing dates the revision.
    pub dated: Option<Dated>,
    /// Who made it, as etcd's data shows; `None` where it does not.
    pub actor: Option<Actor>,
    /// When a recorder received it; `None` where none noted that.
    pub arrived: Option<Arrived>,
    /// The request that made it; `None` where no audit log says.
    pub request: Option<Authorship>,
}

impl AttributedChange {
    /// Dates `change` by `clock` and finds its actor: none is inferred that leases contradict.
    pub fn new(change: Change, clock: &Clock) -> Self {
        let dated = clock.date(change.revision);
        let actor = actor_by(&change, clock);
        let arrived = clock.arrived(change.revision);
        let request = clock.request(change.revision, change.sub_revision).cloned();
        Self { change, dated, actor, arrived, request }
    }

    /// A change that arrives from a live cluster, dated by its arrival.
    pub fn arriving(change: Change, dated: Dated) -> Self {
        let actor = actor(&change);
        Self { change, dated: Some(dated), actor, arrived: None, request: None }
    }

    /// Returns what audit logs say of who made the change; `None` where no log says.
    pub fn logged(&self) -> Option<Box<Logged>> {
        let recorded = self.actor.clone().filter(|actor| actor.from == ActorFrom::Recorded);
        self.request.clone().map(|request| Box::new(Logged { request, recorded }))
    }

    /// Returns who made the change, as far as that is known: the user of its request, else its actor. `None` for a change that was written directly to
    /// etcd: what the object says of its writers was written along.
    pub fn by(&self) -> Option<Actor> {
        match &self.request {
            Some(Authorship::Unexplained(why)) if why.is_bypass() => None,
            request => {
                let request = request.as_ref().and_then(Authorship::request);
                request.map(|request| Actor::audited(&request.user)).or_else(|| self.actor.clone())
            }
        }
    }
}
