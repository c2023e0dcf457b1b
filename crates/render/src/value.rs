//! Short text for a value of an object, for lists of changes.

use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::visible::visible;
use ketcd_history::diff::{FieldPath, Segment};

/// Returns `value`, which lies at `path`, in a few words: a condition as its status and reason, a container's state as its name and reason.
pub fn brief(path: &FieldPath, value: &Value) -> String {
    match path.0.as_slice() {
        [.., Segment::Field(list), Segment::Item(_)] if list == "conditions" => condition(value),
        [.., Segment::Field(list), Segment::Item(_)] if list.ends_with("ontainerStatuses") => state(&value["state"]),
        [.., Segment::Field(list), Segment::Item(_), Segment::Field(name)]
            if list.ends_with("ontainerStatuses") && (name == "state" || name == "lastState") =>
        {
            state(value)
        }
        [.., Segment::Field(list), Segment::Item(_)] if list == "taints" => {
            let text = |field: &str| value[field].as_str().unwrap_or_default();
            visible(&format!("{}={}:{}", text("key"), text("value"), text("effect")).replace("=:", ":")).into_owned()
        }
        _ => plain(value),
    }
}

/// `True`, or `False Unschedulable: 0/4 nodes are available…`.
pub fn condition(condition: &Value) -> String {
    let text = |field: &str| condition[field].as_str().filter(|text| !text.is_empty());
    let mut words = text("status").unwrap_or("?").to_owned();
    if let Some(reason) = text("reason") {
        words += &format!(" {reason}");
    }
    if let Some(message) = text("message") {
        words += &format!(": {message}");
    }
    visible(&words).into_owned()
}

/// `waiting: ContainerCreating`, `running`, `terminated: Error (exit 1)`.
pub fn state(state: &Value) -> String {
    let Some((name, detail)) = state.as_object().and_then(|states| states.iter().next()) else { return "none".to_owned() };
    match (detail["reason"].as_str(), detail["exitCode"].as_i64()) {
        (Some(reason), Some(code)) => visible(&format!("{name}: {reason} (exit {code})")).into_owned(),
        (None, Some(code)) => visible(&format!("{name} (exit {code})")).into_owned(),
        (Some(reason), None) => visible(&format!("{name}: {reason}")).into_owned(),
        (None, None) => visible(name).into_owned(),
    }
}

/// Text as it is, structures without quotes: `{cpu: 100m, memory: 1Gi}`.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) => visible(text).into_owned(),
        Value::Array(items) => format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            format!("{{{}}}", map.iter().map(|(name, value)| format!("{}: {}", visible(name), plain(value))).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// `text`, followed by as many blanks as make it `width` columns wide, however many those are.
pub fn padded(text: &str, width: usize) -> String {
    let blanks = width.saturating_sub(columns(text));
    format!("{text}{}", " ".repeat(blanks))
}

/// Cuts `text` to `width` columns, the last one an ellipsis.
pub fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    format!("{}…", beginning(text, width.saturating_sub(1)))
}

/// Returns as much of the beginning of `text` as fits into `width` columns.
pub fn beginning(text: &str, width: usize) -> &str {
    let mut taken = 0;
    let end = text.char_indices().find(|(_, letter)| {
        taken += letter.width().unwrap_or(0);
        taken > width
    });
    end.map_or(text, |(end, _)| &text[..end])
}

/// Breaks `text` at spaces into lines of at most `width` columns; a word longer than that is broken where the line ends. Nothing is lost.
pub fn broken(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    for (place, word) in text.split(' ').enumerate() {
        let line = lines.last_mut().filter(|line| place > 0 && columns(line) + 1 + columns(word) <= width);
        match line {
            Some(line) => *line += &format!(" {word}"),
            None if place > 0 => lines.push(word.to_owned()),
            None => lines[0] += word,
        }
        while let Some(last) = lines.pop() {
            let fits = beginning(&last, width);
            // A letter may be wider than the line.
            let end = if fits.is_empty() { last.chars().next().map_or(0, char::len_utf8) } else { fits.len() };
            let rest = last[end..].to_owned();
            lines.push(last[..end].to_owned());
            if rest.is_empty() {
                break;
            }
            lines.push(rest);
        }
    }
    lines
}

/// Returns how many columns of a terminal `text` takes: letters of East Asian scripts take two, combining marks none.
pub fn columns(text: &str) -> usize {
    text.width()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_shown_in_a_few_words() {
        assert_eq!(state(&json!({"terminated": {"reason": "Error", "exitCode": 1}})), "terminated: Error (exit 1)");
        assert_eq!(condition(&json!({"status": "False", "reason": "X", "message": "y"})), "False X: y");
        assert_eq!(plain(&json!({"cpu": "1", "l": [1, ""]})), "{cpu: 1, l: [1, \"\"]}");
        assert_eq!(cut("Unschedulable", 6), "Unsch…");
    }

    #[test]
    fn lines_are_broken_and_nothing_is_lost() {
        assert_eq!(broken("a bc def", 4), ["a bc", "def"]);
        assert_eq!(broken("abcdefgh i", 3), ["abc", "def", "gh", "i"]);
        assert_eq!(broken("ノ", 1), ["ノ"]);
        assert_eq!(broken("", 5), [""]);
    }

    #[test]
    fn wide_letters_take_two_columns() {
        assert_eq!([columns("node"), columns("ノード"), columns("e\u{301}"), columns("→ ±…")], [4, 6, 1, 4]);
        assert_eq!((cut("ノードノード", 6), cut("ノード", 6)), ("ノー…".to_owned(), "ノード".to_owned()));
        assert_eq!(padded("ノード", 8), "ノード  ");
    }
}
