//! Puts the fields of a row into the columns of a batch. It is serde's other half of a row's type: the first writes lines of JSON.

use std::fmt::{self, Display};

use serde::ser::{Error as _, Impossible, SerializeStruct};
use serde::{Serialize, Serializer};

use super::batch::{ColumnData, Values};
use crate::columns::ColumnType;

/// A row that does not fit its columns.
#[derive(Debug)]
pub(super) struct Misfit(String);

impl Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misfit {}

impl serde::ser::Error for Misfit {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

pub(super) struct RowSerializer<'b> {
    columns: std::slice::IterMut<'b, Values>,
}

impl<'b> RowSerializer<'b> {
    pub(super) fn new(columns: &'b mut [Values]) -> Self {
        Self { columns: columns.iter_mut() }
    }
}

impl SerializeStruct for RowSerializer<'_> {
    type Ok = ();
    type Error = Misfit;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Misfit> {
        let values = self.columns.next().filter(|values| values.column.name == name);
        let values = values.ok_or_else(|| Misfit(format!("there is no column {name} at its place")))?;
        if values.column.kind == ColumnType::Json { document(values, value) } else { value.serialize(FieldSerializer { values }) }
    }

    fn end(mut self) -> Result<(), Misfit> {
        match self.columns.next() {
            Some(values) => Err(Misfit(format!("column {} has no value", values.column.name))),
            None => Ok(()),
        }
    }
}

/// Adds a document as JSON; null is not a document.
fn document<T: Serialize + ?Sized>(values: &mut Values, value: &T) -> Result<(), Misfit> {
    let ColumnData::Bytes(bytes, ends) = &mut values.data else { return Err(Misfit("documents are bytes".to_owned())) };
    let begin = bytes.len();
    serde_json::to_writer(&mut *bytes, value).map_err(Misfit::custom)?;
    let is_present = bytes[begin..] != *b"null";
    if is_present {
        ends.push(bytes.len());
    } else {
        bytes.truncate(begin);
    }
    values.mark(is_present).map_err(|name| Misfit(format!("column {name} has no nulls")))
}

/// Adds one value to its column.
struct FieldSerializer<'b> {
    values: &'b mut Values,
}

impl FieldSerializer<'_> {
    fn add(self, add: impl FnOnce(&mut ColumnData) -> Option<()>) -> Result<(), Misfit> {
        add(&mut self.values.data).ok_or_else(|| Misfit(format!("a value of column {} is of another type", self.values.column.name)))?;
        self.values.mark(true).map_err(|name| Misfit(name.to_owned()))
    }
}

fn integer(data: &mut ColumnData, value: impl TryInto<i64>) -> Option<()> {
    let ColumnData::Integers(values) = data else { return None };
    values.push(value.try_into().ok()?);
    Some(())
}

/// The methods of what no row has.
macro_rules! refuse {
    ($($method:ident($($argument:ty),*) -> $of:ty;)*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<$of, Misfit> {
            Err(Misfit(concat!("a row has no ", stringify!($method)).to_owned()))
        })*
    };
}

/// The types of what no row has.
macro_rules! refuse_compounds {
    () => {
        type SerializeSeq = Impossible<(), Misfit>;
        type SerializeTuple = Impossible<(), Misfit>;
        type SerializeTupleStruct = Impossible<(), Misfit>;
        type SerializeTupleVariant = Impossible<(), Misfit>;
        type SerializeMap = Impossible<(), Misfit>;
        type SerializeStructVariant = Impossible<(), Misfit>;

        refuse! {
            serialize_bytes(&[u8]) -> ();
            serialize_char(char) -> ();
            serialize_unit() -> ();
            serialize_unit_struct(&'static str) -> ();
            serialize_seq(Option<usize>) -> Self::SerializeSeq;
            serialize_tuple(usize) -> Self::SerializeTuple;
            serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
            serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
            serialize_map(Option<usize>) -> Self::SerializeMap;
            serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
        }

        fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Misfit> {
            value.serialize(self)
        }

        fn serialize_newtype_variant<T: Serialize + ?Sized>(self, _: &'static str, _: u32, _: &'static str, _: &T) -> Result<(), Misfit> {
            Err(Misfit("a row has no variants with values".to_owned()))
        }
    };
}

impl Serializer for FieldSerializer<'_> {
    type Ok = ();
    type Error = Misfit;
    type SerializeStruct = Impossible<(), Misfit>;

    refuse_compounds!();
    refuse! { serialize_struct(&'static str, usize) -> Self::SerializeStruct; }

    /// Times are numbers.
    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, value: bool) -> Result<(), Misfit> {
        self.add(|data| {
            let ColumnData::Booleans(values) = data else { return None };
            values.push(value);
            Some(())
        })
    }

    fn serialize_i8(self, value: i8) -> Result<(), Misfit> {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<(), Misfit> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<(), Misfit> {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result<(), Misfit> {
        self.add(|data| integer(data, value))
    }

    fn serialize_u8(self, value: u8) -> Result<(), Misfit> {
        self.serialize_i64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<(), Misfit> {
        self.serialize_i64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), Misfit> {
        self.serialize_i64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Misfit> {
        self.add(|data| integer(data, value))
    }

    fn serialize_f32(self, value: f32) -> Result<(), Misfit> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Misfit> {
        self.add(|data| {
            let ColumnData::Numbers(values) = data else { return None };
            values.push(value);
            Some(())
        })
    }

    fn serialize_str(self, value: &str) -> Result<(), Misfit> {
        self.add(|data| {
            let ColumnData::Bytes(bytes, ends) = data else { return None };
            bytes.extend_from_slice(value.as_bytes());
            ends.push(bytes.len());
            Some(())
        })
    }

    fn serialize_none(self) -> Result<(), Misfit> {
        self.values.mark(false).map_err(|name| Misfit(format!("column {name} has no nulls")))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Misfit> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Misfit> {
        self.serialize_str(variant)
    }
}

impl Serializer for RowSerializer<'_> {
    type Ok = ();
    type Error = Misfit;
    type SerializeStruct = Self;

    refuse_compounds!();
    refuse! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_str(&str) -> ();
        serialize_none() -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Misfit> {
        value.serialize(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Misfit> {
        Ok(self)
    }
}
