//! Pods of one template: what they share is compiled once, and found again by its stored bytes. A large cluster has hundreds of thousands of pods of a
//! few hundred templates.

use std::sync::Arc;

use foldhash::HashMap;
use sha2::{Digest, Sha256};

use ketcd_kube::{Shown, ShownValue};
use serde_json::Value;

use super::excerpt::{OWN_FIELDS, Own};
use super::info::{self, ScheduledCondition};
use super::spec::PodInterner;
use crate::cluster::raw_object::{ParseError, is_of_kind};
use crate::cluster::{PodFields, PodInfo, PodSpec, RawObject};

/// Reads a pod.
///
/// # Errors
/// Why it cannot be read, and what is still known of it.
pub(super) fn parse_pod(raw: RawObject<'_>) -> Result<PodFields<'_>, ParseError> {
    let pod = raw.fields().and_then(|pod: PodFields<'_>| is_of_kind("Pod", &pod.kind).map(|()| pod));
    pod.map_err(|why| unread_pod(why, raw))
}

/// What is known of a pod that cannot be read: its node, if that can be.
fn unread_pod(why: String, raw: RawObject<'_>) -> ParseError {
    let Ok(object) = raw.fields::<Value>() else { return why.into() };
    let text = |pointer: &str| match object.pointer(pointer) {
        None => Some(""),
        Some(value) => value.as_str(),
    };
    let known = object["spec"].is_object() && object.get("status").is_none_or(Value::is_object);
    let (node, nominated) = (text("/spec/nodeName"), text("/status/nominatedNodeName"));
    let finished = matches!(text("/status/phase"), Some("Succeeded" | "Failed"));
    let waits = known && node == Some("") && nominated == Some("");
    ParseError { why, node: node.filter(|node| !node.is_empty()).map(str::to_owned), idle: waits || finished }
}

/// A pod, parsed as far as is possible without the state.
#[expect(clippy::large_enum_variant, reason = "it stands in a box")]
pub(crate) enum ParsedPod<'a> {
    Whole(PodFields<'a>),
    /// What is its own, and what it shares.
    OfTemplate {
        /// Its own fields.
        own: OwnFields<'a>,
        template: Template,
        /// The pod, for the case that its template is not known yet.
        pod: RawObject<'a>,
    },
}

/// [`OWN_FIELDS`] of a pod.
#[derive(Default)]
pub(crate) struct OwnFields<'a> {
    name: &'a str,
    uid: &'a str,
    node_name: &'a str,
    /// Whether it has an annotation that matters to a scheduler.
    is_annotated: bool,
    created: Option<i64>,
    is_terminating: bool,
    started: Option<i64>,
    scheduled: Scheduled,
    /// The values of `matchFields` of the required node affinity, each with the place of the requirement that has it.
    required_nodes: Vec<(usize, &'a str)>,
}

/// When the first condition PodScheduled changed last, found while a condition's fields come in any order.
#[derive(Default)]
struct Scheduled {
    condition: Option<usize>,
    /// The last time that was seen, with the place of its condition.
    transition: Option<(usize, i64)>,
    since: Option<i64>,
}

impl Scheduled {
    fn take_type(&mut self, condition: usize, kind: &str) {
        if kind == "PodScheduled" && self.condition.is_none() {
            self.condition = Some(condition);
            self.since = self.transition.filter(|(of, _)| *of == condition).map(|(_, time)| time);
        }
    }

    fn take_time(&mut self, condition: usize, time: i64) {
        self.transition = Some((condition, time));
        if self.condition == Some(condition) {
            self.since = Some(time);
        }
    }
}

impl<'a> ParsedPod<'a> {
    /// Parses a pod.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(in crate::cluster) fn parse(pod: RawObject<'a>) -> Result<Self, ParseError> {
        match Self::of_template(&pod) {
            Some((own, template)) => Ok(Self::OfTemplate { own, template, pod }),
            None => parse_pod(pod).map(Self::Whole),
        }
    }

    /// What is a stored pod's own, and the rest.
    fn of_template(pod: &RawObject<'a>) -> Option<(OwnFields<'a>, Template)> {
        let RawObject::Stored { reader, key, value, .. } = *pod else { return None };
        let mut own = OwnFields::default();
        let mut shared = Vec::with_capacity(4096);
        let has_excerpt = reader.template.as_ref()?.append(key, value, &mut shared, |shown| own.take(&shown));
        (has_excerpt && !own.is_annotated).then(|| (own, Sha256::digest(&shared).into()))
    }

    /// Compiles the pod. What cannot be read of it is added to `problems`; the rest counts.
    ///
    /// # Errors
    /// Why none of it can be read.
    pub(in crate::cluster) fn compile(
        self,
        mod_revision: i64,
        interner: &mut PodInterner,
        templates: &mut Templates,
        problems: &mut Vec<String>,
    ) -> Result<Arc<PodInfo>, ParseError> {
        let (own, template, pod) = match self {
            Self::Whole(fields) => return Ok(Arc::new(PodInfo::compile(&fields, mod_revision, interner, problems))),
            Self::OfTemplate { own, template, pod } => (own, template, pod),
        };
        if let Some(like) = templates.get(&template)
            && let Some(spec) = own.spec_like(&like.spec, interner)
        {
            return Ok(Arc::new(PodInfo { spec, ..own.pod_like(&like, mod_revision, interner) }));
        }
        let info = Arc::new(PodInfo::compile(&parse_pod(pod)?, mod_revision, interner, problems));
        if problems.is_empty() && info.spec.volumes.is_empty() {
            templates.insert(template, info.clone());
        }
        Ok(info)
    }
}

impl<'a> OwnFields<'a> {
    fn take(&mut self, shown: &Shown<'a>) {
        match (OWN_FIELDS[shown.field].0, shown.value) {
            (Own::Name, ShownValue::Text(name)) => self.name = name,
            (Own::Uid, ShownValue::Text(uid)) => self.uid = uid,
            (Own::Annotation, ShownValue::Text(key)) => self.is_annotated |= info::READ_ANNOTATIONS.contains(&key),
            (Own::Created, ShownValue::Time(time)) => self.created = Some(time),
            (Own::Deleted, ShownValue::Time(_)) => self.is_terminating = true,
            (Own::RequiredNode, ShownValue::Text(name)) => self.required_nodes.push((shown.within, name)),
            (Own::Node, ShownValue::Text(name)) => self.node_name = name,
            (Own::Started, ShownValue::Time(time)) => self.started = Some(time),
            (Own::Transition, ShownValue::Time(time)) => self.scheduled.take_time(shown.within, time),
            (Own::Condition, ShownValue::Text(kind)) => self.scheduled.take_type(shown.within, kind),
            _ => {}
        }
    }

    /// Returns another pod's spec with the node names that this one requires; `None` where one of the two does not require them as upstream parses them.
    fn spec_like(&self, like: &Arc<PodSpec>, interner: &mut PodInterner) -> Option<Arc<PodSpec>> {
        let terms = || like.node_affinity.required.iter().flatten();
        if self.required_nodes.is_empty() && terms().all(|term| term.fields.is_empty() && term.error.is_none()) {
            return Some(like.clone());
        }
        let mut own = self.required_nodes.chunk_by(|(one, _), (other, _)| one == other);
        let mut spec = PodSpec::clone(like);
        for term in spec.node_affinity.required.iter_mut().flatten() {
            if term.error.is_some() {
                return None;
            }
            for field in &mut term.fields {
                let [(_, name)] = own.next()? else { return None };
                field.values = vec![interner.texts.string(name)];
            }
        }
        own.next().is_none().then(|| interner.spec(spec))
    }

    /// Returns a pod of the same template as another.
    fn pod_like(&self, like: &PodInfo, mod_revision: i64, interner: &mut PodInterner) -> PodInfo {
        let since = self.scheduled.since;
        let scheduled = |condition: &Arc<ScheduledCondition>| {
            if since == condition.since { condition.clone() } else { Arc::new(ScheduledCondition { since, ..(**condition).clone() }) }
        };
        PodInfo {
            name: self.name.into(),
            uid: self.uid.into(),
            node_name: (!self.node_name.is_empty()).then(|| interner.texts.string(self.node_name)),
            terminating: self.is_terminating,
            created: self.created,
            started: self.started,
            scheduled: like.scheduled.as_ref().map(scheduled),
            mod_revision,
            ..like.clone()
        }
    }
}

/// The SHA-256 of the stored bytes that the pods of a template share.
type Template = [u8; 32];

const MAX_TEMPLATES_KEPT: usize = 1 << 16;

/// A compiled pod of each template.
#[derive(Clone, Debug, Default)]
pub(in crate::cluster) struct Templates(HashMap<Template, Arc<PodInfo>>);

impl Templates {
    fn get(&self, template: &Template) -> Option<Arc<PodInfo>> {
        self.0.get(template).cloned()
    }

    fn insert(&mut self, template: Template, pod: Arc<PodInfo>) {
        if self.0.len() == MAX_TEMPLATES_KEPT {
            self.0.clear();
        }
        self.0.insert(template, pod);
    }
}

#[cfg(test)]
mod tests {
    use ketcd_kube::{Decoder, Release, encode};
    use serde_json::json;

    use super::info::{MIRROR_ANNOTATION, NOMINATED_ANNOTATION};
    use super::*;
    use crate::cluster::ObjectReader;

    fn pod() -> Value {
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web-1", "namespace": "a", "uid": "1", "labels": {"app": "web"}, "annotations": {"note": "x"},
                "creationTimestamp": "2026-11-21T00:00:00Z",
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "9", "controller": true}]},
            "spec": {"nodeName": "n1", "schedulerName": "default-scheduler",
                "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}},
                    "volumeMounts": [{"name": "kube-api-access-1", "mountPath": "/x"}]}],
                "volumes": [{"name": "kube-api-access-1", "projected": {"sources": []}}]},
            "status": {"phase": "Running", "startTime": "2026-11-21T00:00:02Z",
                "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-21T00:00:01Z"}]}})
    }

    /// Compiles the pods one after the other, from their stored bytes; returns them and whether each was found by its template.
    fn compiled(pods: &[Value]) -> Vec<(String, bool)> {
        let decoder = Decoder::new();
        let reader = ObjectReader::new(&decoder);
        let (mut interner, mut templates) = (PodInterner::default(), Templates::default());
        let mut compile = |pod: &Value| {
            let value = encode(pod, Release(36)).unwrap().unwrap();
            let pod = ParsedPod::parse(RawObject::Stored { reader: &reader, key: b"/registry/pods/a/p", value: &value, mod_revision: 7 });
            let pod = pod.unwrap_or_else(|error| panic!("{}", error.why));
            let found = matches!(&pod, ParsedPod::OfTemplate { template, .. } if templates.get(template).is_some());
            let info = pod.compile(7, &mut interner, &mut templates, &mut Vec::new()).unwrap_or_else(|error| panic!("{}", error.why));
            (format!("{info:?}"), found)
        };
        pods.iter().map(&mut compile).collect()
    }

    /// Asserts what a pod with one member changed is after one of the same template, and that it is what it is alone.
    fn is_found(pointer: &str, value: Value, expected: bool) {
        let mut changed = pod();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        changed.pointer_mut(parent).unwrap()[name] = value;
        let after = compiled(&[pod(), changed.clone()]).pop().unwrap();
        let alone = compiled(&[changed]).pop().unwrap();
        assert_eq!(after, (alone.0, expected), "{pointer}");
    }

    #[test]
    fn pods_that_differ_in_what_is_their_own_share_a_template() {
        is_found("/metadata/name", json!("web-2"), true);
        is_found("/metadata/uid", json!("2"), true);
        is_found("/metadata/annotations", json!({"other": "y"}), true);
        is_found("/metadata/creationTimestamp", json!("2026-11-21T00:00:09Z"), true);
        is_found("/metadata/deletionTimestamp", json!("2026-11-21T00:00:09Z"), true);
        is_found("/spec/nodeName", json!("n2"), true);
        is_found("/spec/nodeName", Value::Null, true);
        is_found("/spec/volumes", json!([{"name": "kube-api-access-2", "projected": {"sources": []}}]), true);
        is_found("/spec/restartPolicy", json!("Never"), true);
        is_found("/status/startTime", json!("2026-11-21T00:00:09Z"), true);
        let later = json!([{"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-21T00:00:09Z"}]);
        is_found("/status/conditions", later, true);
    }

    #[test]
    fn pods_that_differ_in_anything_else_that_is_read_do_not() {
        is_found("/metadata/namespace", json!("b"), false);
        is_found("/metadata/labels", json!({"app": "web", "x": "y"}), false);
        is_found("/metadata/annotations", json!({MIRROR_ANNOTATION: "x"}), false);
        is_found("/metadata/annotations", json!({NOMINATED_ANNOTATION: "n3"}), false);
        is_found("/metadata/ownerReferences", json!([]), false);
        is_found("/spec/containers", json!([{"name": "c", "image": "j"}]), false);
        is_found("/spec/overhead", json!({"cpu": "1"}), false);
        is_found("/spec/volumes", json!([{"name": "v", "persistentVolumeClaim": {"claimName": "v"}}]), false);
        is_found("/spec/tolerations", json!([{"key": "a", "operator": "Exists"}]), false);
        is_found("/status/phase", json!("Succeeded"), false);
        is_found("/status/nominatedNodeName", json!("n3"), false);
        is_found("/status/conditions", json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]), false);
    }

    #[test]
    fn pods_of_a_daemon_set_share_a_template() {
        let on = |names: Value| {
            let mut pod = pod();
            let fields = json!([{"key": "metadata.name", "operator": "In", "values": names}]);
            pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
                json!([{"matchFields": fields, "matchExpressions": [{"key": "os", "operator": "Exists"}]}]);
            pod
        };
        // Upstream parses no term with two names, or without one.
        let pods = [json!(["n1"]), json!(["n2"]), json!(["n1", "n2"]), json!([])].map(on);
        let found = compiled(&pods);
        for (found, pod) in found.iter().zip(&pods) {
            assert_eq!(found.0, compiled(std::slice::from_ref(pod))[0].0, "{pod}");
        }
        assert!(found[1].1 && found[1].0.contains("n2"));
        let damaged = [json!(["n1", "n2"]), json!(["n1"])].map(on);
        assert_eq!(compiled(&damaged)[1].0, found[0].0);
    }

    #[test]
    fn pods_with_volumes_that_are_read_are_not_found_by_their_bytes() {
        let mut claims = pod();
        claims["spec"]["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "v"}}]);
        assert!(compiled(&[claims.clone(), claims.clone(), claims]).iter().all(|(_, found)| !found));
    }

    #[test]
    fn pods_with_unknown_fields_are_decoded_each() {
        let decoder = Decoder::new();
        let reader = ObjectReader::new(&decoder);
        let mut value = encode(&pod(), Release(36)).unwrap().unwrap();
        let key = b"/registry/pods/a/p";
        let is_of_template =
            |value: &[u8]| ParsedPod::of_template(&RawObject::Stored { reader: &reader, key, value, mod_revision: 7 }).is_some();
        assert!(is_of_template(&value));
        // An owner reference has no field 2.
        let kind = value.windows(5).position(|bytes| bytes == b"\x0a\x0aRep").expect("the owner's kind");
        value[kind] = 2 << 3 | 2;
        assert_eq!(decoder.decode(key, &value, 7).unknown_fields.len(), 1);
        assert!(!is_of_template(&value));
    }
}
