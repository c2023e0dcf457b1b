//! Copies the stored bytes of some fields of objects of one kind, so that objects can be compared by them without being decoded, and shows a few others
//! on the way.

use super::envelope::Envelope;
use super::stored::find_message;
use super::wire::{self, Reader, Span, WireField};
use super::{Decoder, served};
use crate::encryption::Seal;
use crate::field_set::FieldSet;
use crate::proto::kubernetes::MESSAGES;
use crate::proto::table::{Card, Message, Numbers, Render, Row, Type};
use crate::secret;

/// Messages nested deeper are not followed; no kind that is compared goes as deep.
const MAX_DEPTH: usize = 24;

/// The last second that JSON shows with a year of four digits.
const LAST_SECOND: u64 = 253_402_300_799;

/// The fields by which objects of one kind are compared, and those that are shown.
#[derive(Debug)]
pub struct Excerpt {
    api_version: &'static str,
    kind: &'static str,
    shows_secrets: bool,
    plan: Plan,
}

/// A field that is shown, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown<'v> {
    /// Its place among the paths that [`Decoder::excerpt`] was given.
    pub field: usize,
    /// Where the message begins that has it; it tells the items of a list apart.
    pub within: usize,
    /// What it holds.
    pub value: ShownValue<'v>,
}

/// What a shown field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum ShownValue<'v> {
    /// A text, or one of a list of texts, or the key of an entry of a map.
    Text(&'v str),
    /// A time, in seconds since 1970.
    Time(i64),
}

/// What becomes of the fields of one message.
#[derive(Debug)]
struct Plan {
    /// By field number.
    fields: Vec<Take>,
    /// The messages that [`Take::Part`] refers to.
    parts: Vec<Plan>,
}

/// What becomes of a field.
#[derive(Clone, Copy, Debug)]
enum Take {
    /// The tables or the release do not have it: objects with it have no excerpt.
    Unknown,
    /// It is passed over.
    Skip,
    /// It is copied.
    Whole,
    /// Some fields of its message are copied.
    Part(usize),
    /// It is shown, and copied if `copied`.
    Show { field: u8, kind: FieldKind, copied: bool },
}

/// Which kind of field is shown.
#[derive(Clone, Copy, Debug)]
enum FieldKind {
    Text,
    Texts,
    Keys,
    Time,
}

/// What is wanted of a message: the members that are copied, and those that are shown, each with what is left of its path.
struct Wanted<'w> {
    copied: Option<&'w FieldSet>,
    shown: Vec<(u8, &'w str)>,
}

impl<'w> Wanted<'w> {
    /// What is wanted of a member.
    fn member(&self, name: &str) -> Self {
        let below = |&(field, path): &(u8, &'w str)| Some((field, path.strip_prefix(name)?.strip_prefix('.')?));
        let copied = self.copied.and_then(|copied| copied.member(name));
        // What is masked depends on it.
        let copied = copied.or((name == "kind" && self.copied.is_some()).then_some(const { &FieldSet::WHOLE }));
        Self { copied, shown: self.shown.iter().filter_map(below).collect() }
    }

    /// The place of a member that is shown itself.
    fn shows(&self, name: &str) -> Option<u8> {
        self.shown.iter().find(|(_, path)| *path == name).map(|&(field, _)| field)
    }
}

impl Decoder {
    /// Returns the excerpt of these members of a kind that shows the texts, times and keys of maps at `shown`, dotted paths; `None` where the kind is
    /// unknown, or changes between storage and client, or one of `shown` cannot be.
    pub fn excerpt(&self, api_version: &'static str, kind: &'static str, copied: &FieldSet, shown: &[&str]) -> Option<Excerpt> {
        let message = find_message(api_version, kind).filter(|_| !served::changes(api_version, kind))?;
        let shown = shown.iter().enumerate().map(|(field, path)| Some((u8::try_from(field).ok()?, *path)));
        let wanted = Wanted { copied: Some(copied), shown: shown.collect::<Option<_>>()? };
        let plan = Planner { minor: self.minor(message) }.message(message, &message.numbers, &wanted, 0)?;
        Some(Excerpt { api_version, kind, shows_secrets: self.shows_secrets, plan })
    }
}

impl Excerpt {
    /// Appends a value's excerpt to `out`, hands what is shown to `show`, and returns whether the value has an excerpt. Values with equal excerpts decode
    /// to objects whose copied members are equal, and have no unknown fields among them. Sealed, damaged and JSON values and Secrets have none; what is
    /// then in `out` means nothing.
    pub fn append<'v>(&self, key: &[u8], value: &'v [u8], out: &mut Vec<u8>, mut show: impl FnMut(Shown<'v>)) -> bool {
        if Seal::is_on(value) || !self.shows_secrets && secret::is_secret_key(key) {
            return false;
        }
        match Envelope::of(value) {
            Ok(Envelope::Protobuf { api_version, kind, object }) if api_version == self.api_version && kind == self.kind => {
                Walk { bytes: value, out, show: &mut show }.message(&self.plan, object).is_some()
            }
            _ => false,
        }
    }
}

/// A walk through one value.
struct Walk<'v, 'o, S> {
    bytes: &'v [u8],
    out: &'o mut Vec<u8>,
    show: &'o mut S,
}

impl<'v, S: FnMut(Shown<'v>)> Walk<'v, '_, S> {
    /// Copies and shows what is wanted of a message. `None`: the value has no excerpt.
    fn message(&mut self, plan: &Plan, span: Span) -> Option<()> {
        let mut reader = Reader::new(self.bytes, span);
        let mut seen = 0_u64;
        while let Some(WireField { at, number, wire_type, tag_end, payload }) = reader.field().ok()? {
            match *plan.fields.get(number as usize)? {
                Take::Unknown => return None,
                Take::Skip => {}
                Take::Whole => self.out.extend_from_slice(&self.bytes[at..payload.end]),
                _ if wire_type != wire::WIRE_LEN => return None,
                Take::Part(part) => {
                    self.out.extend_from_slice(&self.bytes[at..tag_end]);
                    let start = self.out.len();
                    self.out.extend_from_slice(&[0; 4]);
                    self.message(&plan.parts[part], payload)?;
                    let length = u32::try_from(self.out.len() - start).ok()?;
                    self.out[start..start + 4].copy_from_slice(&length.to_le_bytes());
                }
                Take::Show { field, kind, copied } => {
                    let is_repeated = matches!(kind, FieldKind::Texts | FieldKind::Keys);
                    if !is_repeated && seen & 1 << field != 0 {
                        return None;
                    }
                    seen |= 1 << field;
                    let value = self.shown(kind, payload)?;
                    (self.show)(Shown { field: usize::from(field), within: span.start, value });
                    if copied {
                        self.out.extend_from_slice(&self.bytes[at..payload.end]);
                    }
                }
            }
        }
        Some(())
    }

