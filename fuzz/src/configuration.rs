//! Configuration files: of encryption at rest, and of the scheduler.

use ketcd_kube::Decoder;
use ketcd_kube::encryption::{EncryptionConfig, KeyRing};
use ketcd_render::yaml;
use ketcd_scheduler::{Gates, Release, SchedulerConfiguration};
use serde_json::Value;

/// A value sealed with the first key of the first seed.
const SEALED_VALUE: &[u8] = include_bytes!("../seeds/encryption_configuration/sealed-aesgcm");
const SEALED_KEY: &[u8] = b"/registry/configmaps/vault/gcm2-2";

/// An encryption configuration: no word of its keys is in an error or in what is printed of it. Its keys open a sealed value or do not.
/// Bytes that begin as a sealed value does are one, and are opened with the keys of a seed.
pub fn encryption_configuration(data: &[u8]) {
    const ENCRYPTION_CONFIG: &str = include_str!("../seeds/encryption_configuration/k136-encrypted");
    if data.starts_with(b"k8s:enc:") {
        let keys = KeyRing::new(&EncryptionConfig::parse(ENCRYPTION_CONFIG).unwrap());
        let _ = keys.seal_of(data).to_string();
        let _ = Decoder::new().with_storage(None, keys).decode(SEALED_KEY, data, 7);
        return;
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read = EncryptionConfig::parse(text);
    let shown = match &read {
        Err(reason) => reason.clone(),
        Ok(config) => {
            let keys = KeyRing::new(config);
            let _ = keys.open(SEALED_KEY, SEALED_VALUE);
            format!("{config:?} {keys:?}")
        }
    };
    let mut secrets = Vec::new();
    if let Ok(value) = serde_saphyr::from_str::<Value>(text) {
        gather(&value, &mut secrets);
    }
    for secret in secrets {
        // One that stands elsewhere too is no secret there.
        assert!(text.matches(&secret).count() > 1 || !shown.contains(&secret), "{secret:?} of the keys is in {shown:?}");
    }
}

/// The texts of all members called `secret`, but for those that may be part of a word of ours.
fn gather(value: &Value, secrets: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            let is_telling = |secret: &&str| secret.len() >= 12 && !"EncryptionConfiguration".contains(secret);
            let of_key = members.get("secret").and_then(Value::as_str).filter(is_telling);
            secrets.extend(of_key.map(str::to_owned));
            members.values().for_each(|member| gather(member, secrets));
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, secrets)),
        _ => {}
    }
}

/// A scheduler's configuration: a reason for every refusal, profiles otherwise; as YAML and as JSON it says the same.
pub fn scheduler_configuration(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for release in [Release(18), Release(23), Release(34)] {
        let gates = Gates::new(release);
        let read = |text: &str| {
            SchedulerConfiguration::parse(text, release, &gates)
                .map(|read| read.profiles.iter().map(|profile| format!("{profile:?}")).collect::<Vec<_>>())
        };
        match read(text) {
            Err(reasons) => assert!(!reasons.is_empty() && reasons.iter().all(|reason| !reason.is_empty()), "{reasons:?}"),
            Ok(profiles) => assert!(!profiles.is_empty()),
        }
        let Ok(value) = serde_json::from_str::<Value>(text) else { continue };
        let mut as_yaml = Vec::new();
        yaml::write(&value, &mut as_yaml).unwrap();
        let (as_yaml, as_json) = (read(&String::from_utf8(as_yaml).unwrap()), read(&value.to_string()));
        assert_eq!(as_yaml.ok(), as_json.ok(), "{release}: {value}");
    }
}
