//! kine's table as text, from PostgreSQL or MySQL: CSV or tab-separated values with a header, or a JSON object a line. Bytes are hexadecimal
//! digits, with PostgreSQL's `\x` before them or without.

use std::io;

use serde_json::{Map, Value};

use super::arena::Whose;
use super::finding::Finding;
use super::row::Columns;
use super::rows::{Row, RowReader};
use super::sqlite::Payload;

/// The columns that tell the table from others.
const KINE_COLUMNS: [&str; 9] = ["id", "name", "created", "deleted", "create_revision", "prev_revision", "lease", "value", "old_value"];

/// In which form the table was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Form {
    /// Values between separators, a header before them.
    Separated(u8),
    /// JSON objects.
    Lines,
}

/// In which form bytes are kine's table; `None` where they are not.
pub(in super::super) fn form(bytes: &[u8]) -> Option<Form> {
    let line = bytes.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
    if line.trim_ascii_start().starts_with(b"{") {
        let object: Map<String, Value> = serde_json::from_slice(line).ok()?;
        return KINE_COLUMNS.iter().all(|&column| object.contains_key(column)).then_some(Form::Lines);
    }
    let separator = if line.contains(&b'\t') { b'\t' } else { b',' };
    let named = |column: &str| line.split(|&byte| byte == separator).any(|name| unquoted(name) == column.as_bytes());
    KINE_COLUMNS.iter().all(|column| named(column)).then_some(Form::Separated(separator))
}

/// Whether text begins as kine's table does. Its first row may be longer than what is there of it: the columns before its values tell.
pub(in super::super) fn begins_as_table(bytes: &[u8]) -> bool {
    const PROBED_BYTES: usize = 64 << 10;
    let head = &bytes[..bytes.len().min(PROBED_BYTES)];
    let first = head.trim_ascii_start();
    if head.contains(&0) || !first.starts_with(b"{") || first.contains(&b'\n') {
        return !head.contains(&0) && form(head).is_some();
    }
    let has = |column: &str| memchr::memmem::find(first, format!("\"{column}\"").as_bytes()).is_some();
    form(head).is_some() || KINE_COLUMNS[..7].iter().copied().all(has)
}

fn unquoted(name: &[u8]) -> &[u8] {
    let name = name.trim_ascii();
    name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")).unwrap_or(name)
}

/// Reads the rows, ascending, and what is wrong with others.
pub(super) fn rows(bytes: &[u8], form: Form, reader: &mut RowReader) -> io::Result<(Vec<Row>, Vec<Finding>)> {
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    let mut add = |line: u64, fields: Result<RowTexts, String>| {
        match fields.and_then(|fields| fields.row()) {
            Ok((columns, payload)) => rows.push(reader.row(columns, &Payload::Joined(payload), (Whose::Arena, 0), |_| true)?),
            Err(problem) => problems.push(Finding::new([], format!("line {line} cannot be read: {problem}"))),
        }
        io::Result::Ok(())
    };
    match form {
        Form::Separated(separator) => {
            let mut table = csv::ReaderBuilder::new().delimiter(separator).from_reader(bytes);
            let names = table.headers().cloned().unwrap_or_default();
            let mut record = csv::StringRecord::new();
            loop {
                let line = table.position().line();
                match table.read_record(&mut record) {
                    Ok(false) => break,
                    Ok(true) => {
                        add(line, Ok(RowTexts::of(|column| record.get(names.iter().position(|name| name == column)?).map(str::to_owned))))?
                    }
                    Err(error) => add(line, Err(reason(&error).to_owned()))?,
                }
            }
        }
        Form::Lines => {
            for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty()) {
                let object = serde_json::from_slice::<Map<String, Value>>(line).map_err(|_| "no JSON object".to_owned());
                add(number as u64 + 1, object.map(|object| RowTexts::of(|column| text(object.get(column)?))))?;
            }
        }
    }
    rows.sort_by_key(|row| row.columns.id);
    rows.dedup_by(|row, first| {
        let is_twice = row.columns.id == first.columns.id;
        if is_twice {
            problems.push(Finding::new([row.columns.id], format!("revision {} is there twice", row.columns.id)));
        }
        is_twice
    });
    Ok((rows, problems))
}

