//! One document, part by part: the members of an object, and the items of a list as they come.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

pub(super) enum DocumentPart<'t> {
    /// A member of the document that is not its items.
    Member(String, &'t RawValue),
    Items,
    Item(&'t RawValue),
}

/// Reads a document and hands over its parts. An array is a list of which nothing but the items is written; a member `items` that is not a list
/// is an error.
pub(super) fn read<'t, D: Deserializer<'t>>(deserializer: D, take: impl FnMut(DocumentPart<'t>)) -> Result<(), D::Error> {
    deserializer.deserialize_any(Document(take))
}

struct Document<F>(F);

impl<'t, F: FnMut(DocumentPart<'t>)> Visitor<'t> for Document<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an API object or a list of them")
    }

    fn visit_map<A: MapAccess<'t>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if name == "items" {
                map.next_value_seed(Items(&mut self.0))?;
            } else {
                let value = map.next_value()?;
                (self.0)(DocumentPart::Member(name, value));
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'t>>(mut self, items: A) -> Result<(), A::Error> {
        Items(&mut self.0).visit_seq(items)
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

struct Items<'f, F>(&'f mut F);

impl<'t, F: FnMut(DocumentPart<'t>)> DeserializeSeed<'t> for Items<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'t, F: FnMut(DocumentPart<'t>)> Visitor<'t> for Items<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of API objects")
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut items: A) -> Result<(), A::Error> {
        (self.0)(DocumentPart::Items);
        while let Some(item) = items.next_element()? {
            (self.0)(DocumentPart::Item(item));
        }
        Ok(())
    }

    /// A list without items may say so with null.
    fn visit_unit<E>(self) -> Result<(), E> {
        (self.0)(DocumentPart::Items);
        Ok(())
    }
}
