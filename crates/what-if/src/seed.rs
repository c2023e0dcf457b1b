//! How a simulation chooses among equals: always the first, or by a seed.

/// A future: which of several equals is chosen each time.
#[derive(Clone, Debug, Default)]
pub(super) struct Choices {
    /// The state of the generator; `None`: the first of all equals is chosen.
    state: Option<u64>,
    /// In how many of [`PACE_STEPS`] cases the scheduler and what is due come before controllers that have work.
    pace: usize,
}

/// The share of cases is counted in these.
const PACE_STEPS: usize = 4;

impl Choices {
    pub(super) fn seeded(seed: u64) -> Self {
        let pace = usize::try_from(seed % (PACE_STEPS as u64 + 1)).unwrap_or(0);
        Self { state: Some(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1), pace }
    }

    /// Whether chance decides.
    pub(super) fn is_seeded(&self) -> bool {
        self.state.is_some()
    }

    /// Whether the scheduler is quicker than controllers that have work. How quick it is depends on the API server's load and on the limits of
    /// clients, so futures differ in it: in some every pod is scheduled once it is made, in others all are made first.
    pub(super) fn is_scheduler_first(&mut self) -> bool {
        self.is_seeded() && self.one_of(PACE_STEPS) < self.pace
    }

    /// Chooses one of so many.
    pub(super) fn one_of(&mut self, count: usize) -> usize {
        let Some(state) = self.state.as_mut().filter(|_| count > 1) else { return 0 };
        // xorshift64*, by Vigna.
        *state ^= *state >> 12;
        *state ^= *state << 25;
        *state ^= *state >> 27;
        let drawn = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(drawn).unwrap_or(0) % count
    }

    /// Puts things in another order; without a seed in the same.
    pub(super) fn shuffled<T>(&mut self, mut items: Vec<T>) -> Vec<T> {
        for last in 1..items.len() {
            let other = last - self.one_of(last + 1);
            items.swap(last, other);
        }
        items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_future_and_none_is_the_first() {
        let drawn = |mut choices: Choices| (0..40).map(|_| choices.one_of(4)).collect::<Vec<_>>();
        assert_eq!(drawn(Choices::seeded(7)), drawn(Choices::seeded(7)));
        assert_ne!(drawn(Choices::seeded(7)), drawn(Choices::seeded(8)));
        assert!((0..4).all(|one| drawn(Choices::seeded(7)).contains(&one)));
        assert_eq!(drawn(Choices::default()), [0; 40]);
    }

    #[test]
    fn futures_differ_in_how_quick_the_scheduler_is() {
        let first = |seed: u64| {
            let mut choices = Choices::seeded(seed);
            (0..200).filter(|_| choices.is_scheduler_first()).count()
        };
        assert_eq!((first(5), first(4)), (0, 200));
        assert!((1..=3).all(|seed| (1..200).contains(&first(seed))));
        assert!(!Choices::default().is_scheduler_first());
    }

    #[test]
    fn without_a_seed_the_order_stays_and_with_one_it_is_another() {
        let items: Vec<u32> = (0..50).collect();
        assert_eq!(Choices::default().shuffled(items.clone()), items);
        let mut mixed = Choices::seeded(3).shuffled(items.clone());
        assert_ne!(mixed, items);
        mixed.sort_unstable();
        assert_eq!(mixed, items);
    }
}
