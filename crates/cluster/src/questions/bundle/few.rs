//! A set of mostly none or one: of each object in a namespace several are in memory, and a tree's smallest node has room for eleven.

/// Some things in order, each once.
#[derive(Clone, Debug)]
pub(super) struct Few<T>(Vec<T>);

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Ord> Few<T> {
    /// Adds something.
    pub(super) fn insert(&mut self, item: T) {
        if let Err(place) = self.0.binary_search(&item) {
            self.0.reserve_exact(1);
            self.0.insert(place, item);
        }
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }
}

impl<T: Ord> Extend<T> for Few<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.insert(item));
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'f, T> IntoIterator for &'f Few<T> {
    type Item = &'f T;
    type IntoIter = std::slice::Iter<'f, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_there_once_in_order() {
        let mut few = Few::default();
        few.extend([3, 1, 3]);
        few.insert(2);
        assert_eq!(few.iter().copied().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(few.into_iter().sum::<i32>(), 6);
    }
}
