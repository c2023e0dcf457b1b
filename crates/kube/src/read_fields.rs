//! Which members of an object a type has fields for: the type reads a value that has every member it asks for.

use std::fmt::{self, Display};

use serde::Deserialize;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::field_set::FieldSet;

impl FieldSet {
    /// The members that `T` reads: the fields of its structs, by the names that it asks serde for. A member of any other type is wanted whole.
    ///
    /// # Panics
    /// If a type does not take an empty string or zero where it asks for text or a number, as types of the API that hold times or `IntOrString` do not.
    pub fn read_by<T: Deserialize<'static>>() -> Self {
        let mut paths = Vec::new();
        if let Err(Refused(why)) = T::deserialize(Probe { path: String::new(), paths: &mut paths }) {
            panic!("{} is not read from a value of empty members: {why}", std::any::type_name::<T>());
        }
        Self::of(paths.iter().map(String::as_str))
    }
}

/// A value with every member that is asked for.
struct Probe<'p> {
    path: String,
    paths: &'p mut Vec<String>,
}

/// What a type has against it.
#[derive(Debug)]
struct Refused(String);

impl Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl de::Error for Refused {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl Probe<'_> {
    /// Notes the member as one that is read whole.
    fn leaf(&mut self) {
        self.paths.push(std::mem::take(&mut self.path));
    }
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        self.leaf();
        visitor.visit_unit()
    }

    fn deserialize_bool<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        self.leaf();
        visitor.visit_bool(false)
    }

    fn deserialize_i32<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        self.leaf();
        visitor.visit_i32(0)
    }

    fn deserialize_i64<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        self.leaf();
        visitor.visit_i64(0)
    }

    fn deserialize_str<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        self.leaf();
        visitor.visit_borrowed_str("")
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_seq(Item(Some(self)))
    }

    /// Maps of text: their entries have no names that a type could ask for.
    fn deserialize_map<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        self.leaf();
        visitor.visit_map(StructFields { probe: self, names: [].iter() })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        if names.is_empty() {
            self.leaf();
        }
        visitor.visit_map(StructFields { probe: self, names: names.iter() })
    }

    forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier ignored_any
    }
}

struct Item<'p>(Option<Probe<'p>>);

impl<'de> SeqAccess<'de> for Item<'_> {
    type Error = Refused;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refused> {
        self.0.take().map(|probe| seed.deserialize(probe)).transpose()
    }
}

struct StructFields<'p> {
    probe: Probe<'p>,
    names: std::slice::Iter<'static, &'static str>,
}

impl<'de> MapAccess<'de> for StructFields<'_> {
    type Error = Refused;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refused> {
        let Some(name) = self.names.as_slice().first() else { return Ok(None) };
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refused> {
        let name = self.names.next().ok_or_else(|| de::Error::custom("a value before its key"))?;
        let path = if self.probe.path.is_empty() { (*name).to_owned() } else { format!("{}.{name}", self.probe.path) };
        seed.deserialize(Probe { path, paths: self.probe.paths })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only the fields' names matter")]
    struct Read {
        host_network: Option<bool>,
        node_selector: Option<BTreeMap<String, String>>,
        containers: Vec<Inner>,
        affinity: Option<Affinity>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only the fields' names matter")]
    struct Affinity {
        node_affinity: Option<Terms>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only the fields' names matter")]
    struct Terms {
        match_fields: Option<Vec<Inner>>,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only the fields' names matter")]
    struct Inner {
        #[serde(rename = "hostIP")]
        ip: String,
        priority: i32,
    }

    #[test]
    fn every_field_of_a_type_is_found_by_its_name() {
        let read = FieldSet::read_by::<Read>();
        for path in ["hostNetwork", "nodeSelector", "containers.hostIP", "containers.priority"] {
            assert_ne!(read.clone().without(path), read, "{path}");
        }
        assert_ne!(read.clone().without("affinity.nodeAffinity.matchFields.priority"), read);
        assert_eq!(read.clone().without("nodeName"), read);
    }
}
