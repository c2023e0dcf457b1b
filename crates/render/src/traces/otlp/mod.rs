//! Traces as requests of OTLP: for a file, each a line of JSON or protobuf, or for a server.

mod message;

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use prost::Message;

use ketcd_cluster::traces::{Link as TraceLink, Span as TraceSpan, Trace, Traces};

use super::attributes::{AttributeValue, Attributes, of_resource, of_span, problem};
use message::{
    AnyValue, ArrayValue, ExportTraceServiceRequest, ExportTraceServiceResponse, InstrumentationScope, KeyValue, OtlpSpan, OtlpValue,
    Resource, ResourceSpans, RpcStatus, ScopeSpans, SpanLink, SpanStatus,
};

/// The most bytes of the spans in a request, so that a line of its JSON is below the 1 MiB that the collector's receiver of files reads
/// (opentelemetry-collector-contrib pkg/stanza/fileconsumer, `max_log_size`).
const MAX_REQUEST_BYTES: usize = 256 << 10;
/// `SPAN_KIND_INTERNAL`.
const SPAN_KIND_INTERNAL: i32 = 1;
/// `STATUS_CODE_ERROR`.
const STATUS_CODE_ERROR: i32 = 2;

/// How requests are written into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// A request a line, as the collector's exporter to files writes them.
    JsonLines,
    /// Protobuf. One message: that of several requests is one after the other.
    Protobuf,
}

impl Encoding {
    /// The one that the end of a file's name stands for.
    pub fn of_name(name: &str) -> Self {
        let is_protobuf = [".pb", ".binpb", ".proto", ".protobuf"].iter().any(|end| name.ends_with(end));
        if is_protobuf { Self::Protobuf } else { Self::JsonLines }
    }
}

/// Writes all traces.
///
/// # Errors
/// The stream's.
pub fn write(traces: &Traces, cluster: Option<&str>, encoding: Encoding, out: &mut dyn Write) -> io::Result<()> {
    each_request(traces, cluster, |request| match encoding {
        Encoding::JsonLines => {
            serde_json::to_writer(&mut *out, &request)?;
            writeln!(out)
        }
        Encoding::Protobuf => out.write_all(&request.encode_to_vec()),
    })
}

/// Returns the body of each request to a server, in protobuf.
pub fn bodies(traces: &Traces, cluster: Option<&str>) -> Vec<Vec<u8>> {
    let mut bodies = Vec::new();
    let taken: Result<(), std::convert::Infallible> = each_request(traces, cluster, |request| {
        bodies.push(request.encode_to_vec());
        Ok(())
    });
    match taken {
        Ok(()) => bodies,
    }
}

/// What a server did not take of a request, and why, given its answer; `None` where it took all. An answer that is not OTLP's says nothing.
pub fn rejected(answer: &[u8]) -> Option<(i64, String)> {
    let answer = ExportTraceServiceResponse::decode(answer).ok()?.partial_success?;
    (answer.rejected_spans != 0 || !answer.error_message.is_empty()).then_some((answer.rejected_spans, answer.error_message))
}

/// What a server says that refuses a request in protobuf.
pub fn refusal(answer: &[u8]) -> Option<String> {
    RpcStatus::decode(answer).ok().map(|status| status.message).filter(|message| !message.is_empty())
}

/// Makes requests that are not too large, one after the other.
fn each_request<E>(
    traces: &Traces,
    cluster: Option<&str>,
    mut take: impl FnMut(ExportTraceServiceRequest) -> Result<(), E>,
) -> Result<(), E> {
    let mut batch = Batch::default();
    for trace in &traces.traces {
        for span in &trace.spans {
            let made = made(trace, span);
            if batch.bytes > 0 && batch.bytes + made.encoded_len() > MAX_REQUEST_BYTES {
                take(std::mem::take(&mut batch).request)?;
            }
            batch.add(span, made, || of_resource(traces, cluster, span.by.as_ref(), &span.about));
        }
    }
    if batch.bytes > 0 { take(batch.request) } else { Ok(()) }
}

/// A request on its way.
#[derive(Default)]
struct Batch {
    request: ExportTraceServiceRequest,
    /// The places of resources: by object, actor and what it acts for.
    places: HashMap<(usize, String, Option<String>), usize>,
    bytes: usize,
}

impl Batch {
    fn add(&mut self, span: &TraceSpan, made: OtlpSpan, resource: impl FnOnce() -> Attributes) {
        let (by, on) = span.by.as_ref().map_or((String::new(), None), |by| (by.name.clone(), by.on.clone()));
        let resources = &mut self.request.resource_spans;
        let place = *self.places.entry((Arc::as_ptr(&span.about) as usize, by, on)).or_insert_with(|| {
            let resource = Resource { attributes: attributes(resource()) };
            self.bytes += resource.encoded_len();
            let scope = InstrumentationScope { name: "ketcd".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
            let scope_spans = vec![ScopeSpans { scope: Some(scope), spans: Vec::new() }];
            resources.push(ResourceSpans { resource: Some(resource), scope_spans });
            resources.len() - 1
        });
        self.bytes += made.encoded_len();
        resources[place].scope_spans[0].spans.push(made);
    }
}

fn made(trace: &Trace, span: &TraceSpan) -> OtlpSpan {
    let nanoseconds = |time: jiff::Timestamp| u64::try_from(time.as_nanosecond()).unwrap_or_default();
    OtlpSpan {
        trace_id: trace.id.0.to_vec(),
        span_id: span.id.0.to_vec(),
        parent_span_id: span.parent.map(|parent| parent.0.to_vec()).unwrap_or_default(),
        name: span.kind.name().to_owned(),
        kind: SPAN_KIND_INTERNAL,
        start_time_unix_nano: nanoseconds(span.from.time),
        end_time_unix_nano: nanoseconds(span.to.time),
        attributes: attributes(of_span(span)),
        links: span.links.iter().map(link).collect(),
        status: span.is_failed.then(|| SpanStatus { message: problem(span), code: STATUS_CODE_ERROR }),
    }
}

fn link(link: &TraceLink) -> SpanLink {
    let reason = ("ketcd.link.reason", AttributeValue::Text(link.reason.as_str().to_owned()));
    SpanLink { trace_id: link.trace.0.to_vec(), span_id: link.span.0.to_vec(), attributes: attributes(vec![reason]) }
}

fn attributes(attributes: Attributes) -> Vec<KeyValue> {
    let attribute = |(key, value): (&str, AttributeValue)| KeyValue { key: key.to_owned(), value: Some(any(value)) };
    attributes.into_iter().map(attribute).collect()
}

fn any(value: AttributeValue) -> AnyValue {
    let value = match value {
        AttributeValue::Text(text) => OtlpValue::Text(text),
        AttributeValue::Integer(number) => OtlpValue::Integer(number),
        AttributeValue::Number(number) => OtlpValue::Number(number),
        AttributeValue::Texts(texts) => {
            OtlpValue::List(ArrayValue { values: texts.into_iter().map(|text| any(AttributeValue::Text(text))).collect() })
        }
    };
    AnyValue { value: Some(value) }
}
