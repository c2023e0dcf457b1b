//! Certificates in Secrets that have expired or that go back, and requests for certificates.
//!
//! A CertificateSigningRequest that was answered is deleted after an hour, one that was not after a day (k8s.io/kubernetes v1.36.3,
//! `pkg/controller/certificates/cleaner/cleaner.go`); what was signed stays with who asked for it. Certificates of the control plane and of kubelets are
//! files and not in etcd.

use jiff::Timestamp;

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::super::objects::{affected, counted, differing_at, pairs, text};
use super::super::states::States;
use super::secrets::SecretReader;
use crate::error::Result;
use crate::verify::Weight;

/// The type of a Secret that holds a certificate with its key.
const TLS_TYPE: &str = "kubernetes.io/tls";

const SHOW_COMMAND: &str = "kubectl get secrets -A --field-selector=type=kubernetes.io/tls";

/// Returns what becomes of certificates.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let (mut expired, mut older) = (Vec::new(), Vec::new());
    let reader = SecretReader::of(&states.backup);
    for entry in states.backup.entries("/secrets/").await? {
        let Some(secret) = states.backup.object(&entry).filter(|secret| text(secret, "/type") == TLS_TYPE) else { continue };
        let Some(end) = reader.read(&entry).and_then(|secret| secret.valid_until) else { continue };
        let now = states.backup.path(&entry.key).and_then(|path| valid_now(states, &path));
        let renewed = now.filter(|now| *now > end).map(|now| format!("; the one of now is valid until {now}")).unwrap_or_default();
        if states.asked.now.is_some_and(|asked| end <= asked) {
            expired.push(affected(&secret, format!("expired at {end}{renewed}")));
        } else if !renewed.is_empty() {
            older.push(affected(&secret, format!("is valid until {end}{renewed}")));
        }
    }
    if states.asked.now.is_none() {
        states.note("which certificates have expired: the time of the restore is not known");
    }
    let mut forecasts = Vec::new();
    forecasts.extend(of_expired(expired));
    forecasts.extend(of_older(older));
    forecasts.extend(of_requests(states));
    Ok(forecasts)
}

/// Until when the certificate of a Secret that differs is valid in the newest state.
fn valid_now(states: &States<'_>, path: &[u8]) -> Option<Timestamp> {
    let newest = states.newest.as_ref()?;
    SecretReader::of(newest).read(differing_at(states, path)?.after.as_ref()?)?.valid_until
}

fn of_expired(expired: Vec<Affected>) -> Option<Forecast> {
    if expired.is_empty() {
        return None;
    }
    let count = counted(expired.len(), "certificate", "certificates");
    let says = format!("{count} of the backup have expired: what serves with them is not trusted until they are renewed");
    let headline = format!("{count} expired");
    let forecast = Forecast::new(ForecastKind::Certificates, Weight::Medium, says, expired).with_headline(headline);
    Some(forecast.with_command(SHOW_COMMAND))
}

fn of_older(older: Vec<Affected>) -> Option<Forecast> {
    if older.is_empty() {
        return None;
    }
    let says = format!(
        "{} that were renewed since would go back to those of then, which are still valid",
        counted(older.len(), "certificate", "certificates")
    );
    Some(Forecast::new(ForecastKind::Certificates, Weight::Low, says, older).with_command(SHOW_COMMAND))
}

/// Requests that were made or answered since.
fn of_requests(states: &States<'_>) -> Option<Forecast> {
    let mut requests = Vec::new();
    for pair in pairs(states, "/certificatesigningrequests/") {
        let has =
            |request: &Option<ketcd_kube::Object>| request.as_ref().is_some_and(|request| !text(request, "/status/certificate").is_empty());
        match (&pair.before, &pair.after) {
            (Some(_), after) if !has(&pair.before) && (after.is_none() || has(after)) => requests.push(pair.affected("is open again")),
            (None, Some(_)) if !has(&pair.after) => requests.push(pair.affected("is lost before it was answered")),
            _ => {}
        }
    }
    if requests.is_empty() {
        return None;
    }
    let says = format!(
        "{} would be open again or be lost; who asked asks anew, and old ones are deleted after a day",
        counted(requests.len(), "request for a certificate", "requests for certificates")
    );
    let forecast = Forecast::new(ForecastKind::Certificates, Weight::Low, says, requests);
    Some(forecast.with_command("kubectl get certificatesigningrequests"))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD as BASE64;
    use rcgen::{CertificateParams, KeyPair};
    use serde_json::{Value, json};

    use super::super::super::made_up::{MadeUp, names, object, with};
    use super::*;

    fn certificate(name: &str, month: u8) -> Value {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(2026, month, 20);
        let pem = params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
        let data = json!({"tls.crt": BASE64.encode(pem), "tls.key": BASE64.encode("hidden")});
        with(object("Secret", "shop", name, name), json!({"type": TLS_TYPE, "data": data}))
    }

    fn request(name: &str, certificate: &str) -> Value {
        let spec = json!({"request": BASE64.encode("r"), "signerName": "a/b", "usages": []});
        with(object("CertificateSigningRequest", "", name, name), json!({"spec": spec, "status": {"certificate": certificate}}))
    }

    #[tokio::test]
    async fn certificates_expire_and_go_back() {
        let backup = [certificate("late", 10), certificate("older", 12), request("open", "")];
        let newest =
            [certificate("late", 12), with(certificate("older", 12), json!({"metadata": {"labels": {"a": "b"}}})), request("open", "YQ==")];
        let made_up = MadeUp::two(&backup, &newest).await;
        let found = forecasts(&made_up.states().await).await.unwrap();
        assert_eq!(names(&found, ForecastKind::Certificates), ["late", "open"]);
        assert_eq!(found[0].affected[0].says, "expired at 2026-10-20T00:00:00Z; the one of now is valid until 2026-12-20T00:00:00Z");
        assert_eq!((found[0].headline.as_str(), found[0].weight), ("1 certificate expired", Weight::Medium));
    }

    #[tokio::test]
    async fn a_backup_alone_tells_what_has_expired() {
        let made_up = MadeUp::alone(&[certificate("late", 10), certificate("good", 12)]).await;
        let found = forecasts(&made_up.states().await).await.unwrap();
        assert_eq!(names(&found, ForecastKind::Certificates), ["late"]);
        assert!(!format!("{found:?}").contains(&BASE64.encode("hidden")), "Secrets stay masked");
    }
}