    fn shown(&self, kind: FieldKind, payload: Span) -> Option<ShownValue<'v>> {
        match kind {
            FieldKind::Text | FieldKind::Texts => self.text(payload).map(ShownValue::Text),
            FieldKind::Time => self.time(payload).map(ShownValue::Time),
            FieldKind::Keys => self.key(payload).map(ShownValue::Text),
        }
    }

    fn text(&self, span: Span) -> Option<&'v str> {
        std::str::from_utf8(&self.bytes[span.start..span.end]).ok()
    }

    /// A time that JSON shows in whole seconds after 1970, as all that clusters write are.
    fn time(&self, span: Span) -> Option<i64> {
        let mut reader = Reader::new(self.bytes, span);
        let mut seconds = None;
        while !reader.at_end() {
            match reader.tag().ok()? {
                (1, wire::WIRE_VARINT) if seconds.is_none() => seconds = Some(reader.varint().ok()?),
                (2, wire::WIRE_VARINT) if reader.varint().ok()? == 0 => {}
                _ => return None,
            }
        }
        seconds.filter(|seconds| (1..=LAST_SECOND).contains(seconds)).map(|seconds| seconds as i64)
    }

    /// The key of a map's entry whose value is a text.
    fn key(&self, span: Span) -> Option<&'v str> {
        let mut reader = Reader::new(self.bytes, span);
        let mut key = None;
        while let Some(WireField { number, wire_type, payload, .. }) = reader.field().ok()? {
            match (number, wire_type) {
                (1, wire::WIRE_LEN) if key.is_none() => key = Some(self.text(payload)?),
                (2, wire::WIRE_LEN) => drop(self.text(payload)?),
                _ => return None,
            }
        }
        Some(key.unwrap_or_default())
    }
}

/// Makes the plans of one release.
struct Planner {
    minor: u8,
}

impl Planner {
    /// The plan of a message, or with other `numbers` of a message inlined in it; `None` where something cannot be shown.
    fn message(&self, message: &'static Message, numbers: &Numbers, wanted: &Wanted<'_>, depth: usize) -> Option<Plan> {
        let mut plan = Plan { fields: Vec::with_capacity(numbers.slots.len()), parts: Vec::new() };
        for &slot in numbers.slots {
            let take = match slot {
                0 => Take::Unknown,
                slot @ ..=Numbers::INLINED => self.field(&mut plan, message, message.fills[usize::from(slot) - 1], wanted, depth)?,
                _ if depth == MAX_DEPTH => Take::Unknown,
                slot => {
                    let inlined = &numbers.inlined[usize::from(slot - Numbers::INLINED) - 1];
                    plan.part(self.message(message, inlined, wanted, depth + 1)?)
                }
            };
            plan.fields.push(take);
        }
        Some(plan)
    }

    /// What becomes of the field that fills these rows.
    fn field(&self, plan: &mut Plan, message: &'static Message, rows: u64, wanted: &Wanted<'_>, depth: usize) -> Option<Take> {
        let Some(row) = message.only_row(rows, self.minor) else { return Some(Take::Unknown) };
        let inner = wanted.member(row.name);
        if let Some(field) = wanted.shows(row.name) {
            return Some(Take::Show { field, kind: shown_kind(row)?, copied: inner.copied.is_some() });
        }
        if inner.copied.is_none() && inner.shown.is_empty() { Some(Take::Skip) } else { self.value(plan, row, &inner, depth) }
    }

