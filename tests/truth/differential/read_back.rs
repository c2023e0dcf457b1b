//! JSON back to messages, by the schema alone.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use prost_reflect::{DynamicMessage, Kind, MapKey, MessageDescriptor, Value};
use serde_json::Value as Json;

use super::schema::Schema;

pub(crate) struct Reader<'a> {
    pub schema: &'a Schema,
    pub minor: u32,
}

impl Reader<'_> {
    pub(crate) fn message(&self, descriptor: &MessageDescriptor, json: &Json) -> DynamicMessage {
        let mut message = DynamicMessage::new(descriptor.clone());
        let mut set = |name: &str, value: Value| message.set_field_by_name(name, value);
        match (self.schema.render(descriptor).as_str(), json) {
            ("TIME" | "MICRO_TIME", Json::String(text)) => {
                let time: jiff::Timestamp = text.parse().unwrap();
                set("seconds", Value::I64(time.as_second()));
                set("nanos", Value::I32(time.subsec_nanosecond()));
            }
            ("DURATION", Json::String(text)) => set("duration", Value::I64(duration(text))),
            ("QUANTITY", Json::String(text)) => set("string", Value::String(text.clone())),
            ("INT_OR_STRING", Json::Number(number)) => set("intVal", Value::I32(number.as_i64().unwrap() as i32)),
            ("INT_OR_STRING", Json::String(text)) => {
                set("type", Value::I64(1));
                set("strVal", Value::String(text.clone()));
            }
            ("RAW_JSON", json) => {
                let field = descriptor.fields().next().unwrap();
                message.set_field(&field, Value::Bytes(json.to_string().into_bytes().into()));
            }
            ("LIST" | "FIELDS", json) => self.set(&mut message, 1, json),
            ("SCHEMA_OR_BOOL", Json::Bool(allows)) => set("allows", Value::Bool(*allows)),
            ("SCHEMA_OR_BOOL", json) => self.set(&mut message, 2, json),
            ("SCHEMA_OR_ARRAY" | "SCHEMA_OR_STRINGS", Json::Array(_)) => self.set(&mut message, 2, json),
            ("SCHEMA_OR_ARRAY" | "SCHEMA_OR_STRINGS", json) => self.set(&mut message, 1, json),
            ("STRUCT", Json::Object(_)) => self.members(&mut message, json),
            (render, json) => panic!("{} as {render} is {json}", descriptor.full_name()),
        }
        message
    }

    fn members(&self, message: &mut DynamicMessage, json: &Json) {
        use prost_reflect::ReflectMessage;
        for field in message.descriptor().fields() {
            let Some(facts) = self.schema.facts(&field, self.minor) else { continue };
            match (&facts.message, json.get(&facts.json)) {
                (Some(inner), _) if facts.inline => message.set_field(&field, Value::Message(self.message(inner, json))),
                (_, Some(member)) => self.set(message, field.number(), member),
                _ => {}
            }
        }
    }

    fn set(&self, message: &mut DynamicMessage, number: u32, json: &Json) {
        use prost_reflect::ReflectMessage;
        let field = message.descriptor().get_field(number).unwrap();
        let value = match (json, field.kind()) {
            (Json::Null, _) => return,
            (Json::Object(members), Kind::Message(entry)) if field.is_map() => {
                let kind = entry.map_entry_value_field().kind();
                Value::Map(members.iter().map(|(key, item)| (MapKey::String(key.clone()), self.value(&kind, item))).collect())
            }
            (Json::Array(items), kind) if field.is_list() => Value::List(items.iter().map(|item| self.value(&kind, item)).collect()),
            (json, kind) => self.value(&kind, json),
        };
        message.set_field(&field, value);
    }

    fn value(&self, kind: &Kind, json: &Json) -> Value {
        match (kind, json) {
            (Kind::Bool, Json::Bool(value)) => Value::Bool(*value),
            (Kind::Int32, Json::Number(number)) => Value::I32(i32::try_from(number.as_i64().unwrap()).unwrap()),
            (Kind::Int64, Json::Number(number)) => Value::I64(number.as_i64().unwrap()),
            (Kind::Double, Json::Number(number)) => Value::F64(number.as_f64().unwrap()),
            (Kind::String, Json::String(text)) => Value::String(text.clone()),
            (Kind::Bytes, Json::String(text)) => Value::Bytes(BASE64.decode(text).unwrap().into()),
            (Kind::Message(message), json) => Value::Message(self.message(message, json)),
            (kind, json) => panic!("{json} is no {kind:?}"),
        }
    }
}

/// Go's duration text to nanoseconds.
fn duration(text: &str) -> i64 {
    let (negative, mut rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let mut exact = 0i128;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap();
        let (number, tail) = rest.split_at(digits);
        let unit_length = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_length);
        let nanos: i128 = match unit {
            "h" => 3_600_000_000_000,
            "m" => 60_000_000_000,
            "s" => 1_000_000_000,
            "ms" => 1_000_000,
            "µs" => 1_000,
            "ns" => 1,
            other => panic!("no unit {other}"),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        exact += whole.parse::<i128>().unwrap() * nanos;
        let mut scale = nanos;
        for digit in fraction.bytes() {
            scale /= 10;
            exact += i128::from(digit - b'0') * scale;
        }
        rest = tail;
    }
    i64::try_from(if negative { -exact } else { exact }).unwrap()
}
