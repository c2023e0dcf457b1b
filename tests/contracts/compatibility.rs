//! Whether documents of a new schema keep what an old schema of the same version promised their readers.
//!
//! A reader may rely on every field, its type, whether it is always there, and on every word. What may come is what a tolerant reader
//! passes over: fields, words of an enumeration, kinds of documents. Every keyword that this comparison does not know must stay as it is.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Keywords that promise nothing.
const ANNOTATION_KEYWORDS: [&str; 6] = ["$schema", "$id", "$defs", "title", "description", "examples"];

/// Returns what of `old` a document of `new` may break, each as the place and what happened there.
pub(crate) fn breaks(old: &Value, new: &Value) -> Vec<String> {
    let mut comparison = Comparison { old, new, compared: BTreeSet::new(), found: Vec::new() };
    comparison.compare(old, new, "");
    comparison.found
}

struct Comparison<'a> {
    old: &'a Value,
    new: &'a Value,
    /// Pairs of references that have been compared, or are being compared: types may hold themselves.
    compared: BTreeSet<(String, String)>,
    found: Vec<String>,
}

impl<'a> Comparison<'a> {
    fn broken(&mut self, place: &str, what: impl std::fmt::Display) {
        let place = if place.is_empty() { "/" } else { place };
        self.found.push(format!("{place}: {what}"));
    }

    fn compare(&mut self, old: &'a Value, new: &'a Value, place: &str) {
        let pair = (reference(old).unwrap_or_default().to_owned(), reference(new).unwrap_or_default().to_owned());
        if !pair.0.is_empty() && !pair.1.is_empty() && !self.compared.insert(pair) {
            return;
        }
        let (old, new) = (resolve(self.old, old), resolve(self.new, new));
        let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
            if old != new {
                self.broken(place, format_args!("{old} became {new}"));
            }
            return;
        };
        for keyword in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
            match keyword.as_str() {
                keyword if ANNOTATION_KEYWORDS.contains(&keyword) => {}
                "properties" => self.properties(old, new, place),
                "required" => self.required(old, new, place),
                "enum" => self.words(old, new, place),
                "anyOf" | "oneOf" => self.alternatives(keyword, old, new, place),
                "items" | "additionalProperties" => match (&old.get(keyword), &new.get(keyword)) {
                    (Some(old), Some(new)) => self.compare(old, new, &format!("{place}/{keyword}")),
                    (old, new) => self.broken(place, format_args!("{keyword} was {old:?} and is {new:?}")),
                },
                keyword if old.get(keyword) != new.get(keyword) => {
                    let word = |value: Option<&Value>| value.map_or("not there".to_owned(), Value::to_string);
                    self.broken(place, format_args!("{keyword} was {} and is {}", word(old.get(keyword)), word(new.get(keyword))));
                }
                _ => {}
            }
        }
    }

    fn properties(&mut self, old: &'a Map<String, Value>, new: &'a Map<String, Value>, place: &str) {
        for (name, property) in old.get("properties").and_then(Value::as_object).into_iter().flatten() {
            match new.get("properties").and_then(|properties| properties.get(name)) {
                Some(now) => self.compare(property, now, &format!("{place}/{name}")),
                None => self.broken(place, format_args!("the field {name} is gone")),
            }
        }
    }

    /// A field that was there before is always there as before; a new one may be either.
    fn required(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, place: &str) {
        let (before, now) = (strings(old.get("required")), strings(new.get("required")));
        let known = |name: &str| old.get("properties").is_some_and(|properties| properties.get(name).is_some());
        for name in before.difference(&now) {
            self.broken(place, format_args!("the field {name} is not always there any more"));
        }
        for name in now.difference(&before).filter(|name| known(name)) {
            self.broken(place, format_args!("the field {name} is always there now"));
        }
    }

    fn words(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, place: &str) {
        let (Some(old), Some(new)) = (old.get("enum").and_then(Value::as_array), new.get("enum").and_then(Value::as_array)) else {
            return self.broken(place, "an enumeration came or went");
        };
        for word in old.iter().filter(|word| !new.contains(word)) {
            self.broken(place, format_args!("the word {word} is gone"));
        }
        for word in new.iter().filter(|word| !old.contains(word) && !word.is_string()) {
            self.broken(place, format_args!("{word} may come in place of a word"));
        }
    }

    /// Each alternative is one of the new ones still; new ones are words, or documents.
    fn alternatives(&mut self, keyword: &str, old: &'a Map<String, Value>, new: &'a Map<String, Value>, place: &str) {
        let (Some(old), Some(new)) = (old.get(keyword).and_then(Value::as_array), new.get(keyword).and_then(Value::as_array)) else {
            return self.broken(place, format_args!("{keyword} came or went"));
        };
        let mut left: Vec<&Value> = new.iter().collect();
        for (number, alternative) in old.iter().enumerate() {
            let mut nearest: Option<Vec<String>> = None;
            let kept = left.iter().position(|now| {
                let mut trial = Comparison { old: self.old, new: self.new, compared: self.compared.clone(), found: Vec::new() };
                trial.compare(alternative, now, &format!("{place}/{keyword}[{number}]"));
                let is_kept = trial.found.is_empty();
                if nearest.as_ref().is_none_or(|nearest| trial.found.len() < nearest.len()) {
                    nearest = Some(trial.found);
                }
                is_kept
            });
            match kept {
                Some(kept) => drop(left.remove(kept)),
                None => self.found.extend(nearest.unwrap_or_else(|| vec![format!("{place}: an alternative is gone")])),
            }
        }
        for added in left.into_iter().filter(|_| old.len() < new.len()) {
            let is_word = resolve(self.new, added).get("const").is_some_and(Value::is_string);
            if !is_word && !place.is_empty() {
                self.broken(place, format_args!("{added} may come too"));
            }
        }
    }
}

fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref").and_then(Value::as_str)
}

/// What a reference stands for.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    match reference(schema) {
        Some(reference) => root.pointer(reference.strip_prefix('#').unwrap()).unwrap(),
        None => schema,
    }
}

fn strings(list: Option<&Value>) -> BTreeSet<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

mod tests {
    use ketcd_render::contract::find;
    use serde_json::json;

    use super::*;

    /// The committed schema of `status`, as a change makes it.
    fn changed(pointer: &str, change: impl FnOnce(&mut Value)) -> Vec<String> {
        changed_of("status", pointer, change)
    }

    fn changed_of(command: &str, pointer: &str, change: impl FnOnce(&mut Value)) -> Vec<String> {
        let old = find(command).unwrap().schema();
        let mut new = old.clone();
        change(new.pointer_mut(pointer).unwrap_or_else(|| panic!("{command} has no {pointer}")));
        assert_ne!(old, new);
        breaks(&old, &new)
    }

    #[test]
    fn what_breaks_a_reader_is_found() {
        let remove = |name: &'static str| move |of: &mut Value| drop(of.as_object_mut().unwrap().remove(name));
        let cases: Vec<(Vec<String>, &str)> = vec![
            (changed("/properties", remove("keys")), "/: the field keys is gone"),
            (changed("/properties/keys/type", |of| *of = json!("string")), "/keys: type was \"integer\" and is \"string\""),
            (changed("/$defs/Source/properties/clusterId/type", |of| *of = json!("string")), "/source/clusterId: type was"),
            (changed("/$defs/Revisions/properties/newest/type", |of| *of = json!(["integer", "null"])), "/revisions/newest: type was"),
            (changed("/required", |of| drop(of.as_array_mut().unwrap().pop())), "is not always there any more"),
            (
                changed_of("explain", "/$defs/Explanation/required", |of| of.as_array_mut().unwrap().push("waits".into())),
                "waits is always there now",
            ),
            (changed("/$defs/SourceKind/oneOf", |of| drop(of.as_array_mut().unwrap().remove(0))), "/source/kind"),
            (changed("/$defs/SourceKind/oneOf/0/const", |of| *of = "alive".into()), "const was \"live\" and is \"alive\""),
            (
                changed("/$defs/Member/additionalProperties", |of| *of = true.into()),
                "/source/members/items/additionalProperties: false became true",
            ),
            (
                changed("/$defs/Kubernetes/properties/schedulers/items", |of| *of = json!({"type": "integer"})),
                "/kubernetes/schedulers/items: type",
            ),
            (changed("/$defs/Time/format", |of| *of = "date".into()), "format was"),
            (changed_of("history", "/anyOf", |of| drop(of.as_array_mut().unwrap().remove(0))), "/anyOf[0]"),
            (
                changed_of("history", "/$defs/ChangeWithObject/properties/object/anyOf", |of| {
                    of.as_array_mut().unwrap().push(json!({"type": "string"}))
                }),
                "may come too",
            ),
            (
                changed_of("history", "/$defs/PatchOperation/oneOf/0/required", |of| drop(of.as_array_mut().unwrap().remove(0))),
                "not always there",
            ),
        ];
        for (found, wanted) in cases {
            assert!(found.iter().any(|found| found.contains(wanted)), "{wanted:?} is not among {found:#?}");
        }
    }

    #[test]
    fn what_a_tolerant_reader_passes_over_is_not() {
        let field = |of: &mut Value| of["properties"]["more"] = json!({"type": "string"});
        let always = |of: &mut Value| {
            of["properties"]["more"] = json!({"type": "string"});
            of["required"].as_array_mut().unwrap().push("more".into());
        };
        let word = json!({"type": "string", "const": "more"});
        let document = json!({"type": "object", "properties": {"kind": {"const": "More"}}});
        let cases = [
            changed("", field),
            changed("/$defs/Member", always),
            changed("/$defs/SourceKind/oneOf", |of| of.as_array_mut().unwrap().insert(0, word)),
            changed("/properties/keys/description", |of| *of = "In other words.".into()),
            changed_of("history", "/anyOf", |of| of.as_array_mut().unwrap().insert(0, document)),
        ];
        assert_eq!(cases, [const { Vec::<String>::new() }; 5]);
    }
}
