//! How plugins word lists and amounts in what they compared.

/// The first of several names, and how many more there are.
pub(super) fn some(names: &[String], shown: usize) -> String {
    let more = names.len().saturating_sub(shown);
    let told = names.iter().take(shown).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{told} and {more} more") } else { told }
}

/// Whether a resource is counted in bytes.
pub(super) fn is_in_bytes(resource: &str) -> bool {
    matches!(resource, "memory" | "ephemeral-storage") || resource.starts_with("hugepages-")
}

/// An amount as people write it: cores, Gi, pieces.
pub(crate) fn amount(resource: &str, value: i64) -> String {
    const UNITS: [(&str, i64); 4] = [("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
    let trimmed = |number: f64| {
        let text = format!("{number:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match resource {
        "cpu" if value % 1000 == 0 || value.unsigned_abs() >= 1000 => trimmed(value as f64 / 1000.0),
        "cpu" => format!("{value}m"),
        _ if is_in_bytes(resource) => match UNITS.iter().find(|(_, unit)| value.unsigned_abs() >= unit.unsigned_abs()) {
            Some((suffix, unit)) => format!("{}{suffix}", trimmed(value as f64 / *unit as f64)),
            None => value.to_string(),
        },
        _ => value.to_string(),
    }
}
