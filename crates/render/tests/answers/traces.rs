//! Traces as they are written: OpenTelemetry's own messages read them, their times are those of `timeline -o json`, and Perfetto's slices nest.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use ketcd_cluster::traces::Traces;
use ketcd_cluster::{Cluster, Options, TryStreamExt};
use ketcd_history::diff::ManagedFields;
use ketcd_render::timeline::Told;
use ketcd_render::timeline::json::write_lines;
use ketcd_render::traces::{Tally, otlp, perfetto};
use ketcd_store::Revision;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::Value;

use crate::fixture::{self, capture, text};

async fn traces(cluster: &Cluster) -> Traces {
    let parts: Vec<Traces> = cluster.traces(None, None).try_collect().await.unwrap();
    parts.into_iter().next().unwrap()
}

/// What is written in protobuf, as OpenTelemetry's own messages read it.
fn requests(traces: &Traces) -> Vec<ExportTraceServiceRequest> {
    let bodies = otlp::bodies(traces, Some("prod"));
    bodies.iter().map(|body| ExportTraceServiceRequest::decode(&body[..]).unwrap()).collect()
}

fn written(traces: &Traces, encoding: otlp::Encoding) -> Vec<u8> {
    let mut out = Vec::new();
    otlp::write(traces, Some("prod"), encoding, &mut out).unwrap();
    out
}

fn spans(request: &ExportTraceServiceRequest) -> impl Iterator<Item = (&[KeyValue], &Span)> {
    request.resource_spans.iter().flat_map(|resource| {
        let attributes = &resource.resource.as_ref().unwrap().attributes[..];
        resource.scope_spans.iter().flat_map(move |scope| scope.spans.iter().map(move |span| (attributes, span)))
    })
}

fn attribute<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a any_value::Value> {
    let found: Vec<_> = attributes.iter().filter(|attribute| attribute.key == key).collect();
    assert!(found.len() <= 1, "{key} is there twice: {attributes:?}");
    found.first()?.value.as_ref()?.value.as_ref()
}

fn text_of<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    match attribute(attributes, key)? {
        any_value::Value::StringValue(text) => Some(text),
        other => panic!("{key} is {other:?}"),
    }
}

fn number_of(attributes: &[KeyValue], key: &str) -> Option<i64> {
    match attribute(attributes, key)? {
        any_value::Value::IntValue(number) => Some(*number),
        other => panic!("{key} is {other:?}"),
    }
}

#[tokio::test]
async fn opentelemetry_reads_what_is_written() {
    let traces = traces(&capture("k136-story", Options::default()).await).await;
    let requests = requests(&traces);
    let wanted: HashSet<(Vec<u8>, Vec<u8>)> =
        traces.traces.iter().flat_map(|trace| trace.spans.iter().map(|span| (trace.id.0.to_vec(), span.id.0.to_vec()))).collect();
    let read: Vec<_> = requests.iter().flat_map(spans).collect();
    let ids: HashSet<_> = read.iter().map(|(_, span)| (span.trace_id.clone(), span.span_id.clone())).collect();
    assert_eq!((ids.len(), &ids), (read.len(), &wanted));
    for (resource, span) in &read {
        assert_eq!(text_of(resource, "k8s.cluster.name"), Some("prod"));
        assert!(text_of(resource, "k8s.cluster.uid").is_some() && text_of(resource, "service.name").is_some(), "{resource:?}");
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano && !span.name.is_empty());
        let is_bounded = |attribute: &KeyValue| match attribute.value.as_ref().unwrap().value.as_ref().unwrap() {
            any_value::Value::StringValue(text) => text.len() <= 4096 && !text.chars().any(char::is_control),
            _ => true,
        };
        assert!(resource.iter().chain(&span.attributes).all(is_bounded), "{span:?}");
    }
    let named = |key: &str| read.iter().any(|(resource, _)| text_of(resource, key).is_some());
    for key in
        ["k8s.pod.name", "k8s.pod.uid", "k8s.namespace.name", "k8s.node.name", "k8s.deployment.name", "k8s.replicaset.name", "k8s.job.name"]
    {
        assert!(named(key), "{key}");
    }
    let services: HashSet<_> = read.iter().filter_map(|(resource, _)| text_of(resource, "service.name")).collect();
    assert!(["kube-scheduler", "kubelet", "kube-controller-manager"].iter().all(|actor| services.contains(actor)), "{services:?}");
    assert!(read.iter().any(|(_, span)| text_of(&span.attributes, "container.image.name").is_some_and(|name| !name.contains(':'))));
}

