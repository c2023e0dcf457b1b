//! Which revisions the files of a table cover, and of which objects. Their names say it: `r2-r3190.parquet`, `r2-r3190-4f2a9c1d.parquet`.

/// A range of revisions, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) from: i64,
    pub(super) to: i64,
}

impl Span {
    pub(super) fn of(revision: i64) -> Self {
        Self { from: revision, to: revision }
    }

    pub(super) fn add(&mut self, revision: i64) {
        self.from = self.from.min(revision);
        self.to = self.to.max(revision);
    }

    /// The name of a file that covers it: of all objects, or of the `part` of them with this mark.
    pub(super) fn file_name(self, part: Option<&str>, extension: &str) -> String {
        let part = part.map(|part| format!("-{part}")).unwrap_or_default();
        format!("r{}-r{}{part}.{extension}", self.from, self.to)
    }

    /// Reads a file's name: what it covers, and the mark of the objects that it is of, where it is not of all; `None` of a file that is none of
    /// ours, or of another format.
    pub(super) fn of_file<'n>(name: &'n str, extension: &str) -> Option<(Self, Option<&'n str>)> {
        let mut parts = name.strip_suffix(extension)?.strip_suffix('.')?.splitn(3, '-');
        let mut revision = || parts.next()?.strip_prefix('r')?.parse().ok();
        let span = Self { from: revision()?, to: revision()? };
        let part = parts.next();
        (span.file_name(part, extension) == name && span.from <= span.to).then_some((span, part))
    }
}

/// Revisions that are in the dataset already.
#[derive(Clone, Debug, Default)]
pub(super) struct Covered(Vec<Span>);

impl FromIterator<Span> for Covered {
    fn from_iter<I: IntoIterator<Item = Span>>(spans: I) -> Self {
        let mut spans: Vec<Span> = spans.into_iter().collect();
        spans.sort_unstable();
        let mut merged: Vec<Span> = Vec::new();
        for span in spans {
            match merged.last_mut().filter(|last| span.from <= last.to + 1) {
                Some(last) => last.to = last.to.max(span.to),
                None => merged.push(span),
            }
        }
        Self(merged)
    }
}

impl Covered {
    pub(super) fn contains(&self, revision: i64) -> bool {
        let after = self.0.partition_point(|span| span.from <= revision);
        after.checked_sub(1).is_some_and(|last| revision <= self.0[last].to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_files_cover() {
        let span = Span { from: 2, to: 3190 };
        assert_eq!(span.file_name(None, "parquet"), "r2-r3190.parquet");
        assert_eq!(Span::of_file("r2-r3190.parquet", "parquet"), Some((span, None)));
        assert_eq!(Span::of_file("r2-r3190-4f2a9c1d.parquet", "parquet"), Some((span, Some("4f2a9c1d"))));
        for other in
            ["r2-r3190.ndjson.zst", "r2-r1.parquet", "r02-r3.parquet", ".ketcd-x.tmp", "part-0001.parquet", "r2.parquet", "r-1-r2.parquet"]
        {
            assert_eq!(Span::of_file(other, "parquet"), None, "{other}");
        }
    }

    #[test]
    fn spans_are_joined() {
        let covered: Covered = [(5, 9), (1, 3), (4, 4), (20, 30), (25, 27)].map(|(from, to)| Span { from, to }).into_iter().collect();
        let inside: Vec<i64> = (0..35).filter(|&revision| covered.contains(revision)).collect();
        assert_eq!(inside, (1..=9).chain(20..=30).collect::<Vec<_>>());
        assert!(!Covered::default().contains(1));
    }
}
