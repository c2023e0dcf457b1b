//! A value read with an allowance: aliases can make a few lines into more than memory holds.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The error where aliases go beyond the allowance.
pub(super) const EXPANDS: &str = "its aliases expand to far more than the file holds";

/// Reads a value that may have as many bytes as are left.
pub(super) struct WithAllowance<'l>(pub(super) &'l mut usize);

impl WithAllowance<'_> {
    fn take<E: Error>(&mut self, bytes: usize) -> Result<(), E> {
        let left = self.0.checked_sub(bytes + 1);
        *self.0 = left.ok_or_else(|| E::custom(EXPANDS))?;
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for WithAllowance<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for WithAllowance<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON can hold")
    }

    fn visit_bool<E: Error>(mut self, value: bool) -> Result<Value, E> {
        self.take(0).map(|()| value.into())
    }

    fn visit_i64<E: Error>(mut self, value: i64) -> Result<Value, E> {
        self.take(0).map(|()| value.into())
    }

    fn visit_u64<E: Error>(mut self, value: u64) -> Result<Value, E> {
        self.take(0).map(|()| value.into())
    }

    fn visit_i128<E: Error>(mut self, value: i128) -> Result<Value, E> {
        self.take(0)?;
        Number::from_i128(value).map(Value::Number).ok_or_else(|| E::custom("a number that JSON cannot hold"))
    }

    fn visit_u128<E: Error>(mut self, value: u128) -> Result<Value, E> {
        self.take(0)?;
        Number::from_u128(value).map(Value::Number).ok_or_else(|| E::custom("a number that JSON cannot hold"))
    }

    fn visit_f64<E: Error>(mut self, value: f64) -> Result<Value, E> {
        self.take(0).map(|()| value.into())
    }

    fn visit_str<E: Error>(mut self, value: &str) -> Result<Value, E> {
        self.take(value.len()).map(|()| value.into())
    }

    fn visit_string<E: Error>(mut self, value: String) -> Result<Value, E> {
        self.take(value.len()).map(|()| value.into())
    }

    fn visit_unit<E: Error>(mut self) -> Result<Value, E> {
        self.take(0).map(|()| Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        self.take(0)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(WithAllowance(self.0))? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Value, A::Error> {
        self.take(0)?;
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            self.take(name.len())?;
            let value = members.next_value_seed(WithAllowance(self.0))?;
            map.insert(name, value);
        }
        Ok(map.into())
    }
}
