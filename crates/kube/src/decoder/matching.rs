//! The parts of an object that may show a text: what is not near it is looked through and not made.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::Decoder;
use super::fault::Result;
use super::go_text;
use super::identity::Place;
use super::searched::SearchedText;
use super::stored::Stored;
use super::typed::FieldValue;
use super::values::{Items, JsonValue};
use super::view::Context;
use super::wire::Span;
use crate::object::Decoded;
use crate::proto::table::{Message, Type};

impl SearchedText {
    /// As [`Decoder::decode`], but only what may show one of the texts needs to be there. Members and entries of maps that do not are left out, items of
    /// lists that do not are null; of an item that does, all members stay that are not lists or maps, so that it can be named. The rest is looked through:
    /// faults in it still count as faults of the object, and its unknown fields are noted.
    ///
    /// `None` where the bytes show that the object has none of the texts, which is certain. What cannot be opened or recognised may have any, and so may a
    /// Secret whose values are masked.
    pub fn decode(&self, decoder: &Decoder, key: &[u8], value: &[u8], mod_revision: i64) -> Option<Decoded> {
        let open = decoder.unsealed(key, value);
        if open.as_ref().is_ok_and(|value| !self.may_be_shown(decoder, key, value)) {
            return None;
        }
        let made = open.and_then(|value| {
            decoder.read_open(key, &value, |stored| match stored {
                Stored::Protobuf(wire) if wire.is_plain => {
                    let mut context = wire.context(decoder, &value);
                    let identity = wire.identity(mod_revision);
                    let mut matching = Matching { context: &mut context, text: self };
                    let object = matching.members(wire.message, wire.object, Place::Root(&identity), false)?;
                    Ok((Value::Object(object).into(), context.unknown))
                }
                stored => decoder.object(key, stored, &value, mod_revision, None),
            })
        });
        Some(decoder.decoded(key, mod_revision, made))
    }
}

/// A walk through an object for the parts that may show a text.
struct Matching<'c, 'v, 't> {
    context: &'c mut Context<'v>,
    text: &'t SearchedText,
}

impl<'v> Matching<'_, 'v, '_> {
    /// The members of a message that may show the text. In an item of a list (`names_item`) those stay that may name it.
    fn members(&mut self, message: &'static Message, span: Span, place: Place<'_>, names_item: bool) -> Result<Map<String, Value>> {
        let mut view = self.context.open(message, span)?;
        let mut members = Map::new();
        while let Some(row) = view.next_row(message) {
            let name = row.name;
            let shown = self.context.member_at(place, view, message, row).map_err(|fault| fault.within(name))?;
            let before = self.context.unknown.len();
            let made = match (&shown, place) {
                (JsonValue::ApiVersion, Place::Root(identity)) => Ok(Some(identity.api_version.into())),
                (JsonValue::Kind, Place::Root(identity)) => Ok(Some(identity.kind.into())),
                (JsonValue::Hidden | JsonValue::ApiVersion | JsonValue::Kind, _) => Ok(None),
                (_, Place::Metadata(_)) if name == "managedFields" && !self.text.is_in_managers() => self.pass_over(shown),
                _ => self.value(shown, place.of_member(name), names_item),
            };
            self.context.locate(before, || name.to_owned());
            members.extend(made.map_err(|fault| fault.within(name))?.map(|member| (name.to_owned(), member)));
        }
        self.context.close(view);
        Ok(members)
    }

    /// A value, if it may show the text or name the item of a list that it is in.
    fn value(&mut self, shown: JsonValue<'v>, place: Place<'_>, names_item: bool) -> Result<Option<Value>> {
        let is_made = match &shown {
            JsonValue::Struct(message, span) => names_item || self.text.may_be_in_message(message, self.context.slice(*span)),
            JsonValue::List(..) | JsonValue::Map(..) => true,
            JsonValue::Text(text) => names_item || self.text.is_in(text),
            JsonValue::Base64(bytes) => names_item || self.text.may_be_in_base64(bytes),
            JsonValue::Raw(span) => self.text.may_be_in_json(self.context.slice(*span)),
            _ => names_item || self.text.is_anywhere(),
        };
        match shown {
            shown if !is_made => self.pass_over(shown),
            JsonValue::Struct(message, span) => self.members(message, span, place, names_item).map(|members| Some(Value::Object(members))),
            JsonValue::List(ty, items) => self.list(ty, items),
            JsonValue::Map(ty, items) => self.map(ty, items),
            shown => {
                Value::deserialize(FieldValue { context: self.context, shown, place, wanted: None }).map(Some).map_err(|unfit| unfit.0)
            }
        }
    }

    /// Looks through a value that is not made.
    fn pass_over(&mut self, shown: JsonValue<'v>) -> Result<Option<Value>> {
        let ignored = IgnoredAny::deserialize(FieldValue { context: self.context, shown, place: Place::Elsewhere, wanted: None });
        ignored.map(|_| None).map_err(|unfit| unfit.0)
    }