/// An `AnyValue` of OpenTelemetry cannot read numbers where serde_json keeps all their digits, as it does for us: they are compared apart.
fn without_numbers(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.retain(|item| item["value"]["doubleValue"].is_null());
            items.iter_mut().for_each(without_numbers);
        }
        Value::Object(fields) => fields.values_mut().for_each(without_numbers),
        _ => {}
    }
}

#[tokio::test]
async fn a_line_of_json_is_the_request_of_a_server_and_so_is_protobuf() {
    let traces = traces(&capture("k136-story", Options::default()).await).await;
    let requests = requests(&traces);
    let lines = written(&traces, otlp::Encoding::JsonLines);
    let lines: Vec<&[u8]> = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), requests.len());
    for (line, request) in lines.iter().zip(&requests) {
        assert!(line.len() < 1 << 20, "a collector reads no line of {} bytes", line.len());
        let mut line: Value = serde_json::from_slice(line).unwrap();
        without_numbers(&mut line);
        let read: ExportTraceServiceRequest = serde_json::from_value(line).unwrap();
        let mut wanted = request.clone();
        let attributes = wanted.resource_spans.iter_mut().flat_map(|resource| &mut resource.scope_spans).flat_map(|scope| &mut scope.spans);
        let is_number = |value: &AnyValue| matches!(value.value, Some(any_value::Value::DoubleValue(_)));
        attributes.for_each(|span| span.attributes.retain(|attribute| !attribute.value.as_ref().is_some_and(is_number)));
        assert_eq!(read, wanted);
    }
    let whole = ExportTraceServiceRequest::decode(&written(&traces, otlp::Encoding::Protobuf)[..]).unwrap();
    assert_eq!(spans(&whole).count(), requests.iter().map(|request| spans(request).count()).sum::<usize>());
    assert_eq!(otlp::Encoding::of_name("a.pb"), otlp::Encoding::Protobuf);
    assert_eq!(otlp::Encoding::of_name("a.jsonl"), otlp::Encoding::JsonLines);
}

/// The moments of `timeline -o json`: revisions with their times, cut to milliseconds as there.
async fn moments(cluster: &Cluster) -> HashSet<(i64, i64)> {
    let asked = cluster.asked(&[], true).await.unwrap();
    let story = cluster.timeline(&asked).await.unwrap();
    let told = Told {
        story: &story,
        subjects: story.timelines.values().collect(),
        many: true,
        all: true,
        after: Revision(0),
        around: None,
        by: None,
        oldest: Revision(1),
        invocation: &fixture::PLAIN_INVOCATION,
    };
    let lines = text(|out| write_lines(&told, ManagedFields::Hidden, out).map(drop));
    let mut moments = HashSet::new();
    let mut add = |revision: &Value, time: &Value| {
        if let (Some(revision), Some(time)) = (revision.as_i64(), time.as_str()) {
            moments.insert((revision, time.parse::<Timestamp>().unwrap().as_millisecond()));
        }
    };
    for line in lines.lines() {
        let timeline: Value = serde_json::from_str(line).unwrap();
        let items = |field: &str| timeline[field].as_array().into_iter().flatten();
        items("phases").for_each(|phase| add(&phase["revision"], &phase["time"]));
        items("events").for_each(|event| add(&event["revision"], &event["firstTime"]));
        items("outages").for_each(|outage| add(&outage["fromRevision"], &outage["fromTime"]));
    }
    moments
}

#[tokio::test]
async fn times_are_those_of_the_timeline_in_json() {
    for name in ["k120-story", "k136-story", "k137-story"] {
        let cluster = capture(name, Options::default()).await;
        let moments = moments(&cluster).await;
        let requests = requests(&traces(&cluster).await);
        let mut compared = 0;
        for (_, span) in requests.iter().flat_map(spans) {
            for (key, nanoseconds) in [("ketcd.begin.revision", span.start_time_unix_nano), ("ketcd.end.revision", span.end_time_unix_nano)]
            {
                let revision = number_of(&span.attributes, key).unwrap();
                assert!(moments.contains(&(revision, (nanoseconds / 1_000_000) as i64)), "{name}: {key} of {span:?}");
                compared += 1;
            }
        }
        assert!(compared > 400, "{name}: {compared}");
    }
}

#[tokio::test]
async fn what_a_bound_of_a_time_is_or_that_it_is_unknown_is_an_attribute() {
    let requests = requests(&traces(&capture("k136-story", Options::default()).await).await);
    let (mut known, mut unknown) = (0, 0);
    for (_, span) in requests.iter().flat_map(spans) {
        match text_of(&span.attributes, "ketcd.time.uncertainty") {
            Some(word) => {
                unknown += 1;
                assert_eq!((word, text_of(&span.attributes, "ketcd.time.clock").unwrap().starts_with("kubelet")), ("unknown", true));
            }
            None => {
                known += 1;
                for key in ["ketcd.time.begin.uncertainty", "ketcd.time.end.uncertainty"] {
                    assert!(
                        matches!(attribute(&span.attributes, key), Some(any_value::Value::DoubleValue(error)) if *error >= 0.0),
                        "{span:?}"
                    );
                }
            }
        }
    }
    assert!(known > 100 && unknown > 10, "{known} {unknown}");
}

