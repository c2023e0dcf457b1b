//! The rows of a table in one allocation: a table of all pods of a large cluster has too many cells to allocate them one by one.

/// Rows of the same number of cells.
pub(super) struct TableRows {
    cells: usize,
    text: String,
    /// Where each cell ends in `text`.
    ends: Vec<usize>,
}

impl TableRows {
    /// A table without rows; each row will have this many cells, at least one.
    pub(super) fn of(cells: usize) -> Self {
        Self { cells, text: String::new(), ends: Vec::new() }
    }

    /// Adds a row; cells that are missing are empty.
    pub(super) fn push(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        let before = self.ends.len();
        for cell in cells.into_iter().take(self.cells) {
            self.text.push_str(cell.as_ref());
            self.ends.push(self.text.len());
        }
        self.ends.resize(before + self.cells, self.text.len());
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len() / self.cells
    }

    pub(super) fn row(&self, index: usize) -> impl Iterator<Item = &str> {
        let first = index * self.cells;
        (first..first + self.cells).map(|cell| &self.text[cell.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[cell]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back() {
        let mut rows = TableRows::of(3);
        rows.push(["a", "", "bc"]);
        rows.push(["d"]);
        rows.push(["", "e", "f", "more"]);
        let found: Vec<Vec<&str>> = (0..rows.len()).map(|index| rows.row(index).collect()).collect();
        assert_eq!(found, [["a", "", "bc"], ["d", "", ""], ["", "e", "f"]]);
    }
}
