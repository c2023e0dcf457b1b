//! Two versions of an object side by side: the newer one's JSON as text, and of both only the members in which they differ. What lies in both byte by
//! byte is equal in JSON, so that neither has to be made of it.

use std::ptr;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::fault::{Fault, Result};
use super::identity::{Identity, Place};
use super::stored::Wire;
use super::typed::FieldValue;
use super::values::{Items, JsonValue};
use super::view::Context;
use super::wire::Span;
use super::{Decoder, decode_count, go_text, text};
use crate::field_set::FieldSet;
use crate::object::Object;
use crate::proto::table::{Message, Row, Type};

/// A version of an object as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct StoredVersion<'v> {
    /// The stored bytes.
    pub value: &'v [u8],
    /// The revision that wrote them, above 0.
    pub mod_revision: i64,
}

/// A version of an object, and in what it differs from the one before.
#[derive(Debug)]
pub struct Apart {
    /// The newer version's JSON, compact, with sorted members, as `serde_json` writes it.
    pub text: Vec<u8>,
    /// The older version; if there is none, the newer one.
    pub before: Object,
    /// The newer version.
    pub after: Object,
}

impl Apart {
    /// Decodes `after`, and of it and `before` only members in which they differ, and those in `kept`: of a list of which only some members are kept
    /// it makes no others, even where it differs. The text is `lean` without `metadata.managedFields`, which `kept` must then have: so they are checked.
    /// Reports nothing.
    ///
    /// `None` where the bytes alone do not show it: values that are sealed, not protobuf, of different kinds, damaged or masked, that the server changes
    /// on their way, or that have unknown fields. [`Decoder::decode`] decodes those too.
    pub fn of(
        decoder: &Decoder,
        key: &[u8],
        before: Option<StoredVersion<'_>>,
        after: StoredVersion<'_>,
        kept: &FieldSet,
        lean: bool,
    ) -> Option<Self> {
        let is_kept = |path: [&str; 2]| kept.member(path[0]).and_then(|member| member.member(path[1])).is_some();
        debug_assert!(!lean || is_kept(["metadata", "managedFields"]), "managedFields would not be checked");
        let plain = |version: StoredVersion<'_>| {
            decode_count::add();
            decoder.plain(key, version.value)
        };
        let wire = plain(after)?;
        let mut text = Vec::with_capacity(after.value.len() * 2);
        let mut context = wire.context(decoder, after.value);
        let identity = Identity { is_lean: lean, ..wire.identity(after.mod_revision) };
        text::append_object(&mut context, wire.message, wire.object, &identity, &mut text).ok()?;
        go_text::undo_go_escapes(&mut text);
        let side = |context, object, version: StoredVersion<'_>| Side { context, object, revision: version.mod_revision };
        let old = match before {
            None => side(wire.context(decoder, after.value), wire.object, after),
            Some(before) => {
                let old = plain(before).filter(|old| old.is_of_kind(&wire))?;
                side(old.context(decoder, before.value), old.object, before)
            }
        };
        let [before, after] = Sides { old, new: side(context, wire.object, after) }.object(&wire, kept)?;
        Some(Self { text, before: before.into(), after: after.into() })
    }
}

struct Side<'v> {
    context: Context<'v>,
    object: Span,
    revision: i64,
}

impl<'v> Side<'v> {
    /// The JSON of a member, if it is shown; only what is wanted of it.
    fn value(&mut self, shown: JsonValue<'v>, wanted: Option<&FieldSet>) -> Result<Option<Value>> {
        if matches!(shown, JsonValue::Hidden) {
            return Ok(None);
        }
        let wanted = wanted.filter(|wanted| !wanted.is_whole());
        let field = FieldValue { context: &mut self.context, shown, place: Place::Elsewhere, wanted };
        Value::deserialize(field).map(Some).map_err(|unfit| unfit.0)
    }
}

struct Sides<'v> {
    old: Side<'v>,
    new: Side<'v>,
}

/// The members made of both versions of a message.
type MemberPair = [Map<String, Value>; 2];

