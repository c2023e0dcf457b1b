//! Cuts a JSON document to a size, so that it is still a document of its schema: of arrays the first items are left, of long strings the beginning.

use ketcd_render::visible::{is_unsafe, write_json_escaped};
use serde_json::{Value, json};

use crate::text::boundary;

/// Shorter strings are not shortened.
const MIN_SHORTENED_BYTES: usize = 512;
/// How often something is shortened before it is given up.
const MAX_STEPS: usize = 2_000;

/// A part of a document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JsonPart {
    pub text: String,
    /// Where its large arrays are, by the names of members; empty where one is the document, or where there is none.
    pub arrays: String,
    /// How many items they have.
    pub items: usize,
    /// Behind the last item that is in it.
    pub end: usize,
    /// How many other arrays and strings were shortened.
    pub shortened: usize,
}

/// Completes a list that broke off, as it was too long to be kept: with the items that are whole. `None` where the text is something else, or a list that
/// says more behind its items than what they are.
pub(crate) fn completed(text: &str) -> Option<Value> {
    let end = end_of_items(text.as_bytes())?;
    let mut document: Value = serde_json::from_str(&format!("{}]}}", &text[..end])).ok()?;
    let members = document.as_object_mut().filter(|members| members.get("items").is_some_and(Value::is_array))?;
    if members.contains_key("apiVersion") {
        // As kubectl's lists end.
        members.insert("kind".to_owned(), "List".into());
        members.insert("metadata".to_owned(), json!({"resourceVersion": ""}));
    }
    members.contains_key("kind").then_some(document)
}

/// Where the last whole item ends of an array that is a member of the document.
fn end_of_items(text: &[u8]) -> Option<usize> {
    let (mut open, mut end) = (Vec::new(), None);
    let (mut is_string, mut is_escaped) = (false, false);
    for (at, byte) in text.iter().enumerate() {
        if is_string {
            is_string = is_escaped || *byte != b'"';
            is_escaped = *byte == b'\\' && !is_escaped;
            continue;
        }
        match byte {
            b'"' => is_string = true,
            b'{' | b'[' => open.push(*byte),
            b'}' | b']' => {
                open.pop();
                if open == *b"{[" {
                    end = Some(at + 1);
                }
            }
            _ => {}
        }
    }
    end
}

/// Returns a document with the items of its large arrays, one array after the other, after the first `skip`, as many as have room; `None` where even one has
/// not.
pub(crate) fn part(mut document: Value, skip: usize, room: usize) -> Option<JsonPart> {
    let (paths, items) = taken(&mut document, room);
    let (count, skip) = (items.len(), skip.min(items.len()));
    let mut left = room.saturating_sub(size(&document));
    let mut end = skip;
    let mut kept = vec![Vec::new(); paths.len()];
    for (array, item) in items.into_iter().skip(skip) {
        let bytes = size(&item) + 1;
        if bytes > left && end > skip {
            break;
        }
        left = left.saturating_sub(bytes);
        kept[array].push(item);
        end += 1;
    }
    for (path, kept) in paths.iter().zip(kept) {
        if let Some(place) = at(&mut document, path) {
            *place = Value::Array(kept);
        }
    }
    let mut shortened = 0;
    while size(&document) > room {
        if shortened == MAX_STEPS || !shorten(&mut document) {
            return None;
        }
        shortened += 1;
    }
    let arrays = paths.iter().map(|path| path.join(".")).collect::<Vec<_>>().join("`, then `");
    Some(JsonPart { text: line(&document), arrays, items: count, end, shortened })
}

/// Takes arrays out of a document, the largest first, until the rest has half of the room: where they were, and their items, each with its array.
fn taken(document: &mut Value, room: usize) -> (Vec<Vec<String>>, Vec<(usize, Value)>) {
    let (mut paths, mut items) = (Vec::new(), Vec::new());
    while paths.is_empty() || size(document) > room / 2 {
        let Some(path) = largest_array(document) else { break };
        let Some(Value::Array(array)) = at(document, &path).map(Value::take) else { break };
        items.extend(array.into_iter().map(|item| (paths.len(), item)));
        paths.push(path);
    }
    (paths, items)
}

/// A document on one line. Characters that change the direction of text, and others that drive something, are escaped.
fn line(document: &Value) -> String {
    let plain = document.to_string();
    if plain.is_ascii() && !plain.contains('\u{7f}') {
        return plain;
    }
    let mut escaped = String::with_capacity(plain.len() + 64);
    for c in plain.chars() {
        if is_unsafe(c) {
            // Writing to a string cannot fail.
            let _ = write_json_escaped(c, &mut escaped);
        } else {
            escaped.push(c);
        }
    }
    escaped
}

fn size(value: &Value) -> usize {
    line(value).len()
}

/// Where the largest array is that lies in no other and has items.
fn largest_array(document: &Value) -> Option<Vec<String>> {
    fn look(value: &Value, path: &mut Vec<String>, best: &mut Option<(usize, Vec<String>)>) {
        match value {
            Value::Array(items) if items.is_empty() => {}
            Value::Array(_) => {
                let bytes = value.to_string().len();
                if best.as_ref().is_none_or(|(most, _)| bytes > *most) {
                    *best = Some((bytes, path.clone()));
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    path.push(name.clone());
                    look(member, path, best);
                    path.pop();
                }
            }
            _ => {}
        }
    }
    let mut best = None;
    look(document, &mut Vec::new(), &mut best);
    best.map(|(_, path)| path)
}

fn at<'v>(document: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(document, |value, name| value.get_mut(name))
}

