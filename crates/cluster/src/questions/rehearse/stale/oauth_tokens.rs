//! OpenShift's OAuth access tokens: logins since the backup are refused, those that were ended since are valid again.
//!
//! openshift/api, `oauth/v1/types.go`: a token is of a user and expires `expiresIn` seconds after it was made, or never; openshift/origin,
//! `pkg/auth/oauth/registry/expirationvalidator.go`: it is refused then, or where it is not there. Up to 4.5 the name of a token is the token, so users are named
//! instead.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::super::objects::{counted, pairs, text};
use super::super::states::States;
use crate::kinds::KeySubject;
use crate::verify::Weight;

/// Where the tokens are stored.
const TOKEN_PATH: &str = "/openshift.io/oauth/accesstokens/";

/// How many tokens each user has.
type ByUser = BTreeMap<String, usize>;

pub(super) fn forecasts(states: &States<'_>) -> Vec<Forecast> {
    let (mut refused, mut valid) = (ByUser::new(), ByUser::new());
    for pair in pairs(states, TOKEN_PATH).filter(|pair| !pair.is_same()) {
        if let Some(after) = pair.after.as_ref().filter(|token| is_valid(token, states.asked.now)) {
            *refused.entry(text(after, "/userName").to_owned()).or_default() += 1;
        }
        if let Some(before) = pair.before.as_ref().filter(|token| is_valid(token, states.asked.now)) {
            *valid.entry(text(before, "/userName").to_owned()).or_default() += 1;
        }
    }
    of_refused(&refused).into_iter().chain(of_valid(&valid)).collect()
}

/// Whether a token has not expired, as far as the time is known.
fn is_valid(token: &Value, now: Option<Timestamp>) -> bool {
    let seconds = token["expiresIn"].as_i64().filter(|seconds| *seconds > 0);
    let made = text(token, "/metadata/creationTimestamp").parse::<Timestamp>().ok();
    let end = made.zip(seconds).and_then(|(made, seconds)| made.checked_add(SignedDuration::from_secs(seconds)).ok());
    end.zip(now).is_none_or(|(end, now)| end >= now)
}

/// The users, each with how many tokens it is about.
fn users(of: &ByUser, says: &str) -> Vec<Affected> {
    let user = |(name, count): (&String, &usize)| {
        let subject = KeySubject { kind: "User".to_owned(), namespace: String::new(), name: name.clone() };
        Affected { subject, says: format!("{} {says}", counted(*count, "token", "tokens")), ..Affected::default() }
    };
    of.iter().map(user).collect()
}

fn of_refused(of: &ByUser) -> Option<Forecast> {
    if of.is_empty() {
        return None;
    }
    let count = counted(of.values().sum(), "OAuth token", "OAuth tokens");
    let says = format!("{count} of {} that logged in since would be refused: they log in again", counted(of.len(), "user", "users"));
    let forecast = Forecast::new(ForecastKind::Tokens, Weight::Low, says, users(of, "made since"));
    Some(forecast.with_command("oc get oauthaccesstokens"))
}

fn of_valid(of: &ByUser) -> Option<Forecast> {
    if of.is_empty() {
        return None;
    }
    let count = counted(of.values().sum(), "OAuth token", "OAuth tokens");
    let says = format!("{count} of {} that were deleted since would be valid again", counted(of.len(), "user", "users"));
    let forecast = Forecast::new(ForecastKind::Tokens, Weight::Medium, says, users(of, "deleted since"));
    Some(forecast.with_headline(format!("{count} valid again")).with_command("oc get oauthaccesstokens"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::made_up::{MadeUp, object};
    use super::*;

    fn token(name: &str, user: &str, made: &str, seconds: i64) -> Value {
        json!({"key": format!("{TOKEN_PATH}{name}"), "object": {"apiVersion": "oauth.openshift.io/v1", "kind": "OAuthAccessToken",
            "metadata": {"name": name, "uid": name, "creationTimestamp": made}, "userName": user, "expiresIn": seconds}})
    }

    #[tokio::test]
    async fn tokens_are_counted_by_user_and_not_named() {
        let openshift = json!({"key": "/kubernetes.io/namespaces/default", "object": object("Namespace", "", "default", "d")});
        let day = 86_400;
        let backup = [
            openshift.clone(),
            token("sha256~kept", "alice", "2026-11-28T10:00:00Z", day),
            token("sha256~revoked", "bob", "2026-11-28T10:00:00Z", day),
            token("sha256~expired", "bob", "2026-11-26T10:00:00Z", day),
        ];
        let newest = [
            openshift,
            token("sha256~kept", "alice", "2026-11-28T10:00:00Z", day),
            token("sha256~new", "alice", "2026-11-28T11:00:00Z", day),
            token("sha256~other", "alice", "2026-11-28T11:00:00Z", 0),
        ];
        let made_up = MadeUp::two(&backup, &newest).await;
        let found = forecasts(&made_up.states().await);
        let said: Vec<(&str, &str)> = found.iter().flat_map(|one| &one.affected).map(|user| (&*user.subject.name, &*user.says)).collect();
        assert_eq!(said, [("alice", "2 tokens made since"), ("bob", "1 token deleted since")]);
        assert_eq!((found[0].weight, found[1].headline.as_str()), (Weight::Low, "1 OAuth token valid again"));
        assert!(!format!("{found:?}").contains("sha256~"));
    }
}
