//! The shape of the tables in `kubernetes.rs`: for each message what its JSON holds, in the order of its JSON, and where on the wire it is found.

/// A message of Kubernetes: an index into [`super::kubernetes::MESSAGES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageId(pub u16);

/// What Kubernetes' JSON of a message looks like.
#[derive(Debug)]
#[non_exhaustive]
pub struct Message {
    /// The full protobuf name, for example `k8s.io.api.core.v1.Pod`.
    pub name: &'static str,
    /// The newest release that has the message, a minor of 1.x.
    pub last: u8,
    /// How its JSON is written.
    pub render: Render,
    /// Which slot a field number fills.
    pub numbers: Numbers,
    /// By slot, which rows it fills: bits in the order of the rows. There are as many as different fields on the wire, those of inlined
    /// messages included.
    pub fills: &'static [u64],
    /// Which rows are written even where their slot is empty, or have none.
    pub always: u64,
    /// The members of its JSON, sorted by name. One field has several rows where its facts changed between releases.
    pub rows: &'static [Row],
}

impl Message {
    /// The row among these, bits in their order, that holds in a release, if exactly one does.
    #[inline]
    pub(crate) fn only_row(&self, mut rows: u64, minor: u8) -> Option<&'static Row> {
        let mut found = None;
        while rows != 0 {
            let row = &self.rows[rows.trailing_zeros() as usize];
            rows &= rows - 1;
            if row.holds_in(minor) && found.replace(row).is_some() {
                return None;
            }
        }
        found
    }
}

/// Field numbers to slots.
#[derive(Debug)]
pub struct Numbers {
    /// By field number: 0 is unknown, `n` up to [`Numbers::INLINED`] is slot `n - 1`, more is the inlined message `n - 1 - INLINED`.
    pub slots: &'static [u8],
    /// Messages whose members stand in this one's JSON.
    pub inlined: &'static [Numbers],
}

impl Numbers {
    /// No message has as many slots.
    pub const INLINED: u8 = 200;
}

/// One member of a message's JSON.
#[derive(Debug)]
#[non_exhaustive]
pub struct Row {
    /// The JSON name as it is written: `,"name":`.
    pub key: &'static str,
    /// The JSON name.
    pub name: &'static str,
    /// Which slot of the message holds it.
    pub slot: u8,
    /// Whether there are many.
    pub card: Card,
    /// What one of them is.
    pub ty: Type,
    /// When it is written.
    pub emit: Emit,
    /// The first release of which the row is true, 0 for ever since.
    pub first: u8,
    /// The last release of which the row is true, 255 for still.
    pub last: u8,
}

impl Row {
    /// Whether the row is true of a release.
    #[inline]
    pub fn holds_in(&self, minor: u8) -> bool {
        self.first <= minor && minor <= self.last
    }
}

/// Whether a field holds one value or many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Card {
    /// One value.
    One,
    /// A list.
    List,
    /// A map from strings.
    Map,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Type {
    /// true or false.
    Bool,
    /// 32 bits, signed.
    Int32,
    /// 64 bits, signed.
    Int64,
    /// A floating point number.
    Double,
    /// Text.
    String,
    /// Bytes, base64 in JSON.
    Bytes,
    /// A message.
    Message(MessageId),
    /// `apiVersion`, not on the wire.
    ApiVersion,
    /// `kind`, not on the wire.
    Kind,
}

/// When a member is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Emit {
    /// Always; its zero value where it is absent.
    Always,
    /// Always; null where it is absent.
    AlwaysOrNull,
    /// If it is on the wire.
    IfSet,
    /// If it is neither empty nor zero.
    IfNotEmpty,
}

/// How a message's JSON is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Render {
    /// An object with the members of the rows.
    Struct,
    /// RFC 3339 in whole seconds, null if unset.
    Time,
    /// RFC 3339 with six digits, null if unset.
    MicroTime,
    /// Go's notation, `1h30m0s`.
    Duration,
    /// The string as stored, `0` if empty.
    Quantity,
    /// A number or a string.
    IntOrString,
    /// JSON or CBOR inside, null if empty.
    RawJson,
    /// A bare array: the one list the message holds.
    List,
    /// A schema, else a bool.
    SchemaOrBool,
    /// An array of schemas, else a schema, else null.
    SchemaOrArray,
    /// An array of strings, else a schema, else null.
    SchemaOrStrings,
    /// A bare object: the one map the message holds.
    Fields,
}

/// A message that is an object of its own, in [`super::kubernetes::ROOTS`].
#[derive(Debug)]
#[non_exhaustive]
pub struct RootRow {
    /// For example `apps/v1`.
    pub api_version: &'static str,
    /// For example `Deployment`.
    pub kind: &'static str,
    /// Its message.
    pub message: MessageId,
}