    /// A list whose items are null where they do not show the text; `None` where none does.
    fn list(&mut self, ty: Type, mut items: Items) -> Result<Option<Value>> {
        let (mut made, mut is_shown) = (Vec::new(), false);
        loop {
            let within = |index: usize| format!("[{index}]");
            let index = made.len();
            let shown = match self.context.next_item(ty, &mut items).map_err(|fault| fault.within(&within(index)))? {
                JsonValue::Hidden => return Ok(is_shown.then_some(Value::Array(made))),
                shown => shown,
            };
            let before = self.context.unknown.len();
            let item = match shown {
                JsonValue::Struct(message, span) if self.text.may_be_in_message(message, self.context.slice(span)) => {
                    self.members(message, span, Place::Elsewhere, true).map(|members| Some(Value::Object(members)))
                }
                shown @ JsonValue::Struct(..) => self.pass_over(shown),
                shown => self.value(shown, Place::Elsewhere, false),
            };
            self.context.locate(before, || within(index));
            let item = item.map_err(|fault| fault.within(&within(index)))?;
            is_shown |= item.is_some();
            made.push(item.unwrap_or(Value::Null));
        }
    }

    /// The entries of a map that may show the text, in their keys or values; `None` where none does.
    fn map(&mut self, ty: Type, items: Items) -> Result<Option<Value>> {
        let mut made = Map::new();
        for entry in self.context.sorted_entries(items)? {
            let key = self.context.key(&entry);
            let shown = self.context.entry_value(ty, &entry)?;
            let before = self.context.unknown.len();
            let value = self.value(shown, Place::Elsewhere, false);
            let segment = || format!("[{:?}]", go_text::utf8(key));
            self.context.locate(before, segment);
            let value = value.map_err(|fault| fault.within(&segment()))?;
            if value.is_some() || self.text.is_in(key) {
                made.insert(go_text::utf8(key).into_owned(), value.unwrap_or(Value::Null));
            }
        }
        Ok((!made.is_empty()).then_some(Value::Object(made)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::Body;
    use crate::release::Release;

    const POD_KEY: &[u8] = b"/registry/pods/shop/web-0";

    fn pod() -> Vec<u8> {
        let entry = json!({"manager": "kubelet-web", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {"f:mesh-proxy": {}}}}});
        let container =
            |name: &str, image: &str| json!({"name": name, "image": image, "env": [{"name": "A"}, {"name": "B", "value": image}]});
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web-0", "namespace": "shop", "labels": {"a": "mesh-proxy:1", "b": "c"}, "managedFields": [entry]},
            "spec": {"nodeName": "n1", "containers": [container("app", "web:1"), container("mesh", "mesh-proxy:1")]},
            "status": {"phase": "Running"}});
        crate::encode(&pod, Release(36)).unwrap().unwrap()
    }

    fn shown(value: &[u8], text: &SearchedText) -> Value {
        let decoded = text.decode(&Decoder::new(), POD_KEY, value, 7).expect("the text is in the value");
        let Body::Object(object) = decoded.body else { panic!("it is a pod") };
        object.into_value()
    }

    fn text(text: &str) -> SearchedText {
        SearchedText::any_of(&[text.to_owned()], false)
    }

    #[test]
    fn what_does_not_show_the_text_is_not_made() {
        let wanted = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "mesh-proxy:1"}},
            "spec": {"containers": [null, {"name": "mesh", "image": "mesh-proxy:1", "env": [null, {"name": "B", "value": "mesh-proxy:1"}], "resources": {}}]}});
        assert_eq!(shown(&pod(), &text("mesh-proxy")), wanted);
        assert_eq!(text("no such text").decode(&Decoder::new(), POD_KEY, &pod(), 7), None);
        let managers = shown(&pod(), &text("kubelet-web").in_managers(true));
        assert_eq!(managers["metadata"]["managedFields"][0]["manager"], "kubelet-web");
        assert_eq!(shown(&pod(), &text("kubelet-web")), json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}}));
        // A text that may be anywhere needs all.
        assert_eq!(shown(&pod(), &text("true"))["status"]["phase"], "Running");
    }

    #[test]
    fn damage_far_from_the_text_is_damage_of_the_object() {
        let mut damaged = pod();
        let at = damaged.windows(7).position(|bytes| bytes == b"Running").unwrap();
        // The phase is longer than the rest of the value.
        damaged[at - 1] = 0x7f;
        let decode = |text: &SearchedText| text.decode(&Decoder::new(), POD_KEY, &damaged, 7).map(|decoded| decoded.body);
        assert!(matches!(decode(&text("mesh-proxy")), Some(Body::Opaque(_))));
    }
}
