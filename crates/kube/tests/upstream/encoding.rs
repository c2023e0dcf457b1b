//! Objects written in protobuf again, against the bytes of upstream's own serialiser.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ketcd_kube::{Body, Decoder, Release, encode};
use ketcd_testing::testdata;
use serde_json::Value;

/// Encodes what every value of a file decodes to. It must decode to the same again, and be the same bytes but for those that hold what JSON does not
/// show: bytes that are there though they are empty, and members of raw JSON in another order.
fn check(file: &str, release: Release, count: usize, differing: &[&str]) {
    let pairs = testdata::read(&format!("values/{file}"));
    let decoder = Decoder::for_stored_values().with_release(release).showing_secrets(true);
    let decode = |value: &[u8]| match decoder.decode(b"", value, 0).body {
        Body::Object(object) => object.into_value(),
        Body::Opaque(opaque) => panic!("{}", opaque.reason),
    };
    let (mut all, mut other) = (0, BTreeSet::new());
    for pair in serde_json::Deserializer::from_slice(&pairs).into_iter::<Value>() {
        let pair = pair.unwrap();
        let id = pair["id"].as_str().unwrap();
        let value = BASE64.decode(pair["pb"].as_str().unwrap()).unwrap();
        let object = decode(&value);
        let encoded = encode(&object, release).unwrap_or_else(|error| panic!("{id}: {error}")).unwrap_or_else(|| panic!("{id}: no kind"));
        assert_eq!(decode(&encoded), object, "{id}");
        if encoded != value {
            other.insert(id.to_owned());
        }
        all += 1;
    }
    assert_eq!(all, count);
    assert_eq!(other, differing.iter().map(|id| (*id).to_owned()).collect());
}

#[test]
fn values_of_every_kind_are_upstreams_bytes() {
    let differing = [
        "admissionregistration.k8s.io.v1beta1.MutatingWebhookConfiguration.04",
        "admissionregistration.k8s.io.v1beta1.MutatingWebhookConfiguration.05",
        "admissionregistration.k8s.io.v1beta1.ValidatingWebhookConfiguration.03",
        "admissionregistration.k8s.io.v1beta1.ValidatingWebhookConfiguration.04",
        "apiregistration.k8s.io.v1.APIService.03",
        "apiregistration.k8s.io.v1.APIService.04",
        "apps.v1.DaemonSet.05",
        "apps.v1.Deployment.04",
        "apps.v1.StatefulSet.05",
        "apps.v1beta1.StatefulSet.05",
        "apps.v1beta2.DaemonSet.04",
        "apps.v1beta2.DaemonSet.05",
        "apps.v1beta2.ReplicaSet.05",
        "apps.v1beta2.StatefulSet.05",
        "batch.v1.Job.04",
        "certificates.k8s.io.v1.CertificateSigningRequest.04",
        "core.v1.Pod.04",
        "extensions.v1beta1.Deployment.02",
        "extensions.v1beta1.ReplicaSet.05",
    ];
    check("k136-pairs.jsonl.zst", Release::PROVEN, 759, &differing);
}

#[test]
fn values_of_the_newest_release_are_upstreams_bytes() {
    let differing = [
        "apps.v1.ControllerRevision.00",
        "apps.v1beta1.ControllerRevision.00",
        "apps.v1beta2.ControllerRevision.00",
        "certificates.k8s.io.v1beta1.CertificateSigningRequest.00",
        "resource.k8s.io.v1beta2.ResourceClaimTemplate.00",
    ];
    check("k137-pairs.jsonl.zst", Release::NEWEST, 174, &differing);
}

#[test]
fn values_of_openshift_are_upstreams_bytes() {
    check("openshift-pairs.jsonl.zst", Release(35), 22, &[]);
}