/// Shortens the largest string or array of several items; returns whether there was one.
fn shorten(document: &mut Value) -> bool {
    let mut best = (MIN_SHORTENED_BYTES, None);
    largest(document, &mut String::new(), &mut best);
    let Some(place) = best.1.and_then(|pointer| document.pointer_mut(&pointer)) else { return false };
    match place {
        Value::String(text) => {
            let end = boundary(text, text.len() / 4);
            *text = format!("{} [… {} bytes left out]", &text[..end], text.len() - end);
        }
        Value::Array(items) => items.truncate(items.len() / 2),
        _ => return false,
    }
    true
}

/// Finds the largest of what can be shortened, and returns how large the value is.
fn largest(value: &Value, pointer: &mut String, best: &mut (usize, Option<String>)) -> usize {
    let before = pointer.len();
    let mut within = |name: &str, member: &Value| {
        pointer.push('/');
        pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
        let bytes = largest(member, pointer, best);
        pointer.truncate(before);
        bytes + 1
    };
    let (bytes, can_be) = match value {
        Value::String(text) => (text.len() + 2, true),
        Value::Array(items) => {
            let bytes: usize = items.iter().enumerate().map(|(index, item)| within(&index.to_string(), item)).sum();
            (bytes + 2, items.len() > 1)
        }
        Value::Object(members) => (members.iter().map(|(name, member)| name.len() + 3 + within(name, member)).sum::<usize>() + 2, false),
        _ => (4, false),
    };
    if can_be && bytes > best.0 {
        *best = (bytes, Some(pointer.clone()));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_broke_off_is_completed() {
        let list = json!({"apiVersion": "v1", "items": [{"a": "x]}\"\\"}, {"b": [1, {}]}, {"c": 3}]});
        let text = list.to_string();
        let cut = completed(&text[..text.find("{\"c").unwrap() + 3]).unwrap();
        assert_eq!(cut["items"], json!([list["items"][0], list["items"][1]]));
        assert_eq!((&cut["kind"], &cut["metadata"]), (&json!("List"), &json!({"resourceVersion": ""})));
        for text in ["", "[1, {", "{\"items\": [1, 2", "{\"a\": {\"b\": [{}, {", "{\"other\": [{}, {", "{\"items\": [{}, {"] {
            assert_eq!(completed(text), None, "{text}");
        }
    }

    #[test]
    fn what_has_room_is_whole() {
        let document = json!({"a": 1, "items": [1, 2]});
        let part = part(document.clone(), 0, 1_000).unwrap();
        assert_eq!((part.text, &*part.arrays, part.items, part.end, part.shortened), (document.to_string(), "items", 2, 2, 0));
    }

    #[test]
    fn pages_are_all_of_it() {
        let items: Vec<Value> = (0..300).map(|number| json!({"number": number, "text": "x".repeat(number % 50)})).collect();
        let document = json!({"head": {"n": 300}, "changes": items, "few": [1]});
        let (mut skip, mut read) = (0, Vec::new());
        while skip < 300 {
            let page = part(document.clone(), skip, 2_000).unwrap();
            assert!(page.text.len() <= 2_000 && page.end > skip && page.items == 300);
            let page_read: Value = serde_json::from_str(&page.text).unwrap();
            assert_eq!(page_read["head"], document["head"]);
            read.extend(page_read["changes"].as_array().unwrap().clone());
            skip = page.end;
        }
        assert_eq!(Value::Array(read), document["changes"]);
    }

    #[test]
    fn several_large_arrays_follow_one_another() {
        let items = |count: usize| (0..count).map(|number| json!({"number": number, "text": "x".repeat(40)})).collect::<Vec<_>>();
        let document = json!({"busiest": items(50), "by": {"resource": items(70)}, "few": [1], "largest": items(30), "none": []});
        let (mut skip, mut read) = (0, [Vec::new(), Vec::new(), Vec::new()]);
        while skip < 150 {
            let page = part(document.clone(), skip, 3_000).unwrap();
            assert_eq!((page.items, page.shortened, &*page.arrays), (150, 0, "by.resource`, then `busiest`, then `largest"), "{page:?}");
            assert!(page.text.len() <= 3_000 && page.end > skip);
            let found: Value = serde_json::from_str(&page.text).unwrap();
            assert_eq!((&found["few"], &found["none"]), (&document["few"], &document["none"]));
            let arrays = [&found["by"]["resource"], &found["busiest"], &found["largest"]];
            read.iter_mut().zip(arrays).for_each(|(read, items)| read.extend(items.as_array().unwrap().clone()));
            skip = page.end;
        }
        assert_eq!(read.map(Value::Array), [&document["by"]["resource"], &document["busiest"], &document["largest"]].map(Value::clone));
    }

    #[test]
    fn an_item_that_is_too_large_is_shortened() {
        let document = json!([{"data": {"a": "x".repeat(9_000)}, "list": (0..2_000).collect::<Vec<_>>()}, 2]);
        let page = part(document, 0, 3_000).unwrap();
        assert!(page.text.len() <= 3_000 && page.shortened > 1 && page.items == 2, "{page:?}");
        assert!(serde_json::from_str::<Value>(&page.text).unwrap()[0]["data"]["a"].as_str().unwrap().contains("bytes left out"));
        let many: serde_json::Map<String, Value> = (0..2_000).map(|number| (number.to_string(), json!(1))).collect();
        assert_eq!(part(Value::Object(many), 0, 3_000), None);
    }

    #[test]
    fn characters_that_drive_something_are_escaped() {
        let text = part(json!({"a": "\u{202e}\u{7f}\u{1b}\u{e0041}ü"}), 0, 1_000).unwrap().text;
        assert!(!text.chars().any(is_unsafe) && text.contains("\\u202e") && text.contains('ü'), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!({"a": "\u{202e}\u{7f}\u{1b}\u{e0041}ü"}));
    }
}
