//! Canaries of every shape, in every place and encoding, found nowhere in what is left.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use flate2::Compression;
use flate2::write::GzEncoder;
use ketcd_redact::{Choice, Class, Encoding, Leak, Redactor};
use serde_json::{Value, json};

/// A credential or address of each shape, and the class of it.
const CANARIES: [(&str, Class); 14] = [
    ("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJjYW5hcnkifQ.dGhpcyBpcyBhIHNpZ25hdHVyZQ", Class::Tokens),
    ("AKIAIOSFODNN7CANARY1", Class::Tokens),
    ("-----BEGIN RSA PRIVATE KEY-----\nTUlJQ2FuYXJ5Y2FuYXJ5Y2FuYXJ5\n-----END RSA PRIVATE KEY-----", Class::Tokens),
    ("Authorization: Bearer canary0123456789abcdef", Class::Tokens),
    ("postgres://canary:hunter2canary@db.canary.internal:5432/orders", Class::Tokens),
    ("ghp_canaryCANARY0123456789canary012345", Class::Tokens),
    ("glpat-canary0123456789canary", Class::Tokens),
    ("xoxb-canary-0123456789", Class::Tokens),
    ("cn4ry1.0123456789abcdxz", Class::Tokens),
    ("jane.canary@acme-canary.com", Class::Addresses),
    ("203.0.113.77", Class::Addresses),
    ("2001:db8:17::77", Class::Addresses),
    ("02:42:ac:11:00:77", Class::Addresses),
    ("vault.canary.internal", Class::Addresses),
];

fn redactor(choice: &str) -> Redactor {
    Redactor::new(Choice::parse(choice).unwrap(), b"salt", &[])
}

/// Learns and rewrites an object; what is left, as text.
fn rewritten(redactor: &mut Redactor, key: &str, object: &Value) -> String {
    let mut rewritten = object.clone();
    redactor.learn(key, object);
    redactor.object(key, &mut rewritten);
    rewritten.to_string()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A text in every way that `leaks` undoes.
fn encoded(text: &str) -> Vec<(Vec<Encoding>, Vec<u8>)> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes();
    let url: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let escaped: String = text.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let helm = STANDARD.encode(STANDARD.encode(gzip(text.as_bytes())));
    let mut all = vec![
        (vec![], text.as_bytes().to_vec()),
        (vec![Encoding::Base64], URL_SAFE_NO_PAD.encode(text).into_bytes()),
        (vec![Encoding::Hex], hex(text.as_bytes())),
        (vec![Encoding::Url], url.into_bytes()),
        (vec![Encoding::Json], escaped.into_bytes()),
        (vec![Encoding::Base64, Encoding::Base64, Encoding::Gzip], helm.into_bytes()),
        (vec![Encoding::Gzip], gzip(text.as_bytes())),
    ];
    for before in ["", "a", "ab"] {
        all.push((vec![Encoding::Base64], STANDARD.encode(format!("{before} {text} ")).into_bytes()));
    }
    all
}

#[test]
fn every_canary_goes_from_text_of_an_object() {
    for (canary, class) in CANARIES {
        let mut redactor = redactor("tokens,addresses");
        let places = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n", "annotations": {"acme.com/note": format!("see {canary} there")}},
            "spec": {"containers": [{"name": "c", "image": "i", "args": [format!("--x={canary}")], "env": [{"name": "X", "value": canary},
                {"name": "Y", "value": STANDARD.encode(canary)}, {"name": "Z", "value": json!({"inner": canary}).to_string()}]}]},
            "status": {"message": format!("failed with \"{canary}\"")},
        });
        let left = rewritten(&mut redactor, "/registry/pods/n/p", &places);
        let secret = canary.split(['\n', ' ']).find(|word| word.to_lowercase().contains("canary")).unwrap_or(canary);
        let secret = secret.split("://").last().unwrap().split('@').next().unwrap();
        assert!(!left.contains(secret), "{canary}: {left}");
        assert!(!left.contains(&STANDARD.encode(canary)), "{canary}: {left}");
        assert!(redactor.leaks(left.as_bytes()).is_empty(), "{canary}: {left} {:?}", redactor.leaks(left.as_bytes()));
        let report = redactor.report();
        assert!(report.classes.iter().any(|of| of.class == class && of.replaced > 0), "{canary}: {report:?}");
        assert!(!serde_json::to_string(&report).unwrap().to_lowercase().contains("canary"));
    }
}

