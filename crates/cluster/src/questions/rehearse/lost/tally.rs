//! Counts what is lost, and keeps as much of it as is shown.

use std::collections::BTreeMap;

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::judging::Judged;
use crate::writers::WriterKind;

/// How many objects of a kind each sort of writer wrote.
pub(super) type LossCounts = BTreeMap<String, [usize; WriterKind::ALL.len()]>;

/// Objects of which the same is said.
pub(super) struct Pile {
    /// Whether they are lost, go back or come back.
    pub kind: ForecastKind,
    /// Whether controllers make them again.
    pub is_remade: bool,
    /// How many there are, by kind and writer.
    pub counts: LossCounts,
    kept: BTreeMap<WriterKind, Vec<Affected>>,
}

impl Pile {
    fn new(kind: ForecastKind, is_remade: bool) -> Self {
        Self { kind, is_remade, counts: LossCounts::new(), kept: BTreeMap::new() }
    }

    pub(super) fn count(&self) -> usize {
        self.counts.values().flatten().sum()
    }

    /// Whether one of some sorts of writers wrote any of them.
    pub(super) fn has(&self, writers: &[WriterKind]) -> bool {
        self.counts.values().any(|of| writers.iter().any(|writer| of[*writer as usize] > 0))
    }

    /// The objects, those of people first.
    pub(super) fn affected(self) -> Vec<Affected> {
        self.kept.into_values().flatten().take(Forecast::MAX_AFFECTED).collect()
    }

    fn keep(&mut self, writer: WriterKind, affected: impl IntoIterator<Item = Affected>) {
        let kept = self.kept.entry(writer).or_default();
        let room = Forecast::MAX_AFFECTED - kept.len();
        kept.extend(affected.into_iter().take(room));
    }
}

/// What was counted so far.
#[derive(Default)]
pub(super) struct Tally(BTreeMap<(ForecastKind, bool), Pile>);

impl Tally {
    /// Counts an object.
    pub(super) fn add(&mut self, judged: Judged) {
        let Judged { kind, is_remade, writer, affected } = judged;
        let pile = self.pile(kind, is_remade);
        pile.counts.entry(affected.subject.kind.clone()).or_default()[writer.kind as usize] += 1;
        pile.keep(writer.kind, [affected]);
    }

    /// Takes what was counted of the keys behind these.
    pub(super) fn merge(&mut self, other: Self) {
        for ((kind, is_remade), of) in other.0 {
            let pile = self.pile(kind, is_remade);
            for (kind, counts) in of.counts {
                let known = pile.counts.entry(kind).or_default();
                known.iter_mut().zip(counts).for_each(|(known, more)| *known += more);
            }
            for (writer, affected) in of.kept {
                pile.keep(writer, affected);
            }
        }
    }

    /// The piles, what controllers make again behind the rest.
    pub(super) fn into_piles(self) -> Vec<Pile> {
        self.0.into_values().collect()
    }

    fn pile(&mut self, kind: ForecastKind, is_remade: bool) -> &mut Pile {
        self.0.entry((kind, is_remade)).or_insert_with(|| Pile::new(kind, is_remade))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::KeySubject;
    use crate::writers::Writer;

    fn judged(name: usize, manager: &str) -> Judged {
        let subject = KeySubject { kind: "ConfigMap".to_owned(), namespace: "shop".to_owned(), name: name.to_string() };
        let affected = Affected { subject, ..Affected::default() };
        Judged { kind: ForecastKind::LostObjects, is_remade: false, writer: Writer::of_manager(manager), affected }
    }

    #[test]
    fn what_people_wrote_is_kept_however_late_it_comes() {
        let (mut first, mut last) = (Tally::default(), Tally::default());
        (0..Forecast::MAX_AFFECTED + 5).for_each(|name| first.add(judged(name, "shopd")));
        last.add(judged(9_999, "kubectl"));
        first.merge(last);
        let pile = first.into_piles().remove(0);
        assert_eq!((pile.count(), pile.counts["ConfigMap"]), (Forecast::MAX_AFFECTED + 6, [1, 0, Forecast::MAX_AFFECTED + 5, 0, 0]));
        let affected = pile.affected();
        assert_eq!((affected.len(), &*affected[0].subject.name, &*affected[1].subject.name), (Forecast::MAX_AFFECTED, "9999", "0"));
    }
}
