//! What fills etcd, as a document.

use ketcd_cluster::Options;
use ketcd_render::contract::usage::Usage;
use ketcd_render::usage::UsagePage;
use serde_json::Value;

use crate::fixture;

async fn usage(quota: Option<u64>) -> Value {
    let found = fixture::capture("k120-story", Options::default()).await.usage(false).await.unwrap();
    serde_json::to_value(Usage::from(&UsagePage::new(found, quota, false))).unwrap()
}

#[tokio::test]
async fn growth_leads_to_the_quota() {
    let found = usage(Some(1 << 30)).await;
    let (growth, days) = (found["liveBytesPerHour"].as_f64().unwrap(), found["daysToQuota"].as_f64().unwrap());
    let seconds = found["span"]["seconds"].as_f64().unwrap();
    // The first revision holds nothing.
    assert!((growth - 569_535.0 * 3600.0 / seconds).abs() < 1.0, "{growth}");
    let room = f64::from(1 << 30) - 2_797_568.0;
    assert!((days - room / growth / 24.0).abs() < 1e-6, "{days}");
    assert_eq!(usage(None).await["daysToQuota"], Value::Null);
}