#[test]
fn originals_are_found_in_every_encoding() {
    for (original, class, object) in [
        (
            "hunter2-canary-secret",
            Class::Secrets,
            json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"},
            "data": {"p": STANDARD.encode("hunter2-canary-secret")}}),
        ),
        ("canary-payments-0", Class::Names, json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "canary-payments-0"}})),
        ("203.0.113.77", Class::Addresses, json!({"kind": "Pod", "apiVersion": "v1", "status": {"podIP": "203.0.113.77"}})),
        (
            "jane.canary@acme.com",
            Class::Addresses,
            json!({"kind": "Pod", "apiVersion": "v1", "status": {"message": "of jane.canary@acme.com"}}),
        ),
    ] {
        let mut redactor = redactor("all");
        redactor.learn("/registry/x/y", &object);
        for (encodings, bytes) in encoded(original) {
            let leaks = redactor.leaks(&bytes);
            let is_it = |leak: &Leak| leak.class == class && leak.encodings == encodings;
            assert!(leaks.iter().any(is_it), "{original} as {encodings:?} in {}: {leaks:?}", String::from_utf8_lossy(&bytes));
        }
        assert!(redactor.leaks(b"nothing of it").is_empty());
    }
}

#[test]
fn secrets_go_whatever_was_chosen() {
    let mut redactor = redactor("none");
    let applied = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": {"password": "hunter2-canary"}});
    let helm = STANDARD.encode(STANDARD.encode(gzip(b"{\"name\":\"canary\",\"manifest\":\"hunter2-canary\"}")));
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"password": STANDARD.encode("hunter2-canary"), "release": helm},
        "metadata": {"name": "db", "namespace": "shop", "labels": {"app": "web"}, "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": applied.to_string(), "acme.com/note": "hunter2-canary too"},
            "managedFields": [{"manager": "kubectl", "operation": "Update", "time": "2026-11-21T00:14:15Z", "fieldsV1": {"f:data": {"f:password": {}}}}]},
    });
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "url: hunter2-canary@x", "b": "as it is"}});
    redactor.learn("/registry/secrets/shop/db", &secret);
    let left = rewritten(&mut redactor, "/registry/secrets/shop/db", &secret);
    assert!(!left.contains("hunter2") && !left.contains(&STANDARD.encode("hunter2-canary")) && !left.contains(&helm), "{left}");
    let value: Value = serde_json::from_str(&left).unwrap();
    assert_eq!(value["metadata"]["name"], "db");
    assert_eq!(value["metadata"]["managedFields"][0]["manager"], "kubectl");
    assert_eq!(value["metadata"]["managedFields"][0]["fieldsV1"], json!({}));
    let password = STANDARD.decode(value["data"]["password"].as_str().unwrap()).unwrap();
    let again: Value =
        serde_json::from_str(value["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"].as_str().unwrap())
            .unwrap();
    assert_eq!(again["stringData"]["password"].as_str().unwrap().as_bytes(), password, "equal values stay equal");
    let left = rewritten(&mut redactor, "/registry/configmaps/n/c", &config);
    assert!(!left.contains("hunter2") && left.contains("as it is"), "{left}");
    assert!(redactor.leaks(left.as_bytes()).is_empty());
    for hidden in [helm.as_bytes(), b"x hunter2-canary y"] {
        assert!(redactor.leaks(hidden).iter().any(|leak| leak.class == Class::Secrets), "{}", String::from_utf8_lossy(hidden));
    }
}

#[test]
fn own_words_go_wherever_they_stand() {
    let mut redactor = Redactor::new(Choice::parse("none").unwrap(), b"salt", &["Acme".to_owned()]);
    let key = "/registry/acme.com/widgets/acme-shop/web";
    let widget = json!({"apiVersion": "acme.com/v1", "kind": "AcmeWidget", "metadata": {"name": "web", "namespace": "acme-shop", "labels": {"acme": "x"}}});
    let left = rewritten(&mut redactor, key, &widget);
    let key = redactor.key(key);
    assert!(!left.to_lowercase().contains("acme") && !key.contains("acme"), "{left} {key}");
    let value: Value = serde_json::from_str(&left).unwrap();
    assert!(key.contains(value["metadata"]["namespace"].as_str().unwrap()));
    assert!(redactor.text("of ACME").starts_with("of w"));
    assert_eq!(redactor.leaks(b"xACMEx").len(), 1);
    assert!(!serde_json::to_string(&redactor.report()).unwrap().to_lowercase().contains("acme"));
}