    /// What becomes of a field that is wanted. Messages are followed even where they are wanted whole, so that no unknown field hides in them.
    fn value(&self, plan: &mut Plan, row: &Row, wanted: &Wanted<'_>, depth: usize) -> Option<Take> {
        let Type::Message(id) = row.ty else { return Some(Take::Whole) };
        if depth == MAX_DEPTH {
            return Some(Take::Unknown);
        }
        let message = &MESSAGES[usize::from(id.0)];
        let whole = Wanted { copied: Some(const { &FieldSet::WHOLE }), shown: Vec::new() };
        let inner = self.message(message, &message.numbers, if row.card == Card::Map { &whole } else { wanted }, depth + 1)?;
        if row.card == Card::Map {
            // An entry: its key and its value.
            return Some(plan.part(Plan { fields: vec![Take::Unknown, Take::Whole, Take::Part(0)], parts: vec![inner] }));
        }
        Some(plan.part(inner))
    }
}

/// As which kind a field is shown; `None` if it cannot be.
fn shown_kind(row: &Row) -> Option<FieldKind> {
    match (row.ty, row.card) {
        (Type::String, Card::One) => Some(FieldKind::Text),
        (Type::String, Card::List) => Some(FieldKind::Texts),
        (Type::String, Card::Map) => Some(FieldKind::Keys),
        (Type::Message(id), Card::One) if MESSAGES[usize::from(id.0)].render == Render::Time => Some(FieldKind::Time),
        _ => None,
    }
}

impl Plan {
    fn part(&mut self, part: Plan) -> Take {
        self.parts.push(part);
        Take::Part(self.parts.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::release::Release;

    const SHOWN_FIELDS: [&str; 4] = ["metadata.name", "metadata.creationTimestamp", "metadata.labels", "metadata.finalizers"];

    /// What is shown of a value, as text, and its excerpt; `None` where it has none.
    fn excerpt_of(value: &[u8]) -> Option<(Vec<String>, Vec<u8>)> {
        let copied = FieldSet::of(["metadata.namespace", "spec.containers"]);
        let excerpt = Decoder::new().excerpt("v1", "Pod", &copied, &SHOWN_FIELDS).expect("a pod has an excerpt");
        let (mut shown, mut out) = (Vec::new(), Vec::new());
        let is_one = excerpt.append(b"/registry/pods/a/p", value, &mut out, |field| {
            let value = match field.value {
                ShownValue::Text(text) => text.to_owned(),
                ShownValue::Time(seconds) => seconds.to_string(),
            };
            shown.push(format!("{} {value}", SHOWN_FIELDS[field.field]));
        });
        is_one.then_some((shown, out))
    }

    fn stored(pod: &Value) -> Vec<u8> {
        crate::encode(pod, Release(36)).unwrap().unwrap()
    }

    fn pod(name: &str, image: &str) -> Vec<u8> {
        stored(&json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "a", "labels": {"app": "web"}, "finalizers": ["f", "g"],
                "creationTimestamp": "2026-11-21T00:00:00Z"},
            "spec": {"containers": [{"name": "c", "image": image}]}}))
    }

    #[test]
    fn shown_fields_are_not_compared() {
        let (shown, one) = excerpt_of(&pod("one", "i")).unwrap();
        let times = "metadata.creationTimestamp 1795219200";
        assert_eq!(shown, ["metadata.name one", times, "metadata.labels app", "metadata.finalizers f", "metadata.finalizers g"]);
        assert_eq!(excerpt_of(&pod("two", "i")).unwrap().1, one);
        assert_ne!(excerpt_of(&pod("one", "j")).unwrap().1, one);
    }

    #[test]
    fn what_json_shows_otherwise_than_it_is_stored_has_no_excerpt() {
        let replaced = |from: &[u8], to: &[u8]| {
            let mut value = pod("one", "i");
            let at = value.windows(from.len()).position(|bytes| bytes == from).expect("it is in the pod");
            value.splice(at..at + from.len(), to.iter().copied());
            value
        };
        let name = b"\x0a\x03one";
        assert!(excerpt_of(&replaced(name, b"\x0a\x03two")).is_some());
        assert!(excerpt_of(&replaced(name, b"\x0a\x03\xff\xff\xff")).is_none(), "no UTF-8");
        assert!(excerpt_of(&replaced(b"\x0a\x03one", b"\x0a\x01o\x0a\x00")).is_none(), "two names");
        let zero = stored(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "creationTimestamp": null}}));
        assert!(excerpt_of(&zero).is_none(), "Go's zero time is null");
        let early = stored(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"creationTimestamp": "1969-12-31T23:59:59Z"}}));
        assert!(excerpt_of(&early).is_none());
    }

    #[test]
    fn what_cannot_be_shown_is_refused() {
        let decoder = Decoder::new();
        for path in ["spec", "spec.priority", "spec.containers"] {
            assert!(decoder.excerpt("v1", "Pod", &FieldSet::of(["metadata.name"]), &[path]).is_none(), "{path}");
        }
    }
}
