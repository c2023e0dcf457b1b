//! The messages of OTLP that carry traces, as protobuf and as its JSON.
//!
//! Numbers and names of fields: opentelemetry-proto 1.9, `opentelemetry/proto/{trace,common,resource}/v1` and
//! `collector/trace/v1/trace_service.proto`. In JSON (specification 1.51, OTLP, "JSON Protobuf Encoding") ids are hexadecimal and 64-bit integers are
//! strings.

use prost::{Message, Oneof};
use serde::{Serialize, Serializer};

/// What is exported at once.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExportTraceServiceRequest {
    /// Spans, by their resources.
    #[prost(message, repeated, tag = "1")]
    pub resource_spans: Vec<ResourceSpans>,
}

/// The spans of one resource.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceSpans {
    /// The resource.
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    /// Its spans, by what recorded them.
    #[prost(message, repeated, tag = "2")]
    pub scope_spans: Vec<ScopeSpans>,
}

/// What spans are of.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct Resource {
    /// Its attributes.
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<KeyValue>,
}

/// The spans that one program recorded.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct ScopeSpans {
    /// The program.
    #[prost(message, optional, tag = "1")]
    pub scope: Option<InstrumentationScope>,
    /// The spans.
    #[prost(message, repeated, tag = "2")]
    pub spans: Vec<OtlpSpan>,
}

/// A program that records spans.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct InstrumentationScope {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its version.
    #[prost(string, tag = "2")]
    pub version: String,
}

/// A span.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OtlpSpan {
    /// 16 bytes.
    #[prost(bytes = "vec", tag = "1")]
    #[serde(serialize_with = "hexadecimal")]
    pub trace_id: Vec<u8>,
    /// 8 bytes.
    #[prost(bytes = "vec", tag = "2")]
    #[serde(serialize_with = "hexadecimal")]
    pub span_id: Vec<u8>,
    /// 8 bytes; empty for a root.
    #[prost(bytes = "vec", tag = "4")]
    #[serde(serialize_with = "hexadecimal", skip_serializing_if = "Vec::is_empty")]
    pub parent_span_id: Vec<u8>,
    /// What happened.
    #[prost(string, tag = "5")]
    pub name: String,
    /// `SPAN_KIND_INTERNAL`.
    #[prost(int32, tag = "6")]
    pub kind: i32,
    /// Nanoseconds since 1970.
    #[prost(fixed64, tag = "7")]
    #[serde(serialize_with = "decimal")]
    pub start_time_unix_nano: u64,
    /// The same of its end.
    #[prost(fixed64, tag = "8")]
    #[serde(serialize_with = "decimal")]
    pub end_time_unix_nano: u64,
    /// Attributes.
    #[prost(message, repeated, tag = "9")]
    pub attributes: Vec<KeyValue>,
    /// Spans that it follows from.
    #[prost(message, repeated, tag = "13")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<SpanLink>,
    /// Whether it failed.
    #[prost(message, optional, tag = "15")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<SpanStatus>,
}

/// A link to a span.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SpanLink {
    /// Its trace.
    #[prost(bytes = "vec", tag = "1")]
    #[serde(serialize_with = "hexadecimal")]
    pub trace_id: Vec<u8>,
    /// The span.
    #[prost(bytes = "vec", tag = "2")]
    #[serde(serialize_with = "hexadecimal")]
    pub span_id: Vec<u8>,
    /// Attributes.
    #[prost(message, repeated, tag = "4")]
    pub attributes: Vec<KeyValue>,
}

/// How a span ended.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct SpanStatus {
    /// Why.
    #[prost(string, tag = "2")]
    pub message: String,
    /// `STATUS_CODE_ERROR`.
    #[prost(int32, tag = "3")]
    pub code: i32,
}

/// An attribute.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct KeyValue {
    /// Its name.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Its value.
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// A value.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct AnyValue {
    /// The value.
    #[prost(oneof = "OtlpValue", tags = "1, 3, 4, 5")]
    #[serde(flatten)]
    pub value: Option<OtlpValue>,
}

/// A value of one of the types that are used.
#[derive(Clone, PartialEq, Oneof, Serialize)]
pub(super) enum OtlpValue {
    /// Text.
    #[prost(string, tag = "1")]
    #[serde(rename = "stringValue")]
    Text(String),
    /// An integer.
    #[prost(int64, tag = "3")]
    #[serde(rename = "intValue", serialize_with = "decimal")]
    Integer(i64),
    /// A number.
    #[prost(double, tag = "4")]
    #[serde(rename = "doubleValue")]
    Number(f64),
    /// Several values.
    #[prost(message, tag = "5")]
    #[serde(rename = "arrayValue")]
    List(ArrayValue),
}

/// Several values.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct ArrayValue {
    /// The values.
    #[prost(message, repeated, tag = "1")]
    pub values: Vec<AnyValue>,
}

/// What a server answers.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportTraceServiceResponse {
    /// What it did not take; absent where it took all.
    #[prost(message, optional, tag = "1")]
    pub partial_success: Option<ExportTracePartialSuccess>,
}

/// What a server did not take.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportTracePartialSuccess {
    /// How many spans.
    #[prost(int64, tag = "1")]
    pub rejected_spans: i64,
    /// Why, or what it warns of.
    #[prost(string, tag = "2")]
    pub error_message: String,
}

/// What a server answers that takes nothing: `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RpcStatus {
    /// The code of gRPC.
    #[prost(int32, tag = "1")]
    pub code: i32,
    /// Why.
    #[prost(string, tag = "2")]
    pub message: String,
}

fn hexadecimal<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn decimal<S: Serializer>(number: &impl ToString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&number.to_string())
}
