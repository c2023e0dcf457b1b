//! Gaps: runs of revisions that none of several sources has, and the messages about them.

use super::part::Part;
use crate::{PartGap, Revision};

/// More gaps are not listed one by one.
const MAX_GAPS_LISTED: usize = 3;

/// The revisions between the first and the last at which no part can be read.
pub(super) fn between(parts: &[Part]) -> Vec<PartGap> {
    let mut parts: Vec<&Part> = parts.iter().filter(|part| !part.is_empty()).collect();
    parts.sort_by_key(|part| (part.span.oldest, part.span.newest));
    let mut gaps = Vec::new();
    let mut last: Option<&Part> = None;
    for part in parts {
        if let Some(last) = last.filter(|last| last.span.newest.after() < part.span.oldest) {
            gaps.push(PartGap {
                from: last.span.newest.after(),
                to: part.span.oldest.before(),
                after: last.name.to_string(),
                before: part.name.to_string(),
            });
        }
        if last.is_none_or(|last| last.span.newest < part.span.newest) {
            last = Some(part);
        }
    }
    gaps
}

/// The gaps between parts and after them of which a live etcd has nothing.
pub(super) fn beside_live(gaps: &[PartGap], parts: &[Part], (name, oldest): (&str, Revision)) -> Vec<PartGap> {
    let last = parts.iter().max_by_key(|part| part.span.newest).filter(|part| part.span.newest.after() < oldest);
    let after = last.map(|last| PartGap {
        from: last.span.newest.after(),
        to: oldest.before(),
        after: last.name.to_string(),
        before: name.to_owned(),
    });
    let ended = |gap: &PartGap| match gap {
        gap if gap.to < oldest => Some(gap.clone()),
        gap if gap.from < oldest => Some(PartGap { to: oldest.before(), before: name.to_owned(), ..gap.clone() }),
        _ => None,
    };
    gaps.iter().filter_map(ended).chain(after).collect()
}

/// Says which revisions are in none of the sources.
pub(super) fn sentences(gaps: &[PartGap]) -> Vec<String> {
    let one = |gap: &PartGap| {
        format!(
            "{} in none of the sources: {} ends with {}, {} begins with {}",
            revisions(gap.from, gap.to),
            gap.after,
            gap.from.before(),
            gap.before,
            gap.to.after()
        )
    };
    if gaps.len() <= MAX_GAPS_LISTED {
        return gaps.iter().map(one).collect();
    }
    let missing: i64 = gaps.iter().map(|gap| gap.to.0 - gap.from.0 + 1).sum();
    let longest = gaps.iter().max_by_key(|gap| gap.to.0 - gap.from.0).map(one).unwrap_or_default();
    vec![format!("{missing} revisions in {} gaps between the sources are in none of them; the longest: {longest}", gaps.len())]
}

/// Says which gaps the changes that were shown pass over.
pub(super) fn passed_over<'a>(gaps: impl Iterator<Item = &'a PartGap>) -> Option<String> {
    let gaps: Vec<&PartGap> = gaps.collect();
    let listed: Vec<String> = gaps.iter().take(MAX_GAPS_LISTED).map(|gap| format!("{} to {}", gap.from, gap.to)).collect();
    let more = if gaps.len() > MAX_GAPS_LISTED { format!(" and {} more gaps", gaps.len() - MAX_GAPS_LISTED) } else { String::new() };
    (!gaps.is_empty())
        .then(|| format!("changes of revisions {}{more} were read past and are missing: none of the sources has them", listed.join(", ")))
}

fn revisions(from: Revision, to: Revision) -> String {
    if from == to { format!("revision {from} is") } else { format!("revisions {from} to {to} are") }
}

/// What two ascending lists of runs have in common, both ends of a run included.
pub(super) fn common(one: &[(i64, i64)], other: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let (mut place, mut found) = (0, Vec::new());
    for &(from, to) in one {
        while other.get(place).is_some_and(|run| run.1 < from) {
            place += 1;
        }
        let touching = other[place..].iter().take_while(|run| run.0 <= to);
        found.extend(touching.map(|run| (run.0.max(from), run.1.min(to))));
    }
    found
}

/// Runs without some revisions, which are ascending.
pub(super) fn without(runs: &[(i64, i64)], revisions: impl Iterator<Item = i64>) -> Vec<(i64, i64)> {
    let mut revisions = revisions.peekable();
    let mut found = Vec::new();
    for &(from, to) in runs {
        let mut next = from;
        while revisions.next_if(|revision| *revision < from).is_some() {}
        while let Some(revision) = revisions.next_if(|revision| *revision <= to) {
            if next < revision {
                found.push((next, revision - 1));
            }
            next = revision + 1;
        }
        if next <= to {
            found.push((next, to));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_intersected_and_cut() {
        let (one, other) = ([(1, 10), (20, 30), (40, 40)], [(5, 22), (25, 26), (29, 50)]);
        assert_eq!(common(&one, &other), [(5, 10), (20, 22), (25, 26), (29, 30), (40, 40)]);
        assert_eq!(common(&other, &one), common(&one, &other));
        assert_eq!(common(&one, &[]), []);
        assert_eq!(without(&one, [0, 1, 4, 4, 10, 15, 25, 40].into_iter()), [(2, 3), (5, 9), (20, 24), (26, 30)]);
        assert_eq!(without(&one, std::iter::empty()), one);
    }
}
