//! Amounts of resources, as people write them.

/// An amount as people write it: cores, Gi, pieces.
pub(super) fn amount(resource: &str, value: i64) -> String {
    const BYTE_UNITS: [(&str, i64); 4] = [("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
    let trimmed = |number: f64| {
        let text = format!("{number:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match resource {
        "cpu" if value % 1000 == 0 || value.unsigned_abs() >= 1000 => trimmed(value as f64 / 1000.0),
        "cpu" => format!("{value}m"),
        _ if is_in_bytes(resource) => match BYTE_UNITS.iter().find(|(_, unit)| value.unsigned_abs() >= unit.unsigned_abs()) {
            Some((suffix, unit)) => format!("{}{suffix}", trimmed(value as f64 / *unit as f64)),
            None => value.to_string(),
        },
        _ => value.to_string(),
    }
}

/// An amount to the last digit, so that the change is enough.
pub(super) fn exact(resource: &str, value: i64) -> String {
    const BYTE_UNITS: [(&str, i64); 3] = [("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
    match resource {
        "cpu" if value % 1000 == 0 => (value / 1000).to_string(),
        "cpu" => format!("{value}m"),
        _ if is_in_bytes(resource) => BYTE_UNITS
            .iter()
            .find(|(_, unit)| value % unit == 0)
            .map_or_else(|| value.to_string(), |(suffix, unit)| format!("{}{suffix}", value / unit)),
        _ => value.to_string(),
    }
}

fn is_in_bytes(resource: &str) -> bool {
    matches!(resource, "memory" | "ephemeral-storage") || resource.starts_with("hugepages-")
}
