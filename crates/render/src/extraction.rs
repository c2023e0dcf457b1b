//! What became of the objects that `extract` read: which were left out, what was stripped, what to know before they are applied.

use std::io::{self, Write};

use ketcd_restore::ObjectId;
use ketcd_restore::cautions::Caution;
use ketcd_restore::exclusions::ALL_EXCLUSIONS;
use ketcd_restore::rules::ALL_RULES;
use serde_json::Value;

use super::document::ListForm;
use super::table::write_aligned;
use super::visible::visible;
use super::{json, yaml};

use ketcd_cluster::extract::{ExtractionSummary, ManifestLeftOut};

/// The name of the rule, and why.
fn reason(left_out: &ManifestLeftOut) -> (&'static str, &'static str) {
    match left_out {
        ManifestLeftOut::Excluded(exclusion) => (exclusion.name, exclusion.reason),
        ManifestLeftOut::Masked => ("secrets", "their values are masked; --show-secrets extracts them"),
    }
}

/// Returns what to report in addition to the manifests, one sentence per line.
pub fn notes(summary: &ExtractionSummary) -> Vec<String> {
    let mut lines = Vec::new();
    if !summary.manifests.is_empty() || !summary.left_out.is_empty() {
        lines.push(format!("{}, {} left out", counted(summary.manifests.len(), "manifest"), counted(summary.left_out.len(), "object")));
    }
    let mut reasons: Vec<(&str, &str, Vec<&ObjectId>)> = Vec::new();
    for (id, left_out) in &summary.left_out {
        let (name, reason) = reason(left_out);
        match reasons.iter_mut().find(|(known, ..)| *known == name) {
            Some((.., ids)) => ids.push(id),
            None => reasons.push((name, reason, vec![id])),
        }
    }
    for (name, reason, ids) in reasons {
        lines.push(format!("left out {} ({name}): {reason}: {}", ids.len(), list(&ids)));
    }
    if !summary.stripped.is_empty() {
        let counts: Vec<String> = summary.stripped.iter().map(|(name, count)| format!("{name} {count}")).collect();
        lines.push(format!("stripped: {}; --rules explains them, --keep RULE keeps what one strips", counts.join(", ")));
    }
    if !summary.maybe_older.is_empty() {
        lines.push(format!(
            "{} may be older: what was there at --since is compacted, so that everybody who ever wrote the object counts; to know, read that state too, as \
             another -f: {}",
            counted(summary.maybe_older.len(), "manifest"),
            list(&summary.maybe_older.iter().collect::<Vec<_>>())
        ));
    }
    for (reason, ids) in grouped(summary.unconverted.iter().map(|(id, reason)| (reason.as_str(), id))) {
        let are = if ids.len() == 1 { "is as it was" } else { "are as they were" };
        lines.push(format!("{} {are} stored: {reason}", list(&ids)));
    }
    let missing: Vec<&ObjectId> = summary.missing.iter().collect();
    if !missing.is_empty() {
        lines.push(format!("also referred to, but not stored: {}", list(&missing)));
    }
    lines.extend(cautions(&summary.cautions));
    lines
}

fn list(ids: &[&ObjectId]) -> String {
    const MAX_OBJECTS_NAMED: usize = 12;
    let mut names: Vec<String> = ids.iter().take(MAX_OBJECTS_NAMED).map(ToString::to_string).collect();
    if ids.len() > MAX_OBJECTS_NAMED {
        names.push(format!("and {} more", ids.len() - MAX_OBJECTS_NAMED));
    }
    names.join(", ")
}

fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// Items by what they have in common, in the order in which that comes first.
fn grouped<'a, K: PartialEq>(items: impl Iterator<Item = (K, &'a ObjectId)>) -> Vec<(K, Vec<&'a ObjectId>)> {
    let mut groups: Vec<(K, Vec<&ObjectId>)> = Vec::new();
    for (key, id) in items {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, ids)) => ids.push(id),
            None => groups.push((key, vec![id])),
        }
    }
    groups
}

