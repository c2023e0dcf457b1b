//! The audit of encryption at rest, as a table.

use std::io;

use crate::style::{ADDED, FAINT, REMOVED, STRONG, StyledWrite, WARNING, paint};
use crate::value::{columns, padded};
use crate::visible::visible;
use ketcd_kube::encryption::{AuditRow, Promise, Scheme};

/// Writes the answer, then a row for each way in which a resource's values are sealed. Resources that are in plain text as they
/// should be are one line, unless `all`.
///
/// # Errors
/// The stream's.
pub fn write_table(rows: &[AuditRow], all: bool, out: &mut dyn StyledWrite) -> io::Result<()> {
    if rows.is_empty() {
        return writeln!(out, "there are no objects");
    }
    writeln!(out, "{}\n", paint(STRONG, answer(rows)))?;
    let quiet = |row: &AuditRow| !all && row.scheme == Scheme::Identity && matches!(row.promise, Promise::Kept | Promise::NotAsked);
    let shown: Vec<&AuditRow> = rows.iter().filter(|row| !quiet(row)).collect();
    let mut lines = vec![["RESOURCE", "PROVIDER", "KEY", "VALUES", "OPEN"].map(str::to_owned)];
    lines.extend(shown.iter().map(|row| {
        [
            visible(&row.resource).into_owned(),
            row.scheme.to_string(),
            visible(&key(row)).into_owned(),
            row.values.to_string(),
            row.opened.to_string(),
        ]
    }));
    let width = |column: usize| lines.iter().map(|line| columns(&line[column])).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    if !shown.is_empty() {
        for (index, [resource, provider, key, values, open]) in lines.iter().enumerate() {
            let [r, p, k, v, o] = widths;
            let (resource, provider, key) = (padded(resource, r), padded(provider, p), padded(key, k));
            write!(out, "{resource}  {provider}  {key}  {values:>v$}  {open:>o$}  ")?;
            match index.checked_sub(1).map(|index| shown[index]) {
                None => writeln!(out, "AS CONFIGURED")?,
                Some(row) => writeln!(out, "{}", verdict(row))?,
            }
        }
    }
    let (resources, values) = rows.iter().filter(|row| quiet(row)).fold((0, 0), |(n, values), row| (n + 1, values + row.values));
    if resources > 0 {
        let line = format!(
            "{resources} {}resources with {values} values are in plain text, which no rule forbids",
            if shown.is_empty() { "" } else { "other " }
        );
        writeln!(out, "{}", paint(FAINT, line))?;
    }
    for reason in shown.iter().filter_map(|row| row.reason.as_deref()) {
        writeln!(out, "{}", paint(FAINT, reason))?;
    }
    Ok(())
}

fn answer(rows: &[AuditRow]) -> String {
    let total: u64 = rows.iter().map(|row| row.values).sum();
    let broken: u64 = rows.iter().filter(|row| row.promise.is_broken()).map(|row| row.values).sum();
    if rows.iter().all(|row| row.promise == Promise::NotAsked) {
        let sealed: u64 = rows.iter().filter(|row| row.scheme != Scheme::Identity).map(|row| row.values).sum();
        return format!("{sealed} of {total} values are sealed; --encryption-config FILE checks them against the configuration");
    }
    let unknown: u64 = rows.iter().filter(|row| row.promise == Promise::Unknown).map(|row| row.values).sum();
    match broken {
        0 if unknown > 0 => format!(
            "{unknown} of {total} values may not be under the plugin's current key; the others are as the configuration writes them"
        ),
        0 => format!("all {total} values are as the configuration writes them"),
        broken => format!("{broken} of {total} values are not as the configuration writes them"),
    }
}

/// The key's name, and its id where a plugin has ids.
fn key(row: &AuditRow) -> String {
    match &row.key_id {
        Some(id) => format!("{} ({id})", row.name),
        None if row.name.is_empty() => "-".to_owned(),
        None => row.name.clone(),
    }
}

fn verdict(row: &AuditRow) -> String {
    let (style, text) = match row.promise {
        Promise::Kept => (ADDED, "yes"),
        Promise::NotAsked => (FAINT, "-"),
        Promise::Unknown => (WARNING, "unknown: only the plugin knows its current key id"),
        Promise::PlainText => (REMOVED, "no: in plain text"),
        Promise::OtherKey => (REMOVED, "no: not the key it writes with"),
        Promise::StillSealed => (REMOVED, "no: still sealed, where it writes plain text"),
        Promise::DoesNotOpen => (REMOVED, "no: its key does not open them"),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    };
    paint(style, text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style;

    fn row(scheme: Scheme, values: u64, opened: u64, promise: Promise) -> AuditRow {
        AuditRow { resource: "secrets".to_owned(), scheme, name: "new".to_owned(), key_id: None, values, opened, reason: None, promise }
    }

    /// A key that opens some values of its name and not the others has a row for each, and each value counts once.
    #[test]
    fn the_first_line_counts_the_values_that_are_not_as_configured() {
        let kept = row(Scheme::AesGcm, 3, 3, Promise::Kept);
        let rows = [kept.clone(), row(Scheme::AesGcm, 5, 0, Promise::DoesNotOpen)];
        assert_eq!(answer(&rows), "5 of 8 values are not as the configuration writes them");
        let table = style::plain(|out| write_table(&rows, false, out));
        let shown: Vec<&str> = table.lines().filter(|line| line.starts_with("secrets")).collect();
        let words = |line: &&str| line.split_whitespace().take(5).collect::<Vec<_>>().join(" ");
        assert_eq!(shown.iter().map(words).collect::<Vec<_>>(), ["secrets aesgcm new 3 3", "secrets aesgcm new 5 0"], "{table}");
        assert!(shown[0].contains("yes") && shown[1].contains("no: its key does not open them"), "{table}");
        let broken = [
            kept.clone(),
            row(Scheme::Identity, 2, 2, Promise::PlainText),
            row(Scheme::AesCbc, 4, 4, Promise::OtherKey),
            row(Scheme::Secretbox, 1, 0, Promise::StillSealed),
            row(Scheme::KmsV2, 7, 7, Promise::Unknown),
        ];
        assert_eq!(answer(&broken), "7 of 17 values are not as the configuration writes them");
        assert_eq!(answer(std::slice::from_ref(&kept)), "all 3 values are as the configuration writes them");
        assert_eq!(
            answer(&[kept, row(Scheme::KmsV2, 7, 7, Promise::Unknown)]),
            "7 of 10 values may not be under the plugin's current key; the others are as the configuration writes them"
        );
        assert_eq!(
            answer(&[row(Scheme::AesGcm, 3, 0, Promise::NotAsked), row(Scheme::Identity, 4, 4, Promise::NotAsked)]),
            "3 of 7 values are sealed; --encryption-config FILE checks them against the configuration"
        );
    }
}
