//! Which keys the values of the backup need, and whether those at hand open them.
//!
//! A value says by which provider and under which key it is sealed (k8s.io/apiserver v0.36.3, `pkg/storage/value/transformer.go`); an API server that
//! does not have the key cannot read the object, and a list that holds one such object fails; one that caches the resource, as it does Secrets, does not
//! become ready (v0.36.3, `pkg/storage/cacher/cacher.go`).

use std::collections::{BTreeMap, BTreeSet};

use ketcd_kube::encryption::{AuditRow, Scheme};
use ketcd_store::shell::quoted;

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::super::objects::counted;
use super::super::states::States;
use crate::error::Result;
use crate::kinds::KeySubject;
use crate::numbers::grouped;
use crate::verify::Weight;

/// For how many resources a command is printed.
const MAX_COMMANDS: usize = 20;

/// A key by provider, name and, of a plugin, the id of its key.
type KeyName = (Scheme, String, Option<String>);

#[derive(Default)]
struct SealedUse {
    values: u64,
    opened: u64,
    resources: BTreeSet<String>,
    reason: Option<String>,
}

/// Returns which keys are needed.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let needed = by_key(states.backup.cluster.seals(None).await?);
    let now = match &states.newest {
        Some(newest) => Some(by_key(newest.cluster.seals(None).await?)),
        None => None,
    };
    let mut forecasts = Vec::new();
    let show = states.of_backup("encryption");
    forecasts.extend(of_needed(&needed, now.as_ref()).map(|forecast| forecast.with_command(show)));
    forecasts.extend(of_plain(&needed, now.as_ref()));
    Ok(forecasts)
}

fn by_key(rows: Vec<AuditRow>) -> BTreeMap<KeyName, SealedUse> {
    let mut keys: BTreeMap<KeyName, SealedUse> = BTreeMap::new();
    for row in rows.into_iter().filter(|row| row.scheme != Scheme::Identity) {
        let sealed = keys.entry((row.scheme, row.name, row.key_id)).or_default();
        sealed.values += row.values;
        sealed.opened += row.opened;
        sealed.resources.insert(row.resource);
        sealed.reason = sealed.reason.take().or(row.reason);
    }
    keys
}

fn of_needed(needed: &BTreeMap<KeyName, SealedUse>, now: Option<&BTreeMap<KeyName, SealedUse>>) -> Option<Forecast> {
    let (mut affected, mut weight, mut missing) = (Vec::new(), Weight::Low, Vec::new());
    for (key, sealed) in needed {
        let name = label(key);
        let is_rotated = now.is_some_and(|now| !now.is_empty() && !now.contains_key(key));
        let mut says =
            format!("{} values of {}", grouped(sealed.values), sealed.resources.iter().map(String::as_str).collect::<Vec<_>>().join(", "));
        if is_rotated {
            says.push_str("; nothing is sealed with it any more, so that the API server may not have it any more");
        }
        if sealed.opened == sealed.values {
            says.push_str("; the keys at hand open them");
        } else {
            says.push_str(&format!("; the keys at hand open {} of them", grouped(sealed.opened)));
            says.extend(sealed.reason.iter().map(|reason| format!(": {reason}")));
            weight = weight.max(if is_rotated { Weight::High } else { Weight::Medium });
            missing.push(name.clone());
        }
        if is_rotated {
            weight = weight.max(Weight::Medium);
        }
        affected.push(Affected { subject: KeySubject { name, ..KeySubject::default() }, says, ..Affected::default() });
    }
    if affected.is_empty() {
        return None;
    }
    let says = format!(
        "{} needed to read what is sealed: an API server that lacks one does not become ready",
        counted(affected.len(), "encryption key is", "encryption keys are")
    );
    let forecast = Forecast::new(ForecastKind::EncryptionKeys, weight, says, affected);
    let headline = match &missing[..] {
        [] => String::new(),
        [only] => format!("encryption key {only} is needed"),
        [_, ..] => format!("encryption keys {} are needed", missing.join(", ")),
    };
    Some(forecast.with_headline(headline))
}

fn label((scheme, name, key_id): &KeyName) -> String {
    match key_id {
        Some(id) => format!("{scheme} {name} under {id}"),
        None => format!("{scheme} {name}"),
    }
}

/// What is sealed now and was not in the backup.
fn of_plain(needed: &BTreeMap<KeyName, SealedUse>, now: Option<&BTreeMap<KeyName, SealedUse>>) -> Option<Forecast> {
    let resources =
        |keys: &BTreeMap<KeyName, SealedUse>| -> BTreeSet<String> { keys.values().flat_map(|sealed| sealed.resources.clone()).collect() };
    let (then, now) = (resources(needed), resources(now?));
    let plain: Vec<Affected> = now
        .difference(&then)
        .map(|resource| {
            let subject = KeySubject { kind: resource.clone(), ..KeySubject::default() };
            Affected { subject, says: "is sealed now".to_owned(), ..Affected::default() }
        })
        .collect();
    if plain.is_empty() {
        return None;
    }
    let says = format!("{} would be in plain text again until each object is written anew", counted(plain.len(), "resource", "resources"));
    // As upstream's page on encryption at rest has objects written anew.
    let write_anew = |resource: &str| format!("kubectl get {} -A -o json | kubectl replace -f -", quoted(resource.as_bytes()));
    let commands: Vec<String> = plain.iter().take(MAX_COMMANDS).map(|affected| write_anew(&affected.subject.kind)).collect();
    let forecast = Forecast::new(ForecastKind::EncryptionKeys, Weight::Low, says, plain);
    Some(commands.into_iter().fold(forecast, Forecast::with_command))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, opened: u64) -> AuditRow {
        let reason = (opened == 0).then(|| "sealed by aescbc under key k1".to_owned());
        AuditRow {
            resource: "secrets".to_owned(),
            scheme: Scheme::AesCbc,
            name: name.to_owned(),
            key_id: None,
            values: 3,
            opened,
            reason,
            promise: ketcd_kube::encryption::Promise::NotAsked,
        }
    }

    #[test]
    fn a_key_that_was_rotated_is_needed() {
        let (then, now) = (by_key(vec![row("k1", 0)]), by_key(vec![row("k2", 3)]));
        let found = of_needed(&then, Some(&now)).unwrap();
        assert_eq!((found.weight, found.headline.as_str()), (Weight::High, "encryption key aescbc k1 is needed"));
        assert_eq!(of_needed(&now, Some(&now)).unwrap().weight, Weight::Low);
        assert_eq!(of_needed(&then, None).unwrap().weight, Weight::Medium);
        assert_eq!(of_needed(&BTreeMap::new(), None), None);
    }

    #[test]
    fn what_was_sealed_since_is_in_plain_text_again() {
        let now = by_key(vec![row("k2", 3)]);
        let plain = of_plain(&BTreeMap::new(), Some(&now)).unwrap();
        assert_eq!(plain.affected[0].subject.kind, "secrets");
        assert_eq!(plain.commands, ["kubectl get secrets -A -o json | kubectl replace -f -"]);
        assert_eq!(of_plain(&now, Some(&now)), None);
    }
}
