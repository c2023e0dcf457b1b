//! Traces as one file for <https://ui.perfetto.dev>: a group of tracks for each trace, a track for each object in it, arrows for links.
//!
//! Protobuf, and not the JSON of `chrome://tracing`: there slices belong to threads, of which an object has none, and the format is called legacy.

mod lanes;
mod message;

use std::collections::HashMap;
use std::io::{self, Write};

use prost::Message;
use sha2::{Digest, Sha256};

use ketcd_cluster::traces::{Link, LinkReason, Span, SpanId, SpanKind, Trace, TraceId, Traces};

use super::attributes::{AttributeValue, bounded, of_resource, of_span, problem, title};
use message::{AnnotationValue, Clock, ClockSnapshot, Data, DebugAnnotation, Packets, TracePacket, TrackDescriptor, TrackEvent};

/// `BUILTIN_CLOCK_REALTIME` and `BUILTIN_CLOCK_BOOTTIME`: the time of a file is the latter, and both are the same in ours.
const CLOCK_IDS: [u32; 2] = [1, 6];
/// `TYPE_SLICE_BEGIN`, `TYPE_SLICE_END`, `TYPE_INSTANT`.
const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;
const INSTANT_EVENT: i32 = 3;

type SpanPlace = (TraceId, SpanId);

/// A file that traces are written into, in one part or several.
#[derive(Default)]
pub struct File {
    is_begun: bool,
    /// The arrows to spans of later parts.
    flows: HashMap<SpanPlace, Vec<u64>>,
}

impl File {
    /// Writes a part. Links from it lead to spans of this or later parts.
    ///
    /// # Errors
    /// The stream's.
    pub fn write(&mut self, traces: &Traces, cluster: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
        let Some(first) = traces.traces.first() else { return Ok(()) };
        if !std::mem::replace(&mut self.is_begun, true) {
            let begin = nanoseconds(&first.spans[0].from.time);
            let clocks = CLOCK_IDS.map(|clock| Clock { clock_id: Some(clock), timestamp: Some(begin) }).to_vec();
            write_packet(Some(begin), Data::ClockSnapshot(ClockSnapshot { clocks }), out)?;
        }
        self.add_flows(traces);
        for trace in &traces.traces {
            write_trace(&Written { traces, cluster, trace, flows: &self.flows }, out)?;
            trace.spans.iter().for_each(|span| _ = self.flows.remove(&(trace.id, span.id)));
        }
        Ok(())
    }

    /// Adds the arrows that begin or end at each span.
    fn add_flows(&mut self, traces: &Traces) {
        for trace in &traces.traces {
            for span in &trace.spans {
                for link in span.links.iter().filter(|link| link.reason != LinkReason::Annotation) {
                    let flow = number(&[&link.span.0, &span.id.0]);
                    self.flows.entry((trace.id, span.id)).or_default().push(flow);
                    self.flows.entry((link.trace, link.span)).or_default().push(flow);
                }
            }
        }
    }
}

/// Writes all traces.
///
/// # Errors
/// The stream's.
pub fn write(traces: &Traces, cluster: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    File::default().write(traces, cluster, out)
}

/// A number for some bytes, the same in every export.
fn number(parts: &[&[u8]]) -> u64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
        hash.update([0]);
    }
    u64::from_le_bytes(hash.finalize()[..8].try_into().expect("a hash has 32 bytes"))
}

/// A trace that is written, with what it needs of the others.
struct Written<'t> {
    traces: &'t Traces,
    cluster: Option<&'t str>,
    trace: &'t Trace,
    flows: &'t HashMap<SpanPlace, Vec<u64>>,
}

