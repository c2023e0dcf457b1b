//! The attributes of spans and of what they are about, by OpenTelemetry's semantic conventions for Kubernetes (1.43, `k8s.*`, `container.*`); what those
//! have no word for begins with `ketcd.`.

use ketcd_cluster::traces::{Moment, Span, SpanFacts, Traced, Traces};
use ketcd_history::Actor;
use ketcd_history::timeline::{Rollout, StepDetail, Subject};

use crate::timeline::{detail, template_change};
use crate::value::cut;
use crate::visible::visible;
use crate::words::name;

/// The most columns of a value. Tracing systems cut longer ones, or refuse the span.
const MAX_VALUE_COLUMNS: usize = 1024;
/// The service of a span of which nothing shows who did it.
const UNKNOWN_SERVICE: &str = "unknown";

#[derive(Clone, Debug, PartialEq)]
pub(super) enum AttributeValue {
    Text(String),
    /// A whole number.
    Integer(i64),
    Number(f64),
    /// Several texts.
    Texts(Vec<String>),
}

/// Attributes, in order.
pub(super) type Attributes = Vec<(&'static str, AttributeValue)>;

/// Text of data, in one line that is not too long.
pub(super) fn bounded(text: &str) -> String {
    cut(&visible(text), MAX_VALUE_COLUMNS)
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::Text(bounded(text))
}

/// The attributes that all spans of an actor about an object share: the actor is the service.
pub(super) fn of_resource(traces: &Traces, cluster: Option<&str>, by: Option<&Actor>, about: &Traced) -> Attributes {
    let mut attributes = vec![("service.name", text(by.map_or(UNKNOWN_SERVICE, |by| &by.name)))];
    attributes.extend(by.and_then(|by| by.on.as_deref()).map(|on| ("service.instance.id", text(on))));
    attributes.extend(cluster.map(|cluster| ("k8s.cluster.name", text(cluster))));
    attributes.extend(traces.cluster_uid.as_deref().map(|uid| ("k8s.cluster.uid", text(uid))));
    let subject = &about.subject;
    if !subject.namespace.is_empty() {
        attributes.push(("k8s.namespace.name", text(&subject.namespace)));
    }
    for subject in std::iter::once(subject).chain(&about.owners) {
        match keys_of(&subject.kind) {
            Some((name_key, uid_key)) => add_named(subject, name_key, uid_key, &mut attributes),
            None => add(&mut attributes, "ketcd.object", text(&name(subject))),
        }
    }
    if let Some(node) = &about.node {
        add(&mut attributes, "k8s.node.name", text(node));
    }
    attributes
}

/// Adds an attribute unless it is there.
fn add(attributes: &mut Attributes, key: &'static str, value: AttributeValue) {
    if attributes.iter().all(|(known, _)| *known != key) {
        attributes.push((key, value));
    }
}

fn add_named(subject: &Subject, name_key: &'static str, uid_key: &'static str, attributes: &mut Attributes) {
    add(attributes, name_key, text(&subject.name));
    if !subject.uid.is_empty() {
        add(attributes, uid_key, text(&subject.uid));
    }
}

/// The keys of name and uid of a kind that the conventions know.
fn keys_of(kind: &str) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        "CronJob" => ("k8s.cronjob.name", "k8s.cronjob.uid"),
        "DaemonSet" => ("k8s.daemonset.name", "k8s.daemonset.uid"),
        "Deployment" => ("k8s.deployment.name", "k8s.deployment.uid"),
        "Job" => ("k8s.job.name", "k8s.job.uid"),
        "Node" => ("k8s.node.name", "k8s.node.uid"),
        "PersistentVolume" => ("k8s.persistentvolume.name", "k8s.persistentvolume.uid"),
        "PersistentVolumeClaim" => ("k8s.persistentvolumeclaim.name", "k8s.persistentvolumeclaim.uid"),
        "Pod" => ("k8s.pod.name", "k8s.pod.uid"),
        "ReplicaSet" => ("k8s.replicaset.name", "k8s.replicaset.uid"),
        "ReplicationController" => ("k8s.replicationcontroller.name", "k8s.replicationcontroller.uid"),
        "StatefulSet" => ("k8s.statefulset.name", "k8s.statefulset.uid"),
        _ => return None,
    })
}

pub(super) fn of_span(span: &Span) -> Attributes {
    let mut attributes = Attributes::new();
    attributes.extend(span.container.as_deref().map(|container| ("k8s.container.name", text(container))));
    if let Some(image) = &span.image {
        let (name, tag) = image_parts(image);
        attributes.push(("container.image.name", text(name)));
        attributes.extend(tag.map(|tag| ("container.image.tags", AttributeValue::Texts(vec![bounded(tag)]))));
    }
    attributes.extend(span.by.as_ref().map(|by| ("ketcd.actor.from", text(by.from.as_str()))));
    attributes.push(("ketcd.begin.revision", AttributeValue::Integer(span.from.revision.0)));
    attributes.push(("ketcd.end.revision", AttributeValue::Integer(span.to.revision.0)));
    of_times(span, &mut attributes);
    of_facts(&span.facts, &mut attributes);
    if span.parts_left_out > 0 {
        attributes.push(("ketcd.spans.left_out", AttributeValue::Integer(span.parts_left_out as i64)));
    }
    attributes
}

