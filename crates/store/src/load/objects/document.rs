//! One document, part by part: the members of an object, and the items of a list as they come.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Takes the parts of a document.
pub(super) trait Parts<'de> {
    /// A value of a member or an item.
    type Part;

    /// Reads the next value.
    fn seed(&mut self) -> impl DeserializeSeed<'de, Value = Self::Part>;

    /// A member of the document that is not its items.
    fn member(&mut self, name: String, value: Self::Part);

    /// The items begin.
    fn items(&mut self);

    /// An item.
    fn item(&mut self, item: Self::Part);

    /// The document has a member `items` that is no list.
    fn no_items(&mut self);
}

/// Reads a document into its parts. An array is a list of which nothing but the items is written.
pub(super) struct Document<'p, P>(pub(super) &'p mut P);

impl<'de, P: Parts<'de>> DeserializeSeed<'de> for Document<'_, P> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, P: Parts<'de>> Visitor<'de> for Document<'_, P> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an API object or a list of them")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if name == "items" {
                map.next_value_seed(Items(self.0))?;
            } else {
                let value = map.next_value_seed(self.0.seed())?;
                self.0.member(name, value);
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<(), A::Error> {
        Items(self.0).visit_seq(items)
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

struct Items<'p, P>(&'p mut P);

impl<'de, P: Parts<'de>> DeserializeSeed<'de> for Items<'_, P> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, P: Parts<'de>> Items<'_, P> {
    fn refused<E: Error>(self) -> Result<(), E> {
        self.0.no_items();
        Err(E::custom("items is not a list"))
    }
}

impl<'de, P: Parts<'de>> Visitor<'de> for Items<'_, P> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of API objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.0.items();
        loop {
            let seed = self.0.seed();
            let Some(item) = items.next_element_seed(seed)? else { return Ok(()) };
            self.0.item(item);
        }
    }

    /// A list without items may say so with null.
    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.items();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        self.refused()
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.refused()
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.refused()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.refused()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.refused()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.refused()
    }
}
