//! Issued certificates of signing requests: only the certificate itself says how long it is valid.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use serde_json::Value;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};

/// Returns that the certificate of a CertificateSigningRequest has expired by `now`, if it has.
pub(super) fn expired(request: &Value, now: Option<Timestamp>) -> Option<(Subject, Trouble)> {
    let end = valid_until(request["status"]["certificate"].as_str()?)?;
    let signer = request["spec"]["signerName"].as_str().map(str::to_owned);
    let trouble = Trouble { since: Some(end), about: signer.into_iter().collect(), ..Trouble::new(TroubleKind::CertificateExpired) };
    now.is_some_and(|now| end < now).then(|| (Subject::of(request), trouble))
}

/// When the first certificate of a chain in PEM, in base64, is no longer valid; `None` where it cannot be read.
pub(crate) fn valid_until(chain: &str) -> Option<Timestamp> {
    let chain = BASE64.decode(chain).ok()?;
    let (_, pem) = x509_parser::pem::parse_x509_pem(&chain).ok()?;
    let certificate = pem.parse_x509().ok()?;
    Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_certificate_says_when_it_ends() {
        let mut params = CertificateParams::new(vec!["node".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(2026, 11, 20);
        let pem = params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
        let request = json!({"kind": "CertificateSigningRequest", "metadata": {"name": "csr-1"},
            "spec": {"signerName": "kubernetes.io/kubelet-serving"}, "status": {"certificate": BASE64.encode(pem)}});
        let at =
            |time: &str| expired(&request, time.parse().ok()).map(|(subject, trouble)| (subject.name, trouble.since.unwrap().to_string()));
        assert_eq!(at("2026-11-19T23:59:59Z"), None);
        assert_eq!(at("2026-11-20T00:00:01Z"), Some(("csr-1".to_owned(), "2026-11-20T00:00:00Z".to_owned())));
        assert_eq!(expired(&json!({"status": {"certificate": "bm8gUEVN"}}), "2026-11-20T00:00:01Z".parse().ok()), None);
    }
}