fn write_trace(written: &Written<'_>, out: &mut dyn Write) -> io::Result<()> {
    let trace = written.trace;
    let group = number(&[&trace.id.0]);
    let whole = [SpanKind::Rollout, SpanKind::Job, SpanKind::NodeOutage, SpanKind::Cordon];
    let root = trace.spans.iter().find(|span| whole.contains(&span.kind));
    let name = root.map_or_else(|| title(&trace.about), |root| format!("{} {}", title(&trace.about), root.kind.name()));
    write_track(group, None, name, out)?;
    let mut objects: Vec<&[u8]> = Vec::new();
    for span in &trace.spans {
        if !objects.contains(&&span.about.key[..]) {
            objects.push(&span.about.key);
        }
    }
    for object in objects {
        let of_object = || trace.spans.iter().filter(|span| span.about.key == object);
        let name = of_object().next().map(|span| title(&span.about)).unwrap_or_default();
        for (place, lane) in lanes::lanes(of_object()).into_iter().enumerate() {
            let track = number(&[&trace.id.0, object, &place.to_le_bytes()]);
            write_track(track, Some(group), name.clone(), out)?;
            write_lane(written, track, &lane, out)?;
        }
    }
    Ok(())
}

/// Writes the slices of a lane, each end before what begins after it.
fn write_lane(written: &Written<'_>, track: u64, lane: &[&Span], out: &mut dyn Write) -> io::Result<()> {
    let mut open: Vec<u64> = Vec::new();
    for span in lane {
        let (from, to) = (nanoseconds(&span.from.time), nanoseconds(&span.to.time));
        while let Some(end) = open.pop_if(|end| *end <= from) {
            write_end(track, end, out)?;
        }
        let kind = if from == to { INSTANT_EVENT } else { SLICE_BEGIN };
        let event = TrackEvent {
            debug_annotations: annotations(written, span),
            r#type: Some(kind),
            track_uuid: Some(track),
            categories: span.by.iter().map(|by| bounded(&by.to_string())).collect(),
            name: Some(span.kind.name().to_owned()),
            flow_ids: written.flows.get(&(written.trace.id, span.id)).cloned().unwrap_or_default(),
        };
        write_packet(Some(from), Data::TrackEvent(event), out)?;
        if kind == SLICE_BEGIN {
            open.push(to);
        }
    }
    open.into_iter().rev().try_for_each(|end| write_end(track, end, out))
}

fn write_end(track: u64, at: u64, out: &mut dyn Write) -> io::Result<()> {
    let event = TrackEvent { r#type: Some(SLICE_END), track_uuid: Some(track), ..TrackEvent::default() };
    write_packet(Some(at), Data::TrackEvent(event), out)
}

fn write_track(uuid: u64, parent: Option<u64>, name: String, out: &mut dyn Write) -> io::Result<()> {
    let track = TrackDescriptor { uuid: Some(uuid), name: Some(name), parent_uuid: parent };
    write_packet(None, Data::TrackDescriptor(track), out)
}

fn write_packet(timestamp: Option<u64>, data: Data, out: &mut dyn Write) -> io::Result<()> {
    let packet = TracePacket { timestamp, trusted_packet_sequence_id: Some(1), data: Some(data) };
    out.write_all(&Packets { packet: vec![packet] }.encode_to_vec())
}

fn annotations(written: &Written<'_>, span: &Span) -> Vec<DebugAnnotation> {
    let mut attributes = of_resource(written.traces, written.cluster, span.by.as_ref(), &span.about);
    attributes.extend(of_span(span));
    if span.is_failed {
        attributes.push(("ketcd.problem", AttributeValue::Text(problem(span))));
    }
    let external = |link: &&Link| link.reason == LinkReason::Annotation;
    attributes.extend(
        span.links
            .iter()
            .filter(external)
            .map(|link| ("ketcd.trace_parent", AttributeValue::Text(format!("{}-{}", link.trace, link.span)))),
    );
    let annotation = |(name, value): (&str, AttributeValue)| DebugAnnotation {
        name: Some(name.to_owned()),
        value: Some(match value {
            AttributeValue::Text(text) => AnnotationValue::Text(text),
            AttributeValue::Integer(number) => AnnotationValue::Int(number),
            AttributeValue::Number(number) => AnnotationValue::Double(number),
            AttributeValue::Texts(texts) => AnnotationValue::Text(texts.join(", ")),
        }),
    };
    attributes.into_iter().map(annotation).collect()
}

fn nanoseconds(time: &jiff::Timestamp) -> u64 {
    u64::try_from(time.as_nanosecond()).unwrap_or_default()
}
