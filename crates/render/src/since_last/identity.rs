//! The ids of troubles: made of what makes a trouble the same one at two moments.

use sha2::{Digest, Sha256};

use ketcd_history::trouble::triage::{Finding, TroubleKey};

/// Hexadecimal digits of an id: no two of a billion troubles are likely to share one.
const ID_DIGITS: usize = 16;

pub(crate) fn of_key(key: &TroubleKey) -> String {
    let object = &key.object;
    let parts = [key.rule, &object.kind, &object.namespace, &object.name];
    of_parts(parts.into_iter().chain(key.cause.iter().map(String::as_str)))
}

/// Returns the id of a finding: that of its troubles where they have one, else one of what they have in common.
pub(crate) fn of_finding(finding: &Finding) -> String {
    let keys = finding.keys();
    let Some(first) = keys.first() else { return of_parts([finding.trouble.kind.as_str()].into_iter()) };
    if keys.iter().all(|key| key == first) {
        return of_key(first);
    }
    let is_common = |part: fn(&TroubleKey) -> &str| keys.iter().all(|key| part(key) == part(first));
    let namespace = if is_common(|key| &key.object.namespace) { &*first.object.namespace } else { "" };
    let kind = if is_common(|key| &key.object.kind) { &*first.object.kind } else { "" };
    let causes = if keys.iter().all(|key| key.cause == first.cause) { &first.cause[..] } else { &[] };
    // No object has an empty name, so that this is the id of no single trouble.
    of_parts([first.rule, kind, namespace, ""].into_iter().chain(causes.iter().map(String::as_str)))
}

/// The digits of some parts; no part can run into the next one.
fn of_parts<'p>(parts: impl Iterator<Item = &'p str>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    let mut digits = format!("{:x}", hasher.finalize());
    digits.truncate(ID_DIGITS);
    digits
}