/// How far the times may be off, in seconds, or whose clock they are of where that is not known.
fn of_times(span: &Span, attributes: &mut Attributes) {
    let mut uncertainty = |key, moment: &Moment| attributes.extend(moment.error.map(|error| (key, AttributeValue::Number(error))));
    uncertainty("ketcd.time.begin.uncertainty", &span.from);
    uncertainty("ketcd.time.end.uncertainty", &span.to);
    if span.from.error.is_none() || span.to.error.is_none() {
        let clock = span.by.as_ref().map_or_else(|| UNKNOWN_SERVICE.to_owned(), ToString::to_string);
        attributes.push(("ketcd.time.uncertainty", text("unknown")));
        attributes.push(("ketcd.time.clock", text(&clock)));
    }
}

fn of_facts(facts: &SpanFacts, attributes: &mut Attributes) {
    let mut words = |key, words: &str| {
        if !words.is_empty() {
            attributes.push((key, text(words)));
        }
    };
    match facts {
        SpanFacts::None => {}
        SpanFacts::Step(kind, step) => {
            words("ketcd.step", kind.as_str());
            words("ketcd.detail", &detail(*kind, step));
            if let StepDetail::Restarted { count, after, .. } = step {
                let reason = after.as_ref().and_then(|exit| exit.reason.as_deref());
                words("k8s.container.status.last_terminated_reason", reason.unwrap_or_default());
                attributes.push(("k8s.container.restart_count", AttributeValue::Integer(*count)));
            }
        }
        SpanFacts::Message(message) => words("ketcd.detail", message),
        SpanFacts::Rollout(rollout) => {
            let Rollout { number, cause, stuck, end, .. } = &**rollout;
            words("ketcd.rollout.number", number.as_deref().unwrap_or_default());
            words("ketcd.rollout.change", &template_change(&rollout.change, rollout.undo.as_ref()));
            words("ketcd.rollout.change_cause", cause.as_deref().unwrap_or_default());
            words("ketcd.rollout.outcome", end.as_ref().map_or("", |(end, ..)| end.as_str()));
            words("ketcd.rollout.stuck", &stuck.as_ref().map(ToString::to_string).unwrap_or_default());
        }
        SpanFacts::Deletion(chain) => words("ketcd.deletion.chain", chain),
        SpanFacts::Node { left, stayed } => {
            attributes.push(("ketcd.pods.left", AttributeValue::Integer(*left as i64)));
            attributes.push(("ketcd.pods.stayed", AttributeValue::Integer(*stayed as i64)));
        }
    }
}

/// Why a span failed, in words.
pub(super) fn problem(span: &Span) -> String {
    let words = match &span.facts {
        SpanFacts::Step(kind, step) => {
            let detail = detail(*kind, step);
            if detail.is_empty() { kind.as_str().to_owned() } else { format!("{kind}: {detail}") }
        }
        SpanFacts::Rollout(rollout) => match &rollout.stuck {
            Some(stuck) => stuck.to_string(),
            None => rollout.end.as_ref().map_or("", |(end, ..)| end.as_str()).to_owned(),
        },
        SpanFacts::Message(message) => message.clone(),
        SpanFacts::Deletion(_) | SpanFacts::Node { .. } | SpanFacts::None => span.kind.name().to_owned(),
    };
    bounded(&words)
}

/// An image's name without its tag and digest, and its tag.
fn image_parts(image: &str) -> (&str, Option<&str>) {
    let image = image.split_once('@').map_or(image, |(image, _)| image);
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (image, None),
    }
}

/// What a trace is called where it has no span to name it.
pub(super) fn title(about: &Traced) -> String {
    bounded(&name(&about.subject))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_taken_apart_as_references_are() {
        for (image, parts) in [
            ("nginx", ("nginx", None)),
            ("nginx:1.27", ("nginx", Some("1.27"))),
            ("registry:5000/team/app", ("registry:5000/team/app", None)),
            ("registry:5000/team/app:7@sha256:0a", ("registry:5000/team/app", Some("7"))),
        ] {
            assert_eq!(image_parts(image), parts);
        }
    }

    #[test]
    fn values_are_one_line_of_a_bounded_length() {
        assert_eq!(bounded("a\nb\u{1b}[31m"), "a\\nb\\x1b[31m");
        assert!(bounded(&"x".repeat(5000)).chars().count() <= MAX_VALUE_COLUMNS);
    }
}
