//! What the API server changes between storage and response: conversions that always add members, and defaults of
//! members that a strategy clears after defaulting or that older releases did not write.
//!
//! Sources: Kubernetes 1.20 to 1.37, `pkg/apis/{apps,batch,certificates,core}/v1/{conversion,defaults}.go`, `pkg/registry/core/service/storage/storage.go`.

use serde_json::{Map, Value, json};

/// Whether objects of a kind can change on their way.
pub(super) fn changes(api_version: &str, kind: &str) -> bool {
    rule(api_version, kind).is_some()
}

/// Makes the object what a server of release 1.`minor` would return.
pub(super) fn serve(object: &mut Value, api_version: &str, kind: &str, minor: u8) {
    if let (Some(rule), Value::Object(object)) = (rule(api_version, kind), object)
        && is_sound(object)
    {
        rule(object, minor);
    }
}

/// Whether the members that rules go into are objects, where they are there: no server returns an object in which they are something else,
/// and it is left as it is.
fn is_sound(object: &Map<String, Value>) -> bool {
    let sound = |member: Option<&Value>| member.is_none_or(|member| member.is_object() || member.is_null());
    let labels = object.get("metadata").and_then(|metadata| metadata.get("labels"));
    ["metadata", "spec", "status"].into_iter().all(|name| sound(object.get(name))) && sound(labels)
}

type Rule = fn(&mut Map<String, Value>, u8);

fn rule(api_version: &str, kind: &str) -> Option<Rule> {
    Some(match (api_version, kind) {
        ("apps/v1" | "apps/v1beta2" | "apps/v1beta1", "StatefulSet") => stateful_set,
        ("v1", "PersistentVolume") => persistent_volume,
        ("v1", "PersistentVolumeClaim") => persistent_volume_claim,
        ("v1", "Namespace") => namespace,
        ("v1", "ReplicationController") => replication_controller,
        ("v1", "Service") => service,
        ("batch/v1", "Job") => job,
        ("certificates.k8s.io/v1beta1", "PodCertificateRequest") => pod_certificate_request,
        _ => return None,
    })
}

/// Since 1.37 it is served as v1, which has no public key and proof outside the request: the conversion drops them.
fn pod_certificate_request(object: &mut Map<String, Value>, minor: u8) {
    if minor < 37 {
        return;
    }
    object.insert("apiVersion".to_owned(), "certificates.k8s.io/v1".into());
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("pkixPublicKey");
        spec.remove("proofOfPossession");
    }
}

/// The conversion from the internal type writes the TypeMeta of the templates.
fn stateful_set(object: &mut Map<String, Value>, _: u8) {
    let templates = object.get_mut("spec").and_then(|spec| spec.get_mut("volumeClaimTemplates")).and_then(Value::as_array_mut);
    for template in templates.into_iter().flatten().filter_map(Value::as_object_mut) {
        template.insert("apiVersion".to_owned(), "v1".into());
        template.insert("kind".to_owned(), "PersistentVolumeClaim".into());
    }
}

fn persistent_volume(object: &mut Map<String, Value>, _: u8) {
    default(child(object, "status"), "phase", "Pending");
}

fn persistent_volume_claim(object: &mut Map<String, Value>, minor: u8) {
    default(child(object, "status"), "phase", "Pending");
    let spec = child(object, "spec");
    // AnyVolumeDataSource is on since 1.24.
    if let (24.., Some(source), None) = (minor, spec.get("dataSource").cloned(), spec.get("dataSourceRef")) {
        spec.insert("dataSourceRef".to_owned(), source);
    }
}

fn namespace(object: &mut Map<String, Value>, minor: u8) {
    default(child(object, "status"), "phase", "Active");
    let name = object.get("metadata").and_then(|metadata| metadata.get("name")).cloned();
    if let (21.., Some(name)) = (minor, name) {
        child(child(object, "metadata"), "labels").insert("kubernetes.io/metadata.name".to_owned(), name);
    }
}

/// Labels of the object and its selector are those of the template while there are none.
fn replication_controller(object: &mut Map<String, Value>, _: u8) {
    let labels = template_labels(object);
    if let Some(labels) = labels {
        let spec = child(object, "spec");
        spec.entry("selector").or_insert_with(|| labels.clone());
        child(object, "metadata").entry("labels").or_insert(labels);
    }
}

fn job(object: &mut Map<String, Value>, minor: u8) {
    if let Some(labels) = template_labels(object) {
        child(object, "metadata").entry("labels").or_insert(labels);
    }
    let spec = child(object, "spec");
    if minor >= 22 {
        spec.entry("completionMode").or_insert_with(|| "NonIndexed".into());
        spec.entry("suspend").or_insert_with(|| false.into());
    }
    if minor >= 29 {
        let policy = if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
        spec.entry("podReplacementPolicy").or_insert_with(|| policy.into());
    }
}

