//! Plaintext where all else of its resource is sealed.
//!
//! With encryption at rest an API server seals every write of a resource (apiserver v0.37, `pkg/storage/value/transformer.go`, `TransformToStorage`: by the
//! first provider). Exempt are:
//!
//! - what was written before the resource was sealed first;
//! - servers that take in a new configuration one after the other, so that both forms alternate: plaintext up to [`SETTLING_SECONDS`] after the first that was
//!   sealed, where plaintext came before that, and up to as long before plaintext goes on;
//! - encryption that was turned off: plaintext goes on, or nothing at all is sealed any more.

use std::collections::HashMap;

use bytes::Bytes;

use ketcd_store::Revision;

use super::super::finding::Weight;
use super::change::Change;
use super::evidence::{Evidence, Found};
use super::rule::{Rule, TamperingFacts};
use super::stored::Encoding;

/// How many writes on each side of one in plaintext must be sealed.
const NEIGHBOUR_WRITES: usize = 3;

/// How many before it, where nothing of the resource follows.
const MIN_SEALED: usize = 10;

/// How long API servers may take to take in a configuration one after the other, in seconds.
const SETTLING_SECONDS: f64 = 600.0;

/// A write in plaintext.
struct Plain {
    revision: Revision,
    key: Bytes,
    /// How many writes before it were sealed, up to the last one in plaintext.
    before: usize,
    /// How many behind it were sealed, up to the next one in plaintext.
    behind: usize,
    /// Whether another one in plaintext followed.
    goes_on: bool,
}

/// What became of one resource.
#[derive(Default)]
struct Sealed {
    /// How many writes were sealed since the last one in plaintext.
    in_a_row: usize,
    /// The first write that was sealed.
    since: Option<Revision>,
    /// Whether some were in plaintext before.
    was_plain: bool,
    plain: Vec<Plain>,
}

/// Looks at what is sealed.
#[derive(Default)]
pub(super) struct Plaintext {
    resources: HashMap<String, Sealed>,
    /// The last sealed write of each resource.
    last: HashMap<String, Revision>,
}

impl Rule for Plaintext {
    fn see(&mut self, change: &Change<'_>, _: &TamperingFacts<'_>, _: &mut Found) {
        let (Some(kind), Some(stored)) = (change.resource(), change.stored) else { return };
        match stored.encoding {
            Encoding::Sealed { .. } => {
                let before = change.before.filter(|before| !before.stored.is_sealed()).map(|before| before.version.mod_revision);
                self.sealed(&kind.resource(), change.revision(), before);
            }
            Encoding::Other => {}
            // Most resources are never sealed.
            _ if self.resources.is_empty() => {}
            _ => self.plain(&kind.resource(), change.revision(), change.key()),
        }
    }

    fn finish(&mut self, facts: &TamperingFacts<'_>, found: &mut Found) {
        let is_near = |one: Revision, other: Revision| {
            let dates = facts.clock.date(one).zip(facts.clock.date(other));
            dates.is_some_and(|(one, other)| other.time.duration_since(one.time).as_secs_f64() - one.error - other.error < SETTLING_SECONDS)
        };
        for (name, resource) in self.resources.drain() {
            // Where it was turned off again, if it was.
            let unsealed = resource.plain.last().filter(|plain| plain.behind == 0 && resource.plain.len() > 1).map(|plain| plain.revision);
            // Whether others are still sealed later.
            let others = self.last.iter().filter(|(other, _)| **other != name).map(|(_, revision)| *revision).max();
            for plain in resource.plain {
                let is_settling = resource.since.filter(|_| resource.was_plain).is_some_and(|since| is_near(since, plain.revision))
                    || unsealed.is_some_and(|until| is_near(plain.revision, until));
                let is_between = plain.before >= NEIGHBOUR_WRITES && plain.behind >= NEIGHBOUR_WRITES && !is_settling;
                let is_last = plain.before >= MIN_SEALED && plain.behind == 0 && !plain.goes_on && others > Some(plain.revision);
                if is_between || is_last {
                    let says = "the value is in plaintext where API servers seal";
                    let behind = if plain.behind == 0 {
                        "and others are sealed later".to_owned()
                    } else {
                        format!("and {} behind it", plain.behind)
                    };
                    let fact = format!("{} writes of {name} before it are sealed, {behind}", plain.before);
                    let weight = if is_between { Weight::Medium } else { Weight::Low };
                    found.add(Evidence::new(plain.revision, &plain.key, weight, says).because(fact).of_copies());
                }
            }
        }
    }
}

impl Plaintext {
    /// Notes a sealed write; `plain_before` is the version that it replaced, where that is in plaintext.
    fn sealed(&mut self, name: &str, revision: Revision, plain_before: Option<Revision>) {
        let resource = self.resources.entry(name.to_owned()).or_default();
        let since = *resource.since.get_or_insert(revision);
        resource.was_plain |= plain_before.is_some_and(|before| before < since);
        resource.in_a_row += 1;
        if let Some(plain) = resource.plain.last_mut() {
            plain.behind += 1;
        }
        self.last.insert(name.to_owned(), revision);
    }

    fn plain(&mut self, name: &str, revision: Revision, key: &Bytes) {
        let Some(resource) = self.resources.get_mut(name) else { return };
        if let Some(plain) = resource.plain.last_mut() {
            plain.goes_on = true;
        }
        let before = std::mem::take(&mut resource.in_a_row);
        resource.plain.push(Plain { revision, key: key.clone(), before, behind: 0, goes_on: false });
    }
}

#[cfg(test)]
mod tests {
    use ketcd_history::clock::Clock;
    use ketcd_kube::Release;
    use ketcd_kube::encryption::KeyRing;

    use super::super::stored::Reader;
    use super::*;

    /// The places of writes that are odd: `s` a sealed Secret, `p` one in plaintext, `o` a sealed ConfigMap.
    fn odd(writes: &str) -> Vec<i64> {
        let (mut rule, mut found) = (Plaintext::default(), Found::default());
        for (place, write) in writes.bytes().enumerate() {
            let revision = Revision(place as i64);
            match write {
                b's' => rule.sealed("secrets", revision, None),
                b'o' => rule.sealed("configmaps", revision, None),
                _ => rule.plain("secrets", revision, &Bytes::from_static(b"/registry/secrets/a/b")),
            }
        }
        let (reader, clock) = (Reader::new("/registry", &KeyRing::default()), Clock::default());
        let facts = TamperingFacts { reader: &reader, clock: &clock, release: Release::NEWEST, newest: Revision(99), is_damaged: false };
        rule.finish(&facts, &mut found);
        found.findings(None).0.iter().map(|finding| finding.revision.unwrap().0).collect()
    }

    #[test]
    fn plaintext_among_ciphertext_is_odd() {
        assert_eq!(odd("ppssssspsss"), [7]);
        assert_eq!(odd("sssssssssssspo"), [12], "nothing of it follows, and others are sealed");
    }

    #[test]
    fn plaintext_before_is_not() {
        assert_eq!(odd("pppppssssss"), Vec::<i64>::new());
    }

    #[test]
    fn servers_that_reload_alternate() {
        assert_eq!(odd("sssspspspppp"), Vec::<i64>::new(), "turned off");
        assert_eq!(odd("ppppspspssss"), Vec::<i64>::new(), "turned on");
    }

    #[test]
    fn encryption_may_be_turned_off() {
        assert_eq!(odd("ssssssssssssp"), Vec::<i64>::new(), "nothing is sealed any more");
        assert_eq!(odd("sssssssssssspppo"), Vec::<i64>::new(), "plaintext goes on");
    }
}
