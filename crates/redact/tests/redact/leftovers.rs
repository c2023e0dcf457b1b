//! What replacing left behind, so that the search refused a whole bundle: found in a recorded cluster of 150,000 pods.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ketcd_redact::{Choice, Redactor};
use serde_json::{Value, json};

/// Rewrites objects and returns them as JSON; none of the originals is left in them.
fn redacted(choice: &str, mut objects: Vec<Value>) -> Vec<String> {
    let mut redactor = Redactor::new(Choice::parse(choice).unwrap(), b"salt", &[]);
    let key = |object: &Value| format!("/registry/x/web/{}", object["metadata"]["name"].as_str().unwrap());
    objects.iter().for_each(|object| redactor.learn(&key(object), object));
    let rewrite = |object: &mut Value| {
        redactor.object(&key(object), object);
        object.to_string()
    };
    let rewritten: Vec<String> = objects.iter_mut().map(rewrite).collect();
    for text in &rewritten {
        assert_eq!(redactor.leaks(text.as_bytes()), [], "{text}");
    }
    rewritten
}

fn pod(name: &str, labels: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "web", "labels": labels}})
}

#[test]
fn fields_of_a_definition_are_words_of_the_api() {
    let schema = json!({"type": "object", "required": ["turbine"], "properties": {"turbine": {"type": "string", "description": "The turbine of zebrafish"}}});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "hulls.example.com"},
        "spec": {"group": "example.com", "names": {"plural": "hulls", "kind": "Hull"}, "versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema},
            "additionalPrinterColumns": [{"name": "Turbine", "jsonPath": ".spec.turbine", "type": "string"}]}]}});
    let pods = [pod("turbine", json!({"part": "turbine"})), pod("zebrafish", json!({}))];
    let rewritten = redacted("names", [definition].into_iter().chain(pods).collect());
    assert!(
        rewritten[0].contains(r#""jsonPath":".spec.turbine""#) && rewritten[0].contains(r#""required":["turbine"]"#),
        "{}",
        rewritten[0]
    );
    // Sentences are text, and the field of a pod is still a name.
    assert!(!rewritten[0].contains("zebrafish") && !rewritten[1].contains("turbine"), "{rewritten:?}");
}

#[test]
fn an_applied_copy_that_does_not_say_its_kind_is_of_the_kind_around_it() {
    let applied = json!({"data": {"config.yaml": "stop = 16\nturbine.pool = 3"}, "metadata": {"name": "turbine-config"}}).to_string();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "turbine-config", "namespace": "web",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": applied}}, "data": {"config.yaml": "stop = 16\nturbine.pool = 4"}});
    let rewritten = redacted("names,values", vec![map, pod("turbine", json!({}))]);
    assert!(!rewritten[0].contains("stop") && !rewritten[0].contains("kind\\\""), "{}", rewritten[0]);
}

#[test]
fn a_name_whose_beginning_went_with_a_value_goes_too() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits", "namespace": "web"}, "data": {"a": "16 of zebrafish"}});
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e.1", "namespace": "web"},
        "message": "16 of zebrafish-turbine.pool = 3"});
    let names = [pod("zebrafish-turbine", json!({})), pod("turbine", json!({}))];
    let rewritten = redacted("names,values", [map, event].into_iter().chain(names).collect());
    assert!(!rewritten[1].contains("turbine"), "{}", rewritten[1]);
}

#[test]
fn a_short_name_in_the_noise_of_a_uid_is_an_accident() {
    // As if it were base64, this uid holds `sox` and five printable bytes.
    let mut other = pod("zebrafish", json!({}));
    other["metadata"]["uid"] = "aaaac294-ae07-5528-1220-e087835b9255".into();
    redacted("names", vec![pod("sox", json!({"app": "sox"})), other]);
    // A text in base64 is one, and so is a longer name in whatever is around it.
    let mut redactor = Redactor::new(Choice::parse("names").unwrap(), b"salt", &[]);
    [pod("sox", json!({})), pod("zebrafish", json!({}))].iter().for_each(|pod| redactor.learn("/registry/pods/web/x", pod));
    let is_left = |bytes: &[u8]| !redactor.leaks(STANDARD.encode(bytes).as_bytes()).is_empty();
    assert!(is_left(b"the pod sox is gone") && is_left(b"\x00\x01zebrafish\xff\xfe"));
}

#[test]
fn devices_are_called_in_claims_and_expressions_as_they_are_themselves() {
    let class = json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu.zebrafish.com"},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.zebrafish.com'"}}]}});
    let slice = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "n1-gpu"},
        "spec": {"driver": "gpu.zebrafish.com", "nodeName": "n1", "devices": [{"name": "turbine-0"}]}});
    let claim = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "web"},
        "spec": {"devices": {"requests": [{"name": "turbines", "exactly": {"deviceClassName": "gpu.zebrafish.com"}}]}},
        "status": {"allocation": {"devices": {"results": [{"device": "turbine-0", "driver": "gpu.zebrafish.com", "request": "turbines"}]}}}});
    for choice in ["names", "addresses", "all"] {
        let rewritten = redacted(choice, vec![class.clone(), slice.clone(), claim.clone()]);
        let [class, slice, claim] = [0, 1, 2].map(|at| serde_json::from_str::<Value>(&rewritten[at]).unwrap());
        assert_eq!(class["spec"]["selectors"][0]["cel"]["expression"], "device.driver == 'gpu.zebrafish.com'", "{choice}");
        assert_eq!(claim["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"], class["metadata"]["name"], "{choice}");
        let result = &claim["status"]["allocation"]["devices"]["results"][0];
        assert_eq!((&result["device"], &result["driver"]), (&slice["spec"]["devices"][0]["name"], &slice["spec"]["driver"]), "{choice}");
        assert_eq!(result["request"], claim["spec"]["devices"]["requests"][0]["name"], "{choice}");
    }
}
