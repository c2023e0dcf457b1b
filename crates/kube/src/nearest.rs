//! The names nearest to a mistyped one.

use strsim::osa_distance;

/// Returns what belongs to the names nearest to `word` by edit distance (insertions, deletions, substitutions, swaps of neighbours), at most three, none further than a third of its length.
pub fn nearest<'a, T: PartialEq + Copy>(word: &str, names: impl Iterator<Item = (&'a str, T)>) -> Vec<T> {
    let limit = (word.len() / 3).max(1);
    let mut best = limit;
    let mut found: Vec<T> = Vec::new();
    for (name, item) in names.filter(|(name, _)| name.len().abs_diff(word.len()) <= limit && name.len().min(word.len()) > limit) {
        let distance = osa_distance(word, name);
        if distance < best || (distance == best && found.is_empty()) {
            best = distance;
            found = vec![item];
        } else if distance == best && found.len() < 3 && !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_near() {
        let kinds = ["pods", "nodes", "services", "secrets", "ingresses"];
        for (word, wanted) in [("pdos", "pods"), ("node", "nodes"), ("servcies", "services"), ("secrest", "secrets")] {
            assert_eq!(nearest(word, kinds.into_iter().map(|kind| (kind, kind))), [wanted], "{word}");
        }
        assert!(nearest("xyzzy", kinds.into_iter().map(|kind| (kind, kind))).is_empty());
    }
}
