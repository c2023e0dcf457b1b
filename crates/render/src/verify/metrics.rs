//! What `verify` found, as text for Prometheus: a file in node_exporter's folder for its textfile collector.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use jiff::Timestamp;

use ketcd_cluster::verify::{Verdict, Verification};

/// Writes metrics of some sources, as Prometheus' text format has them. `now` is when they were verified.
///
/// # Errors
/// The stream's.
pub fn write(all: &[Verification], now: Option<Timestamp>, out: &mut dyn Write) -> io::Result<()> {
    let mut text = String::new();
    let verdict = |of: &Verification| match of.verdict() {
        Verdict::Good => 0.0,
        Verdict::Findings => 1.0,
        Verdict::Bad => 2.0,
    };
    gauge(&mut text, "verdict", "Whether the source is good: 0 good, 1 findings, 2 not restorable as it is.", all, |of| Some(verdict(of)));
    gauge(&mut text, "revision", "The newest revision.", all, |of| Some(of.revision().0 as f64));
    gauge(&mut text, "keys", "Keys that are alive at the newest revision.", all, |of| Some(of.keys as f64));
    gauge(&mut text, "file_bytes", "Bytes of the database file.", all, |of| Some(of.bytes as f64));
    gauge(&mut text, "written_timestamp_seconds", "When the newest revision was written.", all, |of| of.written.map(seconds));
    gauge(&mut text, "run_timestamp_seconds", "When the source was verified.", all, |_| now.map(seconds));
    gauge(&mut text, "hash_kv", "etcd's HashKV at the newest revision.", all, |of| of.hash_kv.map(|hash| f64::from(hash.hash)));
    gauge(&mut text, "not_checked", "How many things were not checked.", all, |of| Some(of.not_checked.len() as f64));
    findings(&mut text, all);
    out.write_all(text.as_bytes())
}

fn seconds(time: Timestamp) -> f64 {
    time.as_millisecond() as f64 / 1000.0
}

/// One value for each source that has it.
fn gauge(text: &mut String, name: &str, help: &str, all: &[Verification], value: impl Fn(&Verification) -> Option<f64>) {
    let rows: Vec<(&str, f64)> = all.iter().filter_map(|of| Some((of.name.as_str(), value(of)?))).collect();
    if rows.is_empty() {
        return;
    }
    begin(text, name, help);
    for (source, value) in rows {
        // Writing to a text does not fail.
        let _ = writeln!(text, "ketcd_verify_{name}{{source=\"{}\"}} {value}", escaped(source));
    }
}

fn begin(text: &mut String, name: &str, help: &str) {
    let _ = writeln!(text, "# HELP ketcd_verify_{name} {help}\n# TYPE ketcd_verify_{name} gauge");
}

fn findings(text: &mut String, all: &[Verification]) {
    begin(text, "findings", "Findings by kind and weight.");
    for of in all {
        let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for finding in &of.findings {
            *counts.entry((finding.kind.name(), finding.weight.name())).or_default() += 1;
        }
        for ((kind, weight), count) in counts {
            let source = escaped(&of.name);
            let _ = writeln!(text, "ketcd_verify_findings{{source=\"{source}\",kind=\"{kind}\",weight=\"{weight}\"}} {count}");
        }
    }
}

/// A label's value (Prometheus' text format 0.0.4).
fn escaped(value: &str) -> String {
    value.chars().fold(String::new(), |mut text, character| {
        match character {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other if other.is_control() => text.push('\u{fffd}'),
            other => text.push(other),
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use ketcd_cluster::verify::{Finding, FindingKind, Weight};
    use ketcd_store::{Revision, RevisionSpan, SourceKind};

    use super::*;

    #[test]
    fn every_source_has_a_line_of_each_metric() {
        let of = |name: &str, findings: Vec<Finding>| Verification {
            name: name.to_owned(),
            kind: SourceKind::Db,
            span: RevisionSpan { oldest: Revision(1), newest: Revision(9), compacted: None },
            written: Some("2026-11-29T12:00:00Z".parse().unwrap()),
            oldest_written: None,
            age: None,
            keys: 3,
            bytes: 4096,
            cluster_id: None,
            members: Vec::new(),
            release: None,
            hash_kv: None,
            log: None,
            findings,
            checked: Vec::new(),
            not_checked: Vec::new(),
        };
        let finding = Finding::new(FindingKind::Age, Weight::Medium, "old");
        let mut out = Vec::new();
        write(&[of("a\"b\n.db", vec![finding.clone(), finding]), of("c.db", Vec::new())], None, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("ketcd_verify_verdict{source=\"a\\\"b\\n.db\"} 1\nketcd_verify_verdict{source=\"c.db\"} 0\n"), "{text}");
        assert!(text.contains("ketcd_verify_findings{source=\"a\\\"b\\n.db\",kind=\"age\",weight=\"medium\"} 2\n"), "{text}");
        assert!(text.contains("ketcd_verify_written_timestamp_seconds{source=\"c.db\"} 1795953600\n"), "{text}");
        assert!(!text.contains("hash_kv") && !text.contains("run_timestamp"), "{text}");
        assert!(text.lines().all(|line| line.starts_with('#') || line.starts_with("ketcd_verify_")), "{text}");
    }
}
