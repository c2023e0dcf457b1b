//! `proto/kubernetes` and `proto/openshift` to the tables of `crates/kube/src/proto/kubernetes.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use prost_reflect::{DescriptorPool, DynamicMessage, ExtensionDescriptor, FieldDescriptor, Kind, MessageDescriptor, ReflectMessage, Value};

/// The options of `go.proto`.
struct Options {
    group: ExtensionDescriptor,
    go_struct: ExtensionDescriptor,
    go: ExtensionDescriptor,
}

/// One row of a message's JSON.
struct Row {
    json: String,
    slot: usize,
    card: &'static str,
    ty: String,
    emit: &'static str,
    first: u32,
    last: u32,
}

impl Row {
    /// The row as Rust text.
    fn text(&self) -> String {
        let Self { json, slot, card, ty, emit, first, last } = self;
        match (first, last) {
            (0, 255) => format!("row(\",\\\"{json}\\\":\", {slot}, {card}, {ty}, {emit})"),
            _ => format!("row_in(\",\\\"{json}\\\":\", {slot}, {card}, {ty}, {emit}, {first}, {last})"),
        }
    }
}

/// A message's field numbers and rows, those of inlined messages included.
#[derive(Default)]
struct Shape {
    slots: usize,
    rows: Vec<Row>,
}

impl Shape {
    /// Which rows are looked at always, and which for each slot that is there: bits by their place in `rows`.
    fn masks(&self, name: &str) -> (u64, Vec<u64>) {
        assert!(self.rows.len() <= 64, "{name} has too many members");
        let (mut always, mut fills) = (0, vec![0; self.slots]);
        for (index, row) in self.rows.iter().enumerate() {
            let identity = row.ty == "ApiVersion" || row.ty == "Kind";
            if identity || row.emit.starts_with("Always") {
                always |= 1 << index;
            }
            if !identity {
                fills[row.slot] |= 1 << index;
            }
        }
        (always, fills)
    }
}

/// What of a Go field depends on the release.
struct Facts {
    json: String,
    kind: Kind,
    pointer: bool,
    omitempty: bool,
    omitzero: bool,
}

/// What stands before the tables.
const TABLES_HEAD: &str = r#"//! The JSON of every message of Kubernetes and OpenShift, one a line, and the messages of their kinds, one API version a line. Generated from
//! `proto/kubernetes` and `proto/openshift` by `tests/contracts/codegen`; do not edit.

use super::table::{Card, Card::*, Emit, Emit::*, Message as M, MessageId, Numbers, Render, RootRow, Row, Type, Type::*};

/// A member as every release has it.
const fn row(key: &'static str, slot: u8, card: Card, ty: Type, emit: Emit) -> Row {
    row_in(key, slot, card, ty, emit, 0, 255)
}

/// A member as some releases have it.
const fn row_in(key: &'static str, slot: u8, card: Card, ty: Type, emit: Emit, first: u8, last: u8) -> Row {
    Row { key, name: key.split_at(key.len() - 2).0.split_at(2).1, slot, card, ty, emit, first, last }
}

const fn m(id: u16) -> Type {
    Message(MessageId(id))
}

const fn root(api_version: &'static str, kind: &'static str, id: u16) -> RootRow {
    RootRow { api_version, kind, message: MessageId(id) }
}

"#;

/// The Rust text of all tables.
pub(crate) fn tables(pool: &DescriptorPool) -> String {
    let options = Options {
        group: pool.get_extension_by_name("group").unwrap(),
        go_struct: pool.get_extension_by_name("go_struct").unwrap(),
        go: pool.get_extension_by_name("go").unwrap(),
    };
    let messages: BTreeMap<String, MessageDescriptor> = pool
        .all_messages()
        .filter(|m| ["k8s.", "openshift."].iter().any(|of| m.full_name().starts_with(of)) && !m.is_map_entry())
        .map(|m| (m.full_name().to_owned(), m))
        .collect();
    let ids: BTreeMap<&str, usize> = messages.keys().enumerate().map(|(id, name)| (name.as_str(), id)).collect();
    let mut text = TABLES_HEAD.to_owned();
    writeln!(text, "/// Every message, sorted by name.\npub static MESSAGES: [M; {}] = [", messages.len()).unwrap();
    for message in messages.values() {
        write_message(&mut text, &options, &ids, message);
    }
    text.push_str("];\n\n");
    write_roots(&mut text, &options, &ids, &messages);
    text
}