/// The fields of a protobuf message: numbers with their values; of messages and texts the bytes.
fn fields(mut message: &[u8]) -> BTreeMap<u64, Vec<(u64, Vec<u8>)>> {
    let mut fields: BTreeMap<u64, Vec<(u64, Vec<u8>)>> = BTreeMap::new();
    while !message.is_empty() {
        let key = prost::encoding::decode_varint(&mut message).unwrap();
        let value = match key & 7 {
            0 => (prost::encoding::decode_varint(&mut message).unwrap(), Vec::new()),
            1 => {
                let (bytes, rest) = message.split_at(8);
                message = rest;
                (u64::from_le_bytes(bytes.try_into().unwrap()), bytes.to_vec())
            }
            2 => {
                let length = prost::encoding::decode_varint(&mut message).unwrap() as usize;
                let (bytes, rest) = message.split_at(length);
                message = rest;
                (0, bytes.to_vec())
            }
            other => panic!("wire type {other}"),
        };
        fields.entry(key >> 3).or_default().push(value);
    }
    fields
}

#[tokio::test]
async fn slices_of_perfetto_nest_and_tracks_are_declared() {
    let traces = traces(&capture("k136-story", Options::default()).await).await;
    let mut file = Vec::new();
    perfetto::write(&traces, Some("prod"), &mut file).unwrap();
    let packets: Vec<_> = fields(&file).remove(&1).unwrap().into_iter().map(|(_, packet)| fields(&packet)).collect();
    let (mut tracks, mut open, mut begun, mut instants) = (HashSet::new(), HashMap::<u64, Vec<u64>>::new(), 0, 0);
    let mut last = HashMap::<u64, u64>::new();
    for packet in &packets {
        if let Some(track) = packet.get(&60) {
            let track = fields(&track[0].1);
            assert!(tracks.insert(track[&1][0].0), "a track is declared twice");
            assert!(track.get(&5).is_none_or(|parent| tracks.contains(&parent[0].0)));
        }
        let Some(event) = packet.get(&11) else { continue };
        let (event, at) = (fields(&event[0].1), packet[&8][0].0);
        let track = event[&11][0].0;
        assert!(tracks.contains(&track));
        assert!(last.insert(track, at).is_none_or(|last| last <= at), "the events of a track are not in order");
        match event[&9][0].0 {
            1 => {
                begun += 1;
                open.entry(track).or_default().push(at);
            }
            2 => assert!(open.entry(track).or_default().pop().is_some_and(|from| from < at)),
            _ => instants += 1,
        }
    }
    assert!(open.values().all(Vec::is_empty), "a slice does not end");
    assert_eq!(begun + instants, traces.traces.iter().map(|trace| trace.spans.len()).sum::<usize>());
}

/// The arrows of the slices and moments of a file, in order.
fn flows(file: &[u8]) -> Vec<u64> {
    let packets = fields(file).remove(&1).unwrap().into_iter().map(|(_, packet)| fields(&packet));
    let events = packets.filter_map(|packet| packet.get(&11).map(|event| fields(&event[0].1)));
    // `flow_ids` are fixed64.
    let mut flows: Vec<u64> = events.flat_map(|mut event| event.remove(&47).unwrap_or_default()).map(|(flow, _)| flow).collect();
    flows.sort_unstable();
    flows
}

#[tokio::test]
async fn arrows_lead_from_one_part_of_a_file_to_another() {
    let cluster = capture("k136-story", Options::default()).await;
    let mut whole = Vec::new();
    perfetto::write(&traces(&cluster).await, None, &mut whole).unwrap();
    let parts: Vec<Traces> = cluster.traces_in_parts(None, None, 0).try_collect().await.unwrap();
    let (mut file, mut parted) = (perfetto::File::default(), Vec::new());
    for part in &parts {
        file.write(part, None, &mut parted).unwrap();
    }
    let whole = flows(&whole);
    assert!(parts.len() > 3 && whole.len() > 10, "{} {}", parts.len(), whole.len());
    assert_eq!(flows(&parted), whole);
    let mut tally = Tally::default();
    parts.iter().for_each(|part| tally.add(part));
    let summary = tally.summary("out".to_owned(), 1, None);
    assert_eq!(summary.spans as usize, parts.iter().flat_map(|part| &part.traces).map(|trace| trace.spans.len()).sum::<usize>());
}
