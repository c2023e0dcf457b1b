//! Which files of a recording are not kept any more. A recording always begins with a state, so it is cut where there is one.

use std::time::Duration;

use super::facts::{FileFacts, FileKind};

/// How much of a recording is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// What is not older.
    Age(Duration),
    /// The newest of it, in bytes.
    Bytes(u64),
}

impl Keep {
    /// How old a state may become before another is written, so that there is one to cut at.
    pub(super) fn state_age(self, most: Duration) -> Duration {
        match self {
            Self::Age(age) => most.min(age / 8),
            Self::Bytes(_) => most,
        }
    }

    /// How many bytes of changes may follow a state before another is written.
    pub(super) fn state_bytes(self, least: u64) -> u64 {
        match self {
            Self::Age(_) => least,
            Self::Bytes(bytes) => least.min(bytes / 8),
        }
    }
}

/// The places of the files that are not kept.
pub(super) fn removed(files: &[FileFacts], keep: Keep, now: i64) -> Vec<usize> {
    let mut states: Vec<&FileFacts> = files.iter().filter(|file| file.kind == FileKind::State && file.upto().is_some()).collect();
    states.sort_by_key(|state| state.upto());
    // What ends where a state begins, or before, goes with the states before it.
    let before = |state: &FileFacts| {
        let begin = state.upto();
        let is_before = move |file: &FileFacts| file.upto() <= begin && file.missing.iter().all(|missing| Some(missing.to) <= begin);
        let place = |place: &usize| files[*place].name != state.name && is_before(&files[*place]);
        (0..files.len()).filter(place).collect::<Vec<usize>>()
    };
    let cut = match keep {
        Keep::Age(age) => states.iter().rev().find(|state| state.ended <= now - age.as_millis() as i64),
        Keep::Bytes(most) => {
            let all: u64 = files.iter().map(|file| file.bytes).sum();
            let rest = |state: &FileFacts| all - before(state).iter().map(|&file| files[file].bytes).sum::<u64>();
            if all <= most { None } else { states.iter().find(|state| rest(state) <= most).or(states.last()) }
        }
    };
    cut.map_or_else(Vec::new, |state| before(state))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A day a file of changes, and a state every second day.
    fn files() -> Vec<FileFacts> {
        let file = |number: i64, kind, covered: (i64, i64), day: i64| FileFacts {
            name: format!("{number:010}"),
            covered: vec![covered],
            bytes: 100,
            begun: day * DAY_MILLIS,
            ended: (day + 1) * DAY_MILLIS,
            ..FileFacts::new(kind)
        };
        (0..10)
            .flat_map(|day| {
                let state = (day % 2 == 0)
                    .then(|| FileFacts { ended: day * DAY_MILLIS, ..file(day * 2, FileKind::State, (day * 10, day * 10), day) });
                state.into_iter().chain([file(day * 2 + 1, FileKind::Changes, (day * 10, day * 10 + 10), day)])
            })
            .collect()
    }

    const DAY_MILLIS: i64 = 24 * 3600 * 1000;

    fn kept(keep: Keep) -> Vec<i64> {
        let files = files();
        let removed = removed(&files, keep, 10 * DAY_MILLIS);
        (0..files.len()).filter(|file| !removed.contains(file)).map(|file| files[file].covered[0].0).collect()
    }

    #[test]
    fn what_is_kept_begins_with_a_state_and_is_enough() {
        let days = |days: u64| Keep::Age(Duration::from_secs(days * 24 * 3600));
        assert_eq!(kept(days(30)).len(), 15);
        // Three days ago is day 7; the state before that is of day 6.
        assert_eq!(kept(days(3)), [60, 60, 70, 80, 80, 90]);
        assert_eq!(kept(days(4)), [60, 60, 70, 80, 80, 90]);
        assert_eq!(kept(days(0)), [80, 80, 90]);
    }

    #[test]
    fn bytes_are_an_upper_bound_unless_the_last_state_needs_more() {
        assert_eq!(kept(Keep::Bytes(1500)).len(), 15);
        assert_eq!(kept(Keep::Bytes(1499)).len(), 12);
        assert_eq!(kept(Keep::Bytes(600)), [60, 60, 70, 80, 80, 90]);
        assert_eq!(kept(Keep::Bytes(1)), [80, 80, 90]);
    }
}