fn write_message(text: &mut String, options: &Options, ids: &BTreeMap<&str, usize>, message: &MessageDescriptor) {
    let go = extension(&message.options(), &options.go_struct);
    let mut shape = Shape::default();
    let numbers = collect(options, ids, message, (0, 255), &mut shape);
    if flag(&go, "top_level") {
        for (json, ty) in [("apiVersion", "ApiVersion"), ("kind", "Kind")] {
            shape.rows.push(Row { json: json.to_owned(), slot: 0, card: "One", ty: ty.to_owned(), emit: "IfSet", first: 0, last: 255 });
        }
    }
    shape.rows.sort_by(|a, b| (a.json.as_bytes(), a.first).cmp(&(b.json.as_bytes(), b.first)));
    for pair in shape.rows.windows(2) {
        let overlap = pair[0].json == pair[1].json && pair[0].last >= pair[1].first;
        assert!(!overlap, "{} has {} twice in one release", message.full_name(), pair[0].json);
    }
    let render = render_name(go.as_ref());
    let last = number(&go, "last").unwrap_or(37);
    let (always, fills) = shape.masks(message.full_name());
    let rows: Vec<String> = shape.rows.iter().map(Row::text).collect();
    writeln!(
        text,
        "    M {{ name: \"{}\", last: {last}, render: Render::{render}, numbers: {numbers}, fills: &{fills:?}, always: {always}, rows: &[{}] }},",
        message.full_name(),
        rows.join(", "),
    )
    .unwrap();
}

/// Adds the rows of `message` to `shape` and returns its [`Numbers`] as Rust text.
fn collect(options: &Options, ids: &BTreeMap<&str, usize>, message: &MessageDescriptor, within: (u32, u32), shape: &mut Shape) -> String {
    let mut by_number = vec![0usize; message.fields().map(|f| f.number() as usize + 1).max().unwrap_or(0)];
    let mut inlined = Vec::new();
    for field in message.fields() {
        let go = extension(&field.options(), &options.go);
        let first = number(&go, "first").unwrap_or(0).max(within.0);
        let last = number(&go, "last").unwrap_or(255).min(within.1);
        if flag(&go, "inline") {
            let Kind::Message(inner) = field.kind() else { panic!("{} is no message", field.full_name()) };
            inlined.push(collect(options, ids, &inner, (first, last), shape));
            by_number[field.number() as usize] = 200 + inlined.len();
            continue;
        }
        let slot = shape.slots;
        shape.slots += 1;
        assert!(shape.slots < 200, "{} has too many fields", message.full_name());
        by_number[field.number() as usize] = slot + 1;
        let mut from = first;
        for (facts, until) in variants(&field, go.as_ref(), last) {
            let (card, ty, emit) = row_facts(options, ids, &field, &facts);
            match shape.rows.last_mut() {
                Some(row) if row.slot == slot && (&row.json, row.card, &row.ty, row.emit) == (&facts.json, card, &ty, emit) => {
                    row.last = until
                }
                _ => shape.rows.push(Row { json: facts.json, slot, card, ty, emit, first: from, last: until }),
            }
            from = until + 1;
        }
    }
    format!("Numbers {{ slots: &{by_number:?}, inlined: &[{}] }}", inlined.join(", "))
}

/// The facts of a field, release by release, each with the last release of which they are true.
fn variants(field: &FieldDescriptor, go: Option<&DynamicMessage>, last: u32) -> Vec<(Facts, u32)> {
    let current = || Facts {
        json: field.json_name().to_owned(),
        kind: field.kind(),
        pointer: go.is_some_and(|go| bool_of(go, "pointer").unwrap_or(false)),
        omitempty: go.is_some_and(|go| bool_of(go, "omitempty").unwrap_or(false)),
        omitzero: go.is_some_and(|go| bool_of(go, "omitzero").unwrap_or(false)),
    };
    let mut all = Vec::new();
    let was = go.and_then(|go| go.get_field_by_name("was").map(|was| was.into_owned()));
    for old in was.as_ref().and_then(Value::as_list).unwrap_or_default() {
        let old = old.as_message().unwrap();
        let mut facts = current();
        if old.has_field_by_name("json") {
            facts.json = old.get_field_by_name("json").unwrap().as_str().unwrap().to_owned();
        }
        if old.has_field_by_name("type") {
            let name = old.get_field_by_name("type").unwrap().as_str().unwrap().to_owned();
            facts.kind = Kind::Message(field.parent_pool().get_message_by_name(&name).unwrap_or_else(|| panic!("no message {name}")));
        }
        facts.pointer = bool_of(old, "pointer").unwrap_or(facts.pointer);
        facts.omitempty = bool_of(old, "omitempty").unwrap_or(facts.omitempty);
        facts.omitzero = bool_of(old, "omitzero").unwrap_or(facts.omitzero);
        all.push((facts, old.get_field_by_name("last").unwrap().as_u32().unwrap()));
    }
    all.push((current(), last));
    all
}

