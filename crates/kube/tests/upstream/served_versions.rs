//! Objects that are stored in a version with more fields than the one they are served in.

use ketcd_kube::{Body, Decoder, Release, encode};
use serde_json::{Value, json};

fn served(stored: &Value, release: Release) -> Value {
    let bytes = encode(stored, Release(36)).unwrap().unwrap();
    let decoded = Decoder::new().with_release(release).decode(b"/registry/podcertificaterequests/lab/a", &bytes, 7);
    assert!(decoded.unknown_fields.is_empty(), "{:?}", decoded.unknown_fields);
    match decoded.body {
        Body::Object(object) => object.into_value(),
        Body::Opaque(opaque) => panic!("{}", opaque.reason),
    }
}

/// 1.37 stores PodCertificateRequests as v1beta1 and serves v1, which has neither key nor proof.
#[test]
fn pod_certificate_requests_are_v1_since_1_37() {
    let spec = json!({"signerName": "example.com/a", "podName": "a", "podUID": "1", "serviceAccountName": "a", "serviceAccountUID": "2",
        "nodeName": "n1", "nodeUID": "3", "pkixPublicKey": "AQI=", "proofOfPossession": "AwQ=", "stubPKCS10Request": "BQY="});
    let stored = json!({"apiVersion": "certificates.k8s.io/v1beta1", "kind": "PodCertificateRequest",
        "metadata": {"name": "a", "namespace": "lab", "creationTimestamp": null}, "spec": spec, "status": {}});
    let old = served(&stored, Release(36));
    assert_eq!((&old["apiVersion"], &old["spec"]["pkixPublicKey"]), (&json!("certificates.k8s.io/v1beta1"), &json!("AQI=")));
    let new = served(&stored, Release(37));
    assert_eq!((&new["apiVersion"], &new["spec"]["stubPKCS10Request"]), (&json!("certificates.k8s.io/v1"), &json!("BQY=")));
    assert!(new["spec"].get("pkixPublicKey").is_none() && new["spec"].get("proofOfPossession").is_none(), "{new}");
}
