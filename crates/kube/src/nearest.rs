//! The names nearest to a mistyped one.

/// Returns what belongs to the names nearest to `word` by edit distance, at most three, none further than a third of its length.
pub(super) fn nearest<'a, T: PartialEq + Copy>(word: &str, names: impl Iterator<Item = (&'a str, T)>) -> Vec<T> {
    let limit = (word.len() / 3).max(1);
    let mut best = limit;
    let mut found: Vec<T> = Vec::new();
    for (name, item) in names.filter(|(name, _)| name.len().abs_diff(word.len()) <= limit && name.len().min(word.len()) > limit) {
        let distance = edit_distance(word.as_bytes(), name.as_bytes());
        if distance < best || (distance == best && found.is_empty()) {
            best = distance;
            found = vec![item];
        } else if distance == best && found.len() < 3 && !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

/// Insertions, deletions, substitutions and swaps of neighbours that lead from one to the other.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let mut cost = (last[j - 1] + usize::from(a[i - 1] != b[j - 1])).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                cost = cost.min(before[j - 2] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, wanted) in [("", "", 0), ("pod", "pods", 1), ("pdos", "pods", 1), ("kitten", "sitting", 3), ("abc", "xyz", 3)] {
            assert_eq!(edit_distance(a.as_bytes(), b.as_bytes()), wanted, "{a} {b}");
        }
    }
}
