//! The flags of `usage`: the quota that growth leads to, and a beginning that cannot be.

use std::path::Path;

use serde_json::Value;

use crate::ketcd::ketcd;

fn usage(capture: &str, arguments: &[&str]) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(capture).join("snapshot.db.zst");
    let output = ketcd().arg("-f").arg(file).args(["usage", "-o", "json"]).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn growth_leads_to_the_quota() {
    let found = usage("k120-story", &["--quota", "1Gi"]);
    let (growth, days) = (found["liveBytesPerHour"].as_f64().unwrap(), found["daysToQuota"].as_f64().unwrap());
    let seconds = found["span"]["seconds"].as_f64().unwrap();
    // The first revision holds nothing.
    assert!((growth - 569_535.0 * 3600.0 / seconds).abs() < 1.0, "{growth}");
    let room = f64::from(1 << 30) - 2_797_568.0;
    assert!((days - room / growth / 24.0).abs() < 1e-6, "{days}");
    assert_eq!(usage("k120-story", &[])["daysToQuota"], Value::Null);
}

#[test]
fn a_span_that_ends_before_it_begins_is_refused() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures/k120-story/snapshot.db.zst");
    for (since, says) in [("1700", "after revision 1000"), ("yesterday", "--since")] {
        let output = ketcd().arg("-f").arg(&file).args(["usage", "--rev", "1000", "--since", since]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(says), "{since}");
    }
}