/// Why a line is not a row, in words that repeat nothing of it.
fn reason(error: &csv::Error) -> &'static str {
    match error.kind() {
        csv::ErrorKind::Utf8 { .. } => "not UTF-8",
        csv::ErrorKind::UnequalLengths { .. } => "another number of columns than the first line has",
        _ => "not CSV",
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(u8::from(*flag).to_string()),
        _ => None,
    }
}

/// The texts of a row, in the order of [`KINE_COLUMNS`]; `None` for NULL.
struct RowTexts([Option<String>; KINE_COLUMNS.len()]);

impl RowTexts {
    fn of(field: impl Fn(&str) -> Option<String>) -> Self {
        // mysql prints NULL, psql nothing at all.
        Self(KINE_COLUMNS.map(|column| field(column).filter(|text| !text.is_empty() && text != "NULL")))
    }

    /// The columns, and the payload that their places are of.
    fn row(&self) -> Result<(Columns, Vec<u8>), String> {
        let [id, name, created, deleted, create_revision, prev_revision, lease, value, old_value] = &self.0;
        let number = |text: &Option<String>| {
            text.as_ref().map_or(Ok(0), |text| text.parse::<i64>().map_err(|_| "a column of numbers holds something else".to_owned()))
        };
        let flag = |text: &Option<String>| match number(text)? {
            number @ (0 | 1) => Ok(number == 1),
            _ => Err("a flag is not 0 or 1".to_owned()),
        };
        let bytes =
            |text: &Option<String>| text.as_deref().map_or(Some(Vec::new()), hexadecimal).ok_or("a value is not hexadecimal".to_owned());
        let mut payload = name.clone().unwrap_or_default().into_bytes();
        let mut add = |bytes: &[u8]| {
            payload.extend_from_slice(bytes);
            payload.len() - bytes.len()..payload.len()
        };
        let (value, old) = (add(&bytes(value)?), add(&bytes(old_value)?));
        let columns = Columns {
            id: number(id)?,
            name: 0..value.start,
            created: flag(created)?,
            deleted: flag(deleted)?,
            create_revision: number(create_revision)?,
            prev_revision: number(prev_revision)?,
            lease: number(lease)?,
            value,
            old_value: old_value.as_ref().map(|_| old),
        };
        let is_plausible = columns.is_plausible(&payload[columns.name.clone()]);
        if is_plausible { Ok((columns, payload)) } else { Err("its numbers contradict each other".to_owned()) }
    }
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x").unwrap_or(text).as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = digits.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?));
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_known_by_its_columns() {
        let header = KINE_COLUMNS.join(",");
        assert_eq!(form(header.as_bytes()), Some(Form::Separated(b',')));
        assert_eq!(form(format!("\"{}\"\n1", KINE_COLUMNS.join("\"\t\"")).as_bytes()), Some(Form::Separated(b'\t')));
        assert_eq!(form(header.replace("old_value", "value").as_bytes()), None);
        let object: Map<String, Value> = KINE_COLUMNS.iter().map(|&column| (column.to_owned(), Value::Null)).collect();
        assert_eq!(form(serde_json::to_string(&object).unwrap().as_bytes()), Some(Form::Lines));
        assert_eq!(form(br#"{"kind": "List", "items": []}"#), None);
    }

    #[test]
    fn bytes_are_hexadecimal() {
        assert_eq!(hexadecimal("\\x00ffA0"), Some(vec![0, 255, 160]));
        assert_eq!(hexadecimal("6b"), Some(vec![0x6b]));
        assert_eq!((hexadecimal("6"), hexadecimal("6g")), (None, None));
    }
}