/// Cardinality, type and emission of a field, as Rust text.
fn row_facts(
    options: &Options,
    ids: &BTreeMap<&str, usize>,
    field: &FieldDescriptor,
    facts: &Facts,
) -> (&'static str, String, &'static str) {
    let card = if field.is_map() {
        "Map"
    } else if field.is_list() {
        "List"
    } else {
        "One"
    };
    let kind = match (&facts.kind, field.is_map()) {
        (Kind::Message(entry), true) => entry.map_entry_value_field().kind(),
        (kind, _) => kind.clone(),
    };
    let mut is_struct = false;
    let mut is_slice = card != "One";
    let ty = match &kind {
        Kind::Bool => "Bool".to_owned(),
        Kind::Int32 => "Int32".to_owned(),
        Kind::Int64 => "Int64".to_owned(),
        Kind::Double => "Double".to_owned(),
        Kind::String => "String".to_owned(),
        Kind::Bytes => {
            is_slice = true;
            "Bytes".to_owned()
        }
        Kind::Message(inner) => {
            is_slice |= ["List", "Fields"].contains(&&*render_name(extension(&inner.options(), &options.go_struct).as_ref()));
            is_struct = !is_slice;
            format!("m({})", ids[inner.full_name()])
        }
        other => panic!("{} has type {other:?}", field.full_name()),
    };
    let emit = match facts {
        Facts { omitzero: true, .. } => "IfNotEmpty",
        Facts { pointer: true, omitempty: true, .. } => "IfSet",
        Facts { pointer: true, .. } => "AlwaysOrNull",
        Facts { omitempty: true, .. } if !is_struct => "IfNotEmpty",
        _ if is_slice => "AlwaysOrNull",
        _ => "Always",
    };
    (card, ty, emit)
}

fn write_roots(text: &mut String, options: &Options, ids: &BTreeMap<&str, usize>, messages: &BTreeMap<String, MessageDescriptor>) {
    let mut kinds = BTreeSet::new();
    for message in messages.values() {
        let file = message.parent_file();
        if !file.options().has_extension(&options.group) || !flag(&extension(&message.options(), &options.go_struct), "top_level") {
            continue;
        }
        let group = file.options().get_extension(&options.group).as_str().unwrap().to_owned();
        let version = file.package_name().rsplit('.').next().unwrap().to_owned();
        let api_version = if group.is_empty() { version } else { format!("{group}/{version}") };
        kinds.insert((api_version, message.name().to_owned(), ids[message.full_name()]));
    }
    text.push_str("/// Every message that is an object, sorted by API version and kind.\npub static ROOTS: &[RootRow] = &[\n");
    let kinds: Vec<_> = kinds.into_iter().collect();
    for version in kinds.chunk_by(|a, b| a.0 == b.0) {
        let roots: Vec<String> = version.iter().map(|(version, kind, id)| format!("root(\"{version}\", \"{kind}\", {id}),")).collect();
        writeln!(text, "    {}", roots.join(" ")).unwrap();
    }
    text.push_str("];\n");
}

fn render_name(go: Option<&DynamicMessage>) -> String {
    let value = go.map_or(0, |go| go.get_field_by_name("render").unwrap().as_enum_number().unwrap());
    let Some(Kind::Enum(all)) = go.map(|go| go.descriptor().get_field_by_name("render").unwrap().kind()) else {
        return "Struct".to_owned();
    };
    let name = all.get_value(value).unwrap().name().to_owned();
    name.split('_').map(|word| word[..1].to_owned() + &word[1..].to_lowercase()).collect()
}

fn extension(options: &DynamicMessage, extension: &ExtensionDescriptor) -> Option<DynamicMessage> {
    options.has_extension(extension).then(|| options.get_extension(extension).as_message().unwrap().clone())
}

fn bool_of(message: &DynamicMessage, name: &str) -> Option<bool> {
    message.has_field_by_name(name).then(|| message.get_field_by_name(name).unwrap().as_bool().unwrap())
}

fn flag(go: &Option<DynamicMessage>, name: &str) -> bool {
    go.as_ref().and_then(|go| bool_of(go, name)).unwrap_or(false)
}

fn number(go: &Option<DynamicMessage>, name: &str) -> Option<u32> {
    let go = go.as_ref()?;
    go.has_field_by_name(name).then(|| go.get_field_by_name(name).unwrap().as_u32().unwrap())
}