impl<'v> Sides<'v> {
    /// What is made of both objects; `None` where one is damaged or has fields that are not shown.
    fn object(mut self, wire: &Wire, kept: &FieldSet) -> Option<[Value; 2]> {
        let spans = [self.old.object, self.new.object];
        let identity = Identity { is_lean: false, ..wire.identity(0) };
        let mut made = self.members(wire.message, spans, Place::Root(&identity), Some(kept)).ok()?;
        for members in &mut made {
            members.insert("kind".to_owned(), identity.kind.into());
        }
        let is_known = self.old.context.unknown.is_empty() && self.new.context.unknown.is_empty();
        is_known.then(|| made.map(Value::Object))
    }

    fn members(&mut self, message: &'static Message, spans: [Span; 2], place: Place<'_>, kept: Option<&FieldSet>) -> Result<MemberPair> {
        let views = [self.old.context.open(message, spans[0])?, self.new.context.open(message, spans[1])?];
        let mut rows = views[0].or(views[1]);
        let mut made = MemberPair::default();
        while let Some(row) = rows.next_row(message) {
            if matches!(row.ty, Type::ApiVersion | Type::Kind) {
                continue;
            }
            if matches!(place, Place::Metadata(_)) && row.name == "resourceVersion" {
                for ((side, view), made) in [(&mut self.old, views[0]), (&mut self.new, views[1])].into_iter().zip(&mut made) {
                    if !side.context.is_absent(view, row) {
                        // What is stored is not shown, but a value that does not fit the field is still damage.
                        side.context.member(view, message, row)?;
                        made.insert(row.name.to_owned(), side.revision.to_string().into());
                    }
                }
                continue;
            }
            let kept = kept.and_then(|kept| kept.member(row.name));
            let below = place.of_member(row.name);
            let is_equal = self.new.context.has_equal(views[1], &self.old.context, views[0], row);
            if !is_equal || kept.is_some() || matches!(below, Place::Metadata(_)) {
                let shown = [self.old.context.member(views[0], message, row)?, self.new.context.member(views[1], message, row)?];
                self.member(row, shown, below, kept, &mut made)?;
            }
        }
        self.old.context.close(views[0]);
        self.new.context.close(views[1]);
        Ok(made)
    }

    /// Makes a member that is kept, or in which the versions differ.
    fn member(
        &mut self,
        row: &'static Row,
        shown: [JsonValue<'v>; 2],
        place: Place<'_>,
        kept: Option<&FieldSet>,
        made: &mut MemberPair,
    ) -> Result<()> {
        let members = match &shown {
            [JsonValue::Struct(message, old), JsonValue::Struct(other, new)]
                if ptr::eq(*message, *other) && !kept.is_some_and(FieldSet::is_whole) =>
            {
                self.members(message, [*old, *new], place, kept)?.map(|members| Some(Value::Object(members)))
            }
            // An object without metadata is none that a server wrote.
            _ if matches!(place, Place::Metadata(_)) => return Err(Fault::new("no metadata", 0)),
            [JsonValue::List(ty, old), JsonValue::List(other, new)] if ty == other && kept.is_some_and(|kept| !kept.is_whole()) => {
                self.items(*ty, [*old, *new], kept)?.map(|items| Some(Value::Array(items)))
            }
            _ => {
                let [old, new] = shown;
                [self.old.value(old, kept)?, self.new.value(new, kept)?]
            }
        };
        for (made, member) in made.iter_mut().zip(members) {
            made.extend(member.map(|member| (row.name.to_owned(), member)));
        }
        Ok(())
    }

    /// Makes what is kept of the items of a list. An item that lies in both versions at the same place, byte by byte, is looked at once.
    fn items(&mut self, ty: Type, [mut old, mut new]: [Items; 2], kept: Option<&FieldSet>) -> Result<[Vec<Value>; 2]> {
        let mut made = [Vec::new(), Vec::new()];
        loop {
            let shown = [self.old.context.next_item(ty, &mut old)?, self.new.context.next_item(ty, &mut new)?];
            let is_equal = match &shown {
                [JsonValue::Hidden, JsonValue::Hidden] => return Ok(made),
                [JsonValue::Struct(_, old), JsonValue::Struct(_, new)] => self.old.context.slice(*old) == self.new.context.slice(*new),
                _ => false,
            };
            let [old, new] = shown;
            let new = self.new.value(new, kept)?;
            self.old.context.sound_json = self.new.context.sound_json;
            let old = if is_equal { new.clone() } else { self.old.value(old, kept)? };
            made[0].extend(old);
            made[1].extend(new);
        }
    }
}
