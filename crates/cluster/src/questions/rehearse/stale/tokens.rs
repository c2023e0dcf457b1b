//! Tokens that are refused after the restore, and tokens that are valid again.
//!
//! A ServiceAccount's token names the uids of its ServiceAccount and of the pod or Secret that it is bound to, and is refused where one of them is not
//! there (k8s.io/kubernetes v1.36.3, `pkg/serviceaccount/claims.go`, `legacy.go`); which key signs it is not in etcd. An expired bootstrap token is deleted
//! (`pkg/controller/bootstrap/tokencleaner.go`).

use jiff::Timestamp;

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::super::objects::{affected, counted, differing_at, pairs, text};
use super::super::states::States;
use super::secrets::SecretReader;
use crate::error::Result;
use crate::verify::Weight;

/// The type of a Secret that holds a ServiceAccount's token for ever.
const ACCOUNT_TOKEN: &str = "kubernetes.io/service-account-token";

/// The type of a Secret that holds a bootstrap token.
const BOOTSTRAP_TOKEN: &str = "bootstrap.kubernetes.io/token";

/// Where bootstrap tokens are stored.
const BOOTSTRAP_PATH: &str = "/secrets/kube-system/bootstrap-token-";

/// Returns what becomes of tokens.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let (mut refused, mut valid) = (Vec::new(), Vec::new());
    for pair in pairs(states, "/serviceaccounts/") {
        match (&pair.before, &pair.after) {
            (None, Some(_)) => refused.push(pair.affected("is not in the backup: all its tokens are refused")),
            (Some(_), Some(_)) if !pair.is_same() => {
                refused.push(pair.affected("was made again since: the tokens that it has now are refused"))
            }
            _ => {}
        }
    }
    for pair in pairs(states, "/secrets/") {
        let Some(secret) = pair.after.as_ref().or(pair.before.as_ref()) else { continue };
        let kind = text(secret, "/type");
        if !matches!(kind, ACCOUNT_TOKEN | BOOTSTRAP_TOKEN) || pair.is_same() {
            continue;
        }
        if pair.after.is_some() {
            refused.push(pair.affected("was made since: its token is refused"));
        }
        if pair.before.is_some() && kind == ACCOUNT_TOKEN {
            valid.push(pair.affected("was deleted since: its token is valid again"));
        }
    }
    let bootstrap = Bootstrap::of(states).await?;
    valid.extend(bootstrap.valid);
    let mut forecasts = Vec::new();
    forecasts.extend(of_refused(refused));
    forecasts.extend(of_valid(valid));
    forecasts.extend(of_expired(bootstrap.expired));
    if states.newest.is_none() {
        states.note("which tokens were made or revoked since the backup: no newer state");
    }
    states.note("whether the keys that sign tokens are those of the backup: they are not in etcd");
    Ok(forecasts)
}

/// The bootstrap tokens of the backup that matter.
#[derive(Default)]
struct Bootstrap {
    expired: Vec<Affected>,
    /// Those that were deleted since and have not expired.
    valid: Vec<Affected>,
}

impl Bootstrap {
    async fn of(states: &States<'_>) -> Result<Self> {
        let (reader, mut found) = (SecretReader::of(&states.backup), Self::default());
        for entry in states.backup.entries(BOOTSTRAP_PATH).await? {
            let Some(secret) = states.backup.object(&entry).filter(|secret| text(secret, "/type") == BOOTSTRAP_TOKEN) else { continue };
            let expiration: Option<Timestamp> = reader.read(&entry).and_then(|secret| secret.expiration);
            let has_expired = matches!((expiration, states.asked.now), (Some(expiration), Some(now)) if expiration <= now);
            let path = states.backup.path(&entry.key);
            let is_deleted = path.and_then(|path| differing_at(states, &path)).is_some_and(|differing| differing.after.is_none());
            match expiration {
                Some(expiration) if has_expired => found.expired.push(affected(&secret, format!("expired at {expiration}"))),
                Some(expiration) if is_deleted => {
                    found.valid.push(affected(&secret, format!("was deleted since: it is valid again until {expiration}")));
                }
                None if is_deleted => found.valid.push(affected(&secret, "was deleted since: it is valid again and does not expire")),
                _ => {}
            }
        }
        Ok(found)
    }
}