/// The hook of the service storage, for services written before dual stack and later policies.
fn service(object: &mut Map<String, Value>, minor: u8) {
    let spec = child(object, "spec");
    default(spec, "sessionAffinity", "None");
    default(spec, "type", "ClusterIP");
    let external = spec["type"] == "ExternalName";
    let balanced = spec["type"] == "LoadBalancer";
    if let (20.., false, Some(ip), None) = (minor, external, text(spec, "clusterIP"), spec.get("clusterIPs")) {
        let ips = json!([ip]);
        spec.insert("clusterIPs".to_owned(), ips);
    }
    if minor >= 21 && !external {
        // A headless service's family is the cluster's, which the object does not say.
        if let (Some(ip), None) = (text(spec, "clusterIP").filter(|ip| *ip != "None"), spec.get("ipFamilies")) {
            let family = if ip.contains(':') { "IPv6" } else { "IPv4" };
            spec.insert("ipFamilies".to_owned(), json!([family]));
            default(spec, "ipFamilyPolicy", "SingleStack");
        }
    }
    if minor >= 22 {
        if external {
            spec.remove("internalTrafficPolicy");
        } else {
            default(spec, "internalTrafficPolicy", "Cluster");
        }
    }
    if minor >= 22 && balanced {
        spec.entry("allocateLoadBalancerNodePorts").or_insert_with(|| true.into());
    }
    let ingress = object.get_mut("status").and_then(|status| status.pointer_mut("/loadBalancer/ingress")).and_then(Value::as_array_mut);
    if minor >= 30 && balanced {
        for point in ingress.into_iter().flatten().filter_map(Value::as_object_mut).filter(|point| point.contains_key("ip")) {
            default(point, "ipMode", "VIP");
        }
    }
}

fn template_labels(object: &Map<String, Value>) -> Option<Value> {
    let labels = object.get("spec")?.pointer("/template/metadata/labels")?;
    labels.as_object().is_some_and(|labels| !labels.is_empty()).then(|| labels.clone())
}

fn text<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    members.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn default(members: &mut Map<String, Value>, name: &str, value: &str) {
    if text(members, name).is_none() {
        members.insert(name.to_owned(), value.into());
    }
}

/// A member that is an object; made if there is none.
fn child<'a>(members: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let member = members.entry(name).or_insert_with(|| json!({}));
    if !member.is_object() {
        *member = json!({});
    }
    member.as_object_mut().expect("made an object above")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(mut object: Value, minor: u8) -> Value {
        let (api_version, kind) = (object["apiVersion"].as_str().unwrap().to_owned(), object["kind"].as_str().unwrap().to_owned());
        serve(&mut object, &api_version, &kind, minor);
        object
    }

    #[test]
    fn templates_of_claims_get_their_type() {
        let set =
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}});
        assert_eq!(
            served(set, 36)["spec"]["volumeClaimTemplates"],
            json!([{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}])
        );
    }

    #[test]
    fn a_job_has_its_templates_labels_until_it_has_its_own() {
        let template = json!({"metadata": {"labels": {"a": "b"}}});
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {}, "spec": {"template": template}});
        assert_eq!(served(job.clone(), 20)["metadata"]["labels"], json!({"a": "b"}));
        assert_eq!(served(job.clone(), 20)["spec"], json!({"template": template}));
        assert_eq!(served(job, 36)["spec"]["podReplacementPolicy"], "TerminatingOrFailed");
        let labelled =
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"labels": {"own": "1"}}, "spec": {"template": template}});
        assert_eq!(served(labelled, 20)["metadata"]["labels"], json!({"own": "1"}));
    }

    #[test]
    fn phases_are_pending_or_active_while_nobody_set_them() {
        assert_eq!(served(json!({"apiVersion": "v1", "kind": "PersistentVolume", "status": {}}), 36)["status"]["phase"], "Pending");
        assert_eq!(
            served(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Bound"}}), 36)["status"]["phase"],
            "Bound"
        );
        let namespace = served(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}, "status": {}}), 21);
        assert_eq!(namespace["metadata"]["labels"], json!({"kubernetes.io/metadata.name": "shop"}));
        assert_eq!(namespace["status"]["phase"], "Active");
    }

    #[test]
    fn what_is_no_object_stays_what_it_is() {
        for member in ["metadata", "spec", "status"] {
            let odd = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", member: "text"});
            assert_eq!(served(odd.clone(), 36), odd);
        }
        let odd = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": "text"}});
        assert_eq!(served(odd.clone(), 36), odd);
    }

    #[test]
    fn old_services_get_their_families() {
        let old = json!({"apiVersion": "v1", "kind": "Service", "spec": {"clusterIP": "10.0.0.1", "type": "ClusterIP"}});
        assert_eq!(served(old.clone(), 19)["spec"], json!({"clusterIP": "10.0.0.1", "type": "ClusterIP", "sessionAffinity": "None"}));
        let spec = &served(old, 36)["spec"];
        assert_eq!((&spec["clusterIPs"], &spec["ipFamilies"]), (&json!(["10.0.0.1"]), &json!(["IPv4"])));
        assert_eq!((&spec["ipFamilyPolicy"], &spec["internalTrafficPolicy"]), (&json!("SingleStack"), &json!("Cluster")));
    }
}
