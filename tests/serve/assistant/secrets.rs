//! No value of a Secret reaches an assistant by any way, and with `--redact` no name does.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::client::Client;
use super::{STORY, calls};
use crate::ketcd::ketcd;
use crate::server::capture;

/// All that a server answers: each tool in both forms, so many more pages of the text, resources, prompts, completion.
fn everything(client: &mut Client, more: &[(&'static str, Value)], pages: usize) -> String {
    let mut told = String::new();
    for (name, mut arguments) in calls().into_iter().chain(more.iter().cloned()) {
        for format in ["text", "json"] {
            arguments["format"] = format.into();
            let (mut blocks, _) = client.call(name, arguments.clone());
            // A page of JSON has the members of the first.
            for page in 1..=if format == "text" { pages } else { 0 } {
                let Some(Ok(skip)) = blocks
                    .last()
                    .and_then(|last| last.split("\"skip\":").nth(1))
                    .map(|rest| rest.trim().split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default().parse::<usize>())
                else {
                    break;
                };
                told.push_str(&blocks.concat());
                arguments["skip"] = (skip * page).into();
                blocks = client.call(name, arguments.clone()).0;
            }
            arguments.as_object_mut().unwrap().remove("skip");
            told.push_str(&blocks.concat());
        }
    }
    for method in ["resources/list", "resources/templates/list", "prompts/list", "tools/list"] {
        told.push_str(&client.request(method, json!({})).to_string());
    }
    for name in ["investigate_incident", "write_the_post_mortem"] {
        told.push_str(&client.request("prompts/get", json!({"name": name, "arguments": {}})).to_string());
    }
    let of_prompt = json!({"ref": {"type": "ref/prompt", "name": "why_is_this_pod_pending"}, "argument": {"name": "pod", "value": ""}});
    let of_resource = json!({"ref": {"type": "ref/resource", "uri": "ketcd://{kind}/{namespace}/{name}@{revision}"}, "argument": {"name": "namespace", "value": ""}});
    for complete in [of_prompt, of_resource] {
        told.push_str(&client.request("completion/complete", complete).to_string());
    }
    told
}

#[test]
fn values_of_secrets_reach_no_assistant() {
    let shown = ketcd().arg("-f").arg(capture(STORY)).args(["get", "secrets", "-A", "-o", "json", "--show-secrets"]).output().unwrap();
    let secrets: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let mut values = BTreeSet::new();
    for secret in secrets["items"].as_array().unwrap() {
        let data = secret["data"].as_object().into_iter().flatten();
        // The namespace and the authority's certificate are no secret, and stand elsewhere too.
        let values_of = data.filter(|(name, _)| !["namespace", "ca.crt"].contains(&name.as_str())).filter_map(|(_, value)| value.as_str());
        for value in values_of {
            let plain = STANDARD.decode(value).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            let is_short = plain.as_deref().is_some_and(|plain| plain.len() < 12);
            values.extend([value.to_owned()].into_iter().chain(plain).filter(|_| !is_short));
        }
    }
    assert!(values.len() > 10, "{}", values.len());
    let mut client = Client::begun(&capture(STORY));
    let names: Vec<String> = secrets["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|secret| {
            format!("secret/{}/{}", secret["metadata"]["namespace"].as_str().unwrap(), secret["metadata"]["name"].as_str().unwrap())
        })
        .collect();
    let of_first = names[0].clone();
    let more = [
        ("history", json!({"address": "secrets", "diff": true})),
        ("timeline", json!({"address": "secrets"})),
        ("diff", json!({"from": 1, "address": "secrets"})),
        ("get", json!({"address": of_first, "manifest": true})),
        ("get", json!({"address": format!("/registry/secrets/{}", names[0].trim_start_matches("secret/"))})),
        ("grep", json!({"pattern": "token", "address": "secrets"})),
    ];
    let mut told = everything(&mut client, &more, 3);
    for name in names.iter().take(8) {
        told.push_str(&client.request("resources/read", json!({"uri": format!("ketcd://{name}")})).to_string());
    }
    assert!(told.contains("***"));
    // In a block of JSON and in YAML a value stands as it is; its first part is enough.
    let seen = values.iter().find(|value| told.contains(value.lines().next().filter(|line| line.len() >= 12).unwrap_or(value)));
    assert_eq!(seen, None);
    // Nor can a value be confirmed by looking for it.
    let guess = client.told("grep", json!({"pattern": values.iter().find(|value| value.len() < 4_000).unwrap()}));
    assert!(guess.starts_with("Nothing found."), "{guess}");
}

#[test]
fn copies_and_releases_are_masked() {
    const CANARY: &str = "c4nary-0f-the-c0al-mine";
    let folder = tempfile::tempdir().unwrap();
    let base64 = |text: &str| STANDARD.encode(text);
    let manifest = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": base64(CANARY)}}).to_string();
    let metadata = |name: &str| json!({"name": name, "namespace": "lab", "uid": name, "creationTimestamp": "2026-11-20T22:00:00Z"});
    let mut applied = metadata("s");
    applied["annotations"] = json!({"kubectl.kubernetes.io/last-applied-configuration": manifest});
    let mut release = metadata("sh.helm.release.v1.shop.v1");
    release["labels"] = json!({"owner": "helm", "name": "shop"});
    let mut of_config_map = release.clone();
    of_config_map["name"] = "shop.v2".into();
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Secret", "metadata": applied, "type": "Opaque", "data": {"k": base64(CANARY)}, "stringData": {"l": CANARY}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": release, "type": "helm.sh/release.v1", "data": {"release": base64(&base64(CANARY))}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": of_config_map, "data": {"release": base64(&base64(CANARY))}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata("p"), "spec": {"containers": [{"name": "c", "image": "i"}]}},
    ]});
    let file = folder.path().join("objects.json");
    fs::write(&file, objects.to_string()).unwrap();
    let mut client = Client::begun(&file);
    let told = everything(
        &mut client,
        &[("grep", json!({"pattern": CANARY})), ("get", json!({"address": "secrets,configmaps", "manifest": true}))],
        0,
    );
    assert!(told.contains("sh.helm.release.v1.shop.v1"), "{told}");
    let objects = ["secret/lab/s", "secret/lab/sh.helm.release.v1.shop.v1", "configmap/lab/shop.v2"];
    let read = |object: &str| client.request("resources/read", json!({"uri": format!("ketcd://{object}")}))["result"].to_string();
    let resources = objects.map(read).concat();
    assert_eq!(resources.matches("***").count(), 4, "{resources}");
    // The pattern itself is repeated in what goes on.
    let told = told.replace(&format!("{CANARY:?}"), "") + &resources;
    for form in [CANARY.to_owned(), base64(CANARY), base64(&base64(CANARY))] {
        assert!(!told.contains(&form), "{form}");
    }
}

/// What is served is a bundle, whose bytes `cli bundle` looks through: here, that every answer is made of it alone.
#[test]
fn redacted_names_reach_no_assistant() {
    let mut client =
        Client::start(&capture("k136-story/snapshot.db.zst"), Path::new("."), &[], &["--redact", "all", "--salt", "of-a-test"]);
    client.initialize();
    let told = everything(&mut client, &[("timeline", json!({"address": "deploy"}))], 0);
    // Examples in the descriptions of tools name a tomcat of their own.
    for canary in ["db-password", "tomcat-", "app-config"] {
        assert!(!told.contains(canary), "{canary}");
    }
    assert!(client.told("triage", json!({})).contains("trouble"));
    assert_eq!(client.end(), Some(0));
}
