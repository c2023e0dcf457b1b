//! Random messages of every kind, encoded by an independent library (prost-reflect on `proto`), decoded by us to JSON, read back from that JSON
//! and compared field by field.

mod generate;
mod read_back;
mod schema;

use ketcd_kube::{Body, Decoder};
use prost::Message as _;
use prost_reflect::{DynamicMessage, ReflectMessage, Value};
use schema::Schema;

/// Messages of each kind.
const ROUNDS_PER_KIND: u64 = 12;

#[test]
fn json_of_random_messages_gives_back_every_field() {
    let schema = Schema::load();
    let mut compared = 0;
    for root in schema.roots() {
        for round in 0..ROUNDS_PER_KIND {
            let mut generator = generate::Generator::new(&schema, root.minor, compared);
            let message = generator.message(&root.message, 0);
            let value = envelope(&root.api_version, root.message.name(), &message.encode_to_vec());
            let name = format!("{} {}, round {round}", root.api_version, root.message.name());
            let decoded = Decoder::for_stored_values().showing_secrets(true).decode(b"", &value, 0);
            let Body::Object(object) = &decoded.body else { panic!("{name}: {:?}", decoded.body) };
            assert_eq!(decoded.unknown_fields, [], "{name}");
            assert_eq!(
                (&object["apiVersion"], &object["kind"]),
                (&root.api_version.as_str().into(), &root.message.name().into()),
                "{name}"
            );
            let read = read_back::Reader { schema: &schema, minor: root.minor }.message(&root.message, object);
            let (wanted, got) = (canonical(&schema, root.minor, &message), canonical(&schema, root.minor, &read));
            assert!(wanted == got, "{name}\nwanted {wanted}\ngot    {got}\nJSON   {}", **object);
            compared += 1;
        }
    }
    assert!(compared > 300 * ROUNDS_PER_KIND, "only {compared} messages");
}

/// The value as an API server stores it.
fn envelope(api_version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
    let field = |number: u8, bytes: &[u8]| {
        let mut out = vec![number << 3 | 2];
        prost::encoding::encode_varint(bytes.len() as u64, &mut out);
        out.extend_from_slice(bytes);
        out
    };
    let type_meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(1, &type_meta), field(2, object), field(3, b""), field(4, b"")].concat()
}

/// Makes equal what Go does not distinguish: fields at their zero value that are no pointers go; finer times than JSON holds are cut.
fn canonical(schema: &Schema, minor: u32, message: &DynamicMessage) -> DynamicMessage {
    let mut out = DynamicMessage::new(message.descriptor());
    let quantity = schema.render(&message.descriptor()) == "QUANTITY";
    for (field, value) in message.fields().filter(|(_, value)| !(quantity && value.as_str() == Some("0"))) {
        let pointer = schema.facts(&field, minor).is_some_and(|facts| facts.pointer);
        let value = canonical_value(schema, minor, value);
        let keep = match &value {
            Value::Message(inner) => {
                // These show null where they hold nothing.
                let null = matches!(schema.render(&inner.descriptor()).as_str(), "SCHEMA_OR_ARRAY" | "SCHEMA_OR_STRINGS");
                inner.fields().next().is_some() || (pointer && !null)
            }
            Value::List(items) => !items.is_empty(),
            Value::Map(entries) => !entries.is_empty(),
            Value::Bytes(bytes) => !bytes.is_empty(),
            other => pointer || !other.is_default_for_field(&field),
        };
        if keep {
            out.set_field(&field, value);
        }
    }
    out
}

fn canonical_value(schema: &Schema, minor: u32, value: &Value) -> Value {
    match value {
        Value::Message(inner) => Value::Message(canonical(schema, minor, inner)),
        Value::List(items) => Value::List(items.iter().map(|item| canonical_value(schema, minor, item)).collect()),
        Value::Map(entries) => Value::Map(entries.iter().map(|(key, item)| (key.clone(), canonical_value(schema, minor, item))).collect()),
        other => other.clone(),
    }
}
