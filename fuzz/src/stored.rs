//! Stored values: protobuf, JSON and CBOR, decoded in both ways and compared.

use ketcd_cluster::verify::fuzz::{is_as_api_servers_write, spec};
use ketcd_kube::{Body, Decoder, Object, Release, SearchedText};
use ketcd_scheduler::cluster::PodFields;
use serde_json::Value;

/// The JSON of a byte on the wire: the widest message all of whose members are written though absent.
const MOST_PER_BYTE: usize = 600;

const SAMPLE_KEY: &[u8] = b"/registry/x/y";

/// A value that begins as protobuf does.
pub fn protobuf(data: &[u8]) {
    stored(&after(b"k8s\0", data));
}

/// A value that is JSON, or nearly so. What is written of it reads as itself.
pub fn json(data: &[u8]) {
    stored(data);
    let decoder = Decoder::for_stored_values();
    let mut text = Vec::new();
    if !data.starts_with(b"k8s") && decoder.decode_text(SAMPLE_KEY, data, 7, &mut text).is_ok() {
        let mut again = Vec::new();
        decoder.decode_text(SAMPLE_KEY, &text, 7, &mut again).unwrap_or_else(|opaque| panic!("{opaque:?} of {}", text.escape_ascii()));
        assert_eq!(text.escape_ascii().to_string(), again.escape_ascii().to_string(), "written again");
    }
}

/// A value that begins as CBOR does.
pub fn cbor(data: &[u8]) {
    stored(&after(b"\xd9\xd9\xf7", data));
}

/// A value in any encoding: the search in its bytes finds what the object shows, whole or in part.
pub fn searched(data: &[u8]) {
    const MOST_TEXTS: usize = 12;
    for decoder in [Decoder::new(), Decoder::new().with_release(Release(20)), Decoder::for_stored_values()] {
        let Body::Object(object) = decoder.decode(SAMPLE_KEY, data, 7).body else { continue };
        let mut shown = Vec::new();
        shown_texts(&unmasked(&object), "", &mut shown);
        // Others for each input: a search takes a while to prepare.
        let first = data.len() % shown.len().max(1);
        for (text, is_name) in shown.iter().cycle().skip(first).take(MOST_TEXTS.min(shown.len())) {
            for part in parts(text) {
                let searched = SearchedText::any_of(std::slice::from_ref(&part), *is_name);
                assert!(searched.decode(&decoder, SAMPLE_KEY, data, 7).is_some(), "{part:?}, name: {is_name}, in {}", *object);
            }
        }
    }
}

/// An object with nothing in the place of what is masked.
fn unmasked(object: &Object) -> Value {
    let mut value = (**object).clone();
    for place in object.masked_places() {
        if let Some(masked) = value.pointer_mut(place.as_str()) {
            *masked = Value::Null;
        }
    }
    value
}

/// The texts of values, and the names of members, that a search looks at; of managers their names alone, and not the revision, which is not stored.
fn shown_texts(value: &Value, path: &str, shown: &mut Vec<(String, bool)>) {
    match value {
        Value::Null => {}
        Value::Bool(flag) => shown.push((flag.to_string(), false)),
        Value::Number(number) => shown.push((number.to_string(), false)),
        Value::String(text) => shown.push((text.clone(), false)),
        Value::Array(items) => items.iter().for_each(|item| shown_texts(item, path, shown)),
        Value::Object(members) => {
            for (name, member) in members {
                match (path, &**name) {
                    ("/metadata", "resourceVersion") => {}
                    ("/metadata", "managedFields") => {
                        let managers = member.as_array().into_iter().flatten().filter_map(|entry| entry["manager"].as_str());
                        shown.extend(managers.map(|manager| (manager.to_owned(), false)));
                    }
                    _ => {
                        shown.push((name.clone(), true));
                        shown_texts(member, &format!("{path}/{name}"), shown);
                    }
                }
            }
        }
    }
}

/// A text, its beginning, its middle and its end.
fn parts(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let count = letters.len();
    let places = [0..count, 0..count / 2, count / 3..count - count / 3, count / 2..count];
    places.into_iter().map(|place| letters[place].iter().collect::<String>()).filter(|part| !part.is_empty()).collect()
}

/// The forms that `verify` reads itself. A Deployment, without its envelope: the spec that is found in its bytes is all that decoding shows of the spec.
/// JSON: what is written as API servers write it is recognised as that, and with a space in it is not.
pub fn stored_form(data: &[u8]) {
    let _ = (spec(data), is_as_api_servers_write(data));
    let decoder = Decoder::for_stored_values();
    let mut text = Vec::new();
    if data.starts_with(b"{") && decoder.decode_text(SAMPLE_KEY, data, 7, &mut text).is_ok() {
        text.push(b'\n');
        assert!(is_as_api_servers_write(&text), "{}", text.escape_ascii());
        text.insert(1, b' ');
        assert!(!is_as_api_servers_write(&text), "{}", text.escape_ascii());
    }
    let whole = deployment(data);
    let Some(found) = spec(&whole) else { return };
    let mut alone = vec![0x12];
    append_length(&mut alone, found.len());
    alone.extend_from_slice(found);
    let [whole, alone] = [whole, deployment(&alone)].map(|value| decoder.decode(SAMPLE_KEY, &value, 7).body);
    if let Body::Object(whole) = whole {
        let Body::Object(alone) = alone else { panic!("{alone:?} of {whole:?}") };
        assert_eq!(whole.get("spec"), alone.get("spec"));
    }
}

/// A stored Deployment.
fn deployment(object: &[u8]) -> Vec<u8> {
    let mut value = b"k8s\0\x0a\x15\x0a\x07apps/v1\x12\x0aDeployment\x12".to_vec();
    append_length(&mut value, object.len());
    [&value, object].concat()
}

fn append_length(out: &mut Vec<u8>, mut length: usize) {
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

fn after(mark: &[u8], data: &[u8]) -> Vec<u8> {
    if data.starts_with(mark) { data.to_vec() } else { [mark, data].concat() }
}

/// Decodes a value as text, as a value and as a type: no panic, output bounded by input, and text and value agree.
pub fn stored(value: &[u8]) {
    for decoder in [Decoder::new(), Decoder::new().with_release(Release(20)), Decoder::for_stored_values()] {
        let mut text = b"kept".to_vec();
        let written = decoder.decode_text(SAMPLE_KEY, value, 7, &mut text);
        let decoded = decoder.decode(SAMPLE_KEY, value, 7);
        let _ = decoder.decode_as::<PodFields>(SAMPLE_KEY, value, 7);
        assert!(text.starts_with(b"kept"));
        assert!(text.len() <= 1000 + value.len() * MOST_PER_BYTE, "{} bytes from {}", text.len(), value.len());
        match (written, decoded.body) {
            (Ok(unknown), Body::Object(object)) => {
                assert_eq!(serde_json::from_slice::<Value>(&text[4..]).unwrap(), object.into_value());
                assert_eq!(unknown, decoded.unknown_fields);
            }
            (Err(written), Body::Opaque(opaque)) => {
                assert_eq!(text.len(), 4);
                assert_eq!(written.expected, opaque.expected);
                assert!(!opaque.reason.is_empty() && opaque.length == value.len());
            }
            (written, decoded) => panic!("as text {written:?}, as value {decoded:?}"),
        }
    }
}
