//! The messages of Perfetto that are written. Numbers of fields: perfetto 50, `protos/perfetto/trace/trace_packet.proto`, `clock_snapshot.proto`,
//! `track_event/{track_event,track_descriptor,debug_annotation}.proto`.

use prost::{Message, Oneof};

/// A part of a trace file, which is these one after the other.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Packets {
    /// The packets.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacket {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// The writer; there is one.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// What it holds.
    #[prost(oneof = "Data", tags = "6, 11, 60")]
    pub data: Option<Data>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Data {
    #[prost(message, tag = "6")]
    ClockSnapshot(ClockSnapshot),
    /// The begin or end of a slice, or a moment.
    #[prost(message, tag = "11")]
    TrackEvent(TrackEvent),
    #[prost(message, tag = "60")]
    TrackDescriptor(TrackDescriptor),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ClockSnapshot {
    /// What each shows.
    #[prost(message, repeated, tag = "1")]
    pub clocks: Vec<Clock>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Clock {
    /// `REALTIME` or `BOOTTIME`.
    #[prost(uint32, optional, tag = "1")]
    pub clock_id: Option<u32>,
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "2")]
    pub timestamp: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    /// Its id.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Its name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The track that it is below.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
}

/// The begin or end of a slice, or a moment.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEvent {
    /// What is known.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// `TYPE_SLICE_BEGIN`, `TYPE_SLICE_END` or `TYPE_INSTANT`.
    #[prost(int32, optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Its track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// The actor.
    #[prost(string, repeated, tag = "22")]
    pub categories: Vec<String>,
    /// Its name.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// Arrows to and from it.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
}

/// A name with a value.
#[derive(Clone, PartialEq, Message)]
pub(super) struct DebugAnnotation {
    /// The name.
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
    /// The value.
    #[prost(oneof = "AnnotationValue", tags = "4, 5, 6")]
    pub value: Option<AnnotationValue>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum AnnotationValue {
    /// A whole number.
    #[prost(int64, tag = "4")]
    Int(i64),
    #[prost(double, tag = "5")]
    Double(f64),
    #[prost(string, tag = "6")]
    Text(String),
}