fn of_refused(refused: Vec<Affected>) -> Option<Forecast> {
    if refused.is_empty() {
        return None;
    }
    let accounts = counted(refused.len(), "ServiceAccount or token", "ServiceAccounts and tokens");
    let says =
        format!("tokens of {accounts} made since would be refused, in pods and outside; pods that are not in the backup lose theirs too");
    let headline = format!("tokens of {accounts} would be refused");
    let forecast = Forecast::new(ForecastKind::Tokens, Weight::Medium, says, refused).with_headline(headline);
    Some(forecast.with_command("kubectl get serviceaccounts -A"))
}

fn of_valid(valid: Vec<Affected>) -> Option<Forecast> {
    if valid.is_empty() {
        return None;
    }
    let count = counted(valid.len(), "token", "tokens");
    let says = format!("{count} that were revoked since would be valid again");
    let forecast = Forecast::new(ForecastKind::Tokens, Weight::Medium, says, valid.clone()).with_headline(format!("{count} valid again"));
    let commands: Vec<String> = valid.iter().take(MAX_COMMANDS).map(delete).collect();
    Some(commands.into_iter().fold(forecast, Forecast::with_command))
}

const MAX_COMMANDS: usize = 20;

fn delete(secret: &Affected) -> String {
    let word = |text: &str| ketcd_store::shell::quoted(text.as_bytes());
    format!("kubectl delete secret --namespace={} -- {}", word(&secret.subject.namespace), word(&secret.subject.name))
}

fn of_expired(expired: Vec<Affected>) -> Option<Forecast> {
    if expired.is_empty() {
        return None;
    }
    let says = format!(
        "{} have expired and would be deleted; nodes that join need new ones",
        counted(expired.len(), "bootstrap token", "bootstrap tokens")
    );
    let forecast = Forecast::new(ForecastKind::Tokens, Weight::Low, says, expired);
    Some(forecast.with_command("kubeadm token create --print-join-command"))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD as BASE64;
    use serde_json::{Value, json};

    use super::super::super::made_up::{MadeUp, names, object, with};
    use super::*;

    fn bootstrap(name: &str, expiration: &str) -> Value {
        let data = json!({"expiration": BASE64.encode(expiration), "token-secret": BASE64.encode("hidden")});
        with(object("Secret", "kube-system", &format!("bootstrap-token-{name}"), name), json!({"type": BOOTSTRAP_TOKEN, "data": data}))
    }

    fn token(name: &str) -> Value {
        with(object("Secret", "shop", name, name), json!({"type": ACCOUNT_TOKEN, "data": {"token": BASE64.encode("hidden")}}))
    }

    #[tokio::test]
    async fn tokens_are_refused_or_valid_again() {
        let backup = [
            object("ServiceAccount", "shop", "again", "old"),
            token("revoked"),
            bootstrap("late", "2026-11-28T11:00:00Z"),
            bootstrap("back", "2026-11-29T11:00:00Z"),
        ];
        let newest = [object("ServiceAccount", "shop", "again", "new"), object("ServiceAccount", "shop", "fresh", "f"), token("made")];
        let made_up = MadeUp::two(&backup, &newest).await;
        let found = forecasts(&made_up.states().await).await.unwrap();
        let expected = ["again", "fresh", "made", "revoked", "bootstrap-token-back", "bootstrap-token-late"];
        assert_eq!(names(&found, ForecastKind::Tokens), expected);
        assert_eq!(found[1].commands[0], "kubectl delete secret --namespace=shop -- revoked");
        let shown = format!("{found:?}");
        assert!(!shown.contains("hidden") && !shown.contains(&BASE64.encode("hidden")), "Secrets stay masked");
    }

    #[tokio::test]
    async fn a_backup_alone_tells_what_has_expired() {
        let made_up = MadeUp::alone(&[bootstrap("late", "2026-11-28T11:00:00Z"), bootstrap("good", "2026-11-29T11:00:00Z")]).await;
        let states = made_up.states().await;
        let found = forecasts(&states).await.unwrap();
        assert_eq!(names(&found, ForecastKind::Tokens), ["bootstrap-token-late"]);
        assert_eq!(states.not_known().len(), 2);
    }
}