/// The sort of a caution and the object that it is about, where those of one sort differ in that alone.
fn about(caution: &Caution) -> Option<(i32, &ObjectId)> {
    match caution {
        Caution::OtherVolume { claim, .. } => Some((0, claim)),
        Caution::DiskDeleted { volume } => Some((1, volume)),
        Caution::RunsAgain { job } => Some((2, job)),
        Caution::ApplyTwice { .. } => None,
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

/// The cautions: those of one sort are one sentence, however many objects they are about.
fn cautions(cautions: &[Caution]) -> Vec<String> {
    let folded = |sort: i32, ids: &[&ObjectId]| {
        let (count, names) = (ids.len(), list(ids));
        match sort {
            0 => format!(
                "{count} claims were bound to volumes and will get other ones, empty if they are provisioned; --with storage keeps them \
                 together: {names}"
            ),
            1 => format!(
                "{count} volumes have the reclaim policy Delete: their disks are gone if their claims were deleted, and etcd does not hold \
                 their contents: {names}"
            ),
            _ => format!("{count} Jobs will run again from the start: {names}"),
        }
    };
    let groups = grouped(cautions.iter().filter_map(about));
    let mut lines: Vec<String> = groups
        .iter()
        .map(|(sort, ids)| match &ids[..] {
            [_] => cautions.iter().find(|caution| about(caution).is_some_and(|(of, _)| of == *sort)).map_or_else(String::new, caution),
            ids => folded(*sort, ids),
        })
        .collect();
    lines.extend(cautions.iter().filter(|caution| about(caution).is_none()).map(caution));
    lines
}

fn caution(caution: &Caution) -> String {
    match caution {
        Caution::OtherVolume { claim, volume } => {
            format!(
                "{claim} was bound to {volume} and will get another volume, empty if it is provisioned; --with storage keeps them together"
            )
        }
        Caution::DiskDeleted { volume } => {
            format!(
                "{volume} has the reclaim policy Delete: its disk is gone if its claim was deleted, and etcd does not hold its contents"
            )
        }
        Caution::RunsAgain { job } => format!("{job} will run again from the start"),
        Caution::ApplyTwice { resources } => format!(
            "if their CustomResourceDefinitions do not exist yet, kubectl refuses {} the first time: apply twice",
            list(&resources.iter().collect::<Vec<_>>())
        ),
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}

/// What manifests are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestForm {
    /// The addresses of their objects, one a line.
    Names,
    /// A JSON document a line.
    Lines,
    /// One JSON List.
    List,
    /// YAML documents.
    Yaml,
}

/// Writes manifests one after the other.
///
/// # Errors
/// The stream's.
pub fn write_manifests(manifests: &[Value], form: ManifestForm, out: &mut dyn Write) -> io::Result<()> {
    for (place, manifest) in manifests.iter().enumerate() {
        match form {
            ManifestForm::Names => write_name(manifest, out)?,
            ManifestForm::Lines => json::write_line(manifest, out)?,
            ManifestForm::List => ListForm::Json.write_item(manifest, place == 0, out)?,
            ManifestForm::Yaml => {
                out.write_all(b"---\n")?;
                yaml::write(manifest, out)?;
            }
        }
    }
    if form == ManifestForm::List { ListForm::Json.write_end(manifests.is_empty(), None, out) } else { Ok(()) }
}

/// Writes the name of a manifest's object as an address.
fn write_name(manifest: &Value, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", visible(&ObjectId::of(manifest).to_string()))
}

/// Writes the rules: what each strips or leaves out, and why.
///
/// # Errors
/// The stream's.
pub fn write_rules(out: &mut dyn Write) -> io::Result<()> {
    let rows = |heading: [&str; 3], rows: Vec<[&str; 3]>| -> Vec<Vec<String>> {
        std::iter::once(heading).chain(rows).map(|row| row.map(str::to_owned).to_vec()).collect()
    };
    let stripped = ALL_RULES.iter().map(|rule| [rule.name, rule.strips, rule.reason]).collect();
    write_aligned(&rows(["RULE", "STRIPS", "WHY"], stripped), out)?;
    writeln!(out)?;
    let left_out = ALL_EXCLUSIONS.iter().map(|exclusion| [exclusion.name, exclusion.leaves_out, exclusion.reason]).collect();
    write_aligned(&rows(["RULE", "LEAVES OUT", "WHY"], left_out), out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cautions_of_one_sort_are_one_line() {
        let volume = |name: &str| Caution::DiskDeleted { volume: ObjectId::new("", "PersistentVolume", None, name) };
        let job = Caution::RunsAgain { job: ObjectId::new("batch", "Job", Some("a"), "once") };
        let one = cautions(&[volume("v0")]);
        assert!(one.len() == 1 && one[0].contains("/v0 has the reclaim policy Delete: its disk is gone"), "{one:?}");
        let many: Vec<Caution> = (0..70).map(|n| volume(&format!("v{n}"))).chain([job]).collect();
        let lines = cautions(&many);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].starts_with("70 volumes have the reclaim policy Delete: ") && lines[0].ends_with("and 58 more"), "{lines:?}");
        assert!(lines[1].ends_with("/once will run again from the start"), "{lines:?}");
    }

    #[test]
    fn what_may_be_older_is_said_with_the_way_to_know() {
        let summary =
            ExtractionSummary { maybe_older: vec![ObjectId::new("", "ConfigMap", Some("a"), "b")], ..ExtractionSummary::default() };
        let lines = notes(&summary);
        assert!(
            lines.len() == 1 && lines[0].starts_with("1 manifest may be older: ") && lines[0].ends_with("as another -f: configmap/a/b"),
            "{lines:?}"
        );
    }

    #[test]
    fn objects_that_stay_as_stored_for_one_reason_are_one_line() {
        let stored = |name: &str| (ObjectId::new("apps", "Deployment", Some("a"), name), "no such version".to_owned());
        let summary = ExtractionSummary { unconverted: vec![stored("one"), stored("two")], ..ExtractionSummary::default() };
        let lines = notes(&summary);
        assert!(lines.len() == 1 && lines[0].ends_with("are as they were stored: no such version"), "{lines:?}");
    }
}
