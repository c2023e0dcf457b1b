//! Random messages that Go could have written.

use std::collections::HashMap;

use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value};

use super::schema::Schema;

pub(crate) struct Generator<'a> {
    schema: &'a Schema,
    minor: u32,
    state: u64,
}

const SAMPLE_STRINGS: &[&str] = &[
    "",
    "a",
    "web-0",
    "é\u{2028}z",
    "b<c>&d",
    "\u{1}\u{7f}\t",
    "\"quoted\\",
    "日本語",
    "a longer text than eight bytes: it goes by words",
];
const SAMPLE_QUANTITIES: &[&str] = &["0", "1", "100m", "1536Mi", "2Gi", "1e3", "-5k"];
const SAMPLE_JSON: &[&str] = &[r#"{"a":[1,2.50,"x"],"b":null}"#, "[]", "true", "\"text\"", "{}", "-0.0"];

impl<'a> Generator<'a> {
    pub(crate) fn new(schema: &'a Schema, minor: u32, seed: u64) -> Self {
        Self { schema, minor, state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    /// A number below `bound` (xorshift).
    fn below(&mut self, bound: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % bound
    }

    fn pick<'b>(&mut self, all: &[&'b str]) -> &'b str {
        all[self.below(all.len() as u64) as usize]
    }

    pub(crate) fn message(&mut self, descriptor: &MessageDescriptor, depth: u64) -> DynamicMessage {
        let mut message = DynamicMessage::new(descriptor.clone());
        let render = self.schema.render(descriptor);
        let mut set = |name: &str, value: Value| message.set_field_by_name(name, value);
        match render.as_str() {
            "TIME" => set("seconds", Value::I64(1 + self.below(4_000_000_000) as i64)),
            "MICRO_TIME" => {
                set("seconds", Value::I64(1 + self.below(4_000_000_000) as i64));
                set("nanos", Value::I32(self.below(1_000_000) as i32 * 1000));
            }
            "DURATION" => set("duration", Value::I64(self.below(1 << 50) as i64 - (1 << 49))),
            "QUANTITY" => set("string", Value::String(self.pick(SAMPLE_QUANTITIES).to_owned())),
            "INT_OR_STRING" if self.below(2) == 0 => set("intVal", Value::I32(self.below(1 << 32) as i32)),
            "INT_OR_STRING" => {
                set("type", Value::I64(1));
                set("strVal", Value::String(self.pick(SAMPLE_STRINGS).to_owned()));
            }
            "RAW_JSON" => {
                let field = descriptor.fields().next().unwrap();
                message.set_field(&field, Value::Bytes(self.pick(SAMPLE_JSON).as_bytes().to_vec().into()));
            }
            "SCHEMA_OR_BOOL" | "SCHEMA_OR_ARRAY" | "SCHEMA_OR_STRINGS" => self.one_field(&mut message, depth),
            _ => self.fields(&mut message, depth),
        }
        message
    }

    /// Sets one field of a message that is one of several things.
    fn one_field(&mut self, message: &mut DynamicMessage, depth: u64) {
        use prost_reflect::ReflectMessage;
        let fields: Vec<FieldDescriptor> = message.descriptor().fields().collect();
        let deep = depth > 3;
        let choice = fields.iter().find(|field| deep && !matches!(field.kind(), Kind::Message(_))).cloned();
        let field = choice.unwrap_or_else(|| fields[self.below(fields.len() as u64) as usize].clone());
        let value = if field.is_list() { Value::List(vec![self.value(&field.kind(), depth)]) } else { self.value(&field.kind(), depth) };
        if !deep || !matches!(field.kind(), Kind::Message(_)) {
            message.set_field(&field, value);
        }
    }

    fn fields(&mut self, message: &mut DynamicMessage, depth: u64) {
        use prost_reflect::ReflectMessage;
        for field in message.descriptor().fields() {
            let there = self.schema.facts(&field, self.minor).is_some() && self.below(2 + depth * 2) < 2;
            if !there || (depth > 6 && matches!(field.kind(), Kind::Message(_))) {
                continue;
            }
            let value = if field.is_map() {
                let Kind::Message(entry) = field.kind() else { panic!("a map has entries") };
                let kind = entry.map_entry_value_field().kind();
                let entries: HashMap<MapKey, Value> =
                    (0..self.below(3)).map(|_| (MapKey::String(self.pick(SAMPLE_STRINGS).to_owned()), self.value(&kind, depth))).collect();
                Value::Map(entries)
            } else if field.is_list() {
                Value::List((0..self.below(3)).map(|_| self.value(&field.kind(), depth)).collect())
            } else {
                self.value(&field.kind(), depth)
            };
            message.set_field(&field, value);
        }
    }

    fn value(&mut self, kind: &Kind, depth: u64) -> Value {
        match kind {
            Kind::Bool => Value::Bool(self.below(2) == 0),
            Kind::Int32 => Value::I32([0, 1, -1, 8080, i32::MAX, i32::MIN][self.below(6) as usize]),
            Kind::Int64 => Value::I64([0, 1, -1, 30, i64::MAX, i64::MIN][self.below(6) as usize]),
            Kind::Double => Value::F64([0.0, 1.0, -1.5, 1e21, 1e-7, 0.1][self.below(6) as usize]),
            Kind::String => Value::String(self.pick(SAMPLE_STRINGS).to_owned()),
            Kind::Bytes => Value::Bytes(self.pick(SAMPLE_STRINGS).as_bytes().to_vec().into()),
            Kind::Message(message) => Value::Message(self.message(message, depth + 1)),
            other => panic!("Kubernetes has no {other:?}"),
        }
    }
}
