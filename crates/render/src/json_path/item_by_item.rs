//! Templates over a list that need not hold it.

use std::io::{self, Write};

use serde_json::Value;

use super::{JsonPath, PathNode, PathPart, Slice, WriteError, evaluate, text_of, write_parts};

/// A template that asks once for the items of a list, run on one item after the other: what it prints is the same.
#[derive(Clone, Debug)]
pub struct ItemByItem {
    before: String,
    nodes: Vec<PathNode>,
    /// The parts of a range; `None` where the values themselves are printed.
    inner: Option<Vec<PathPart>>,
    after: String,
    has_begun: bool,
    has_printed: bool,
}

impl ItemByItem {
    /// `None` where the template needs the whole list at once.
    pub fn of(path: &JsonPath) -> Option<Self> {
        let at = path.parts.iter().position(|part| !matches!(part, PathPart::Text(_)))?;
        let text = |parts: &[PathPart]| {
            let texts = parts.iter().map(|part| if let PathPart::Text(text) = part { Some(text.as_str()) } else { None });
            texts.collect::<Option<String>>()
        };
        let (nodes, inner) = match &path.parts[at] {
            PathPart::Path(nodes) => (nodes, None),
            PathPart::Range(nodes, inner) => (nodes, Some(inner.clone())),
            PathPart::Text(_) => return None,
        };
        let all = Slice { start: None, end: None, step: None, is_index: false };
        let nodes = match &nodes[..] {
            [PathNode::Field(items), PathNode::Wildcard, rest @ ..] if items == "items" => rest.to_vec(),
            [PathNode::Field(items), PathNode::Slice(slice), rest @ ..] if items == "items" && *slice == all => rest.to_vec(),
            _ => return None,
        };
        if nodes.iter().any(is_once) {
            return None;
        }
        let (before, after) = (text(&path.parts[..at])?, text(&path.parts[at + 1..])?);
        Some(Self { before, nodes, inner, after, has_begun: false, has_printed: false })
    }

    /// Writes what the template prints of one item.
    ///
    /// # Errors
    /// As [`JsonPath::write`].
    pub fn write(&mut self, item: &Value, out: &mut dyn Write) -> Result<(), WriteError> {
        self.begin(out)?;
        for found in evaluate::path(&self.nodes, item)? {
            match &self.inner {
                Some(inner) => write_parts(inner, &found, out)?,
                None => write!(out, "{}{}", if self.has_printed { " " } else { "" }, text_of(&found))?,
            }
            self.has_printed = true;
        }
        Ok(())
    }

    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if std::mem::replace(&mut self.has_begun, true) { Ok(()) } else { out.write_all(self.before.as_bytes()) }
    }

    /// Writes what comes after the items.
    ///
    /// # Errors
    /// The stream's.
    pub fn finish(mut self, out: &mut dyn Write) -> io::Result<()> {
        self.begin(out)?;
        out.write_all(self.after.as_bytes())
    }
}

/// Whether a step gives one value for all that it is given, as a literal does: for the list, not for each item.
fn is_once(node: &PathNode) -> bool {
    match node {
        PathNode::Literal(_) => true,
        PathNode::Union(paths) => paths.iter().flatten().any(is_once),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn item_by_item_is_as_all_at_once() {
        let item = |name: &str, ips: &[&str]| json!({"metadata": {"name": name}, "ips": ips, "ready": name != "b"});
        let items = [item("a", &["1", "2"]), item("b", &[]), item("c", &["3"])];
        for template in [
            "{.items[*].metadata.name}",
            "{.items[:].ips[*]}",
            "names: {.items[*].metadata.name}.",
            "{range .items[*]}{.metadata.name}{\"\\t\"}{range .ips[*]}[{}]{end}{\"\\n\"}{end}end",
            "{range .items[*].ips[*]}{@},{end}",
            "{.items[*].none}",
        ] {
            let path = JsonPath::parse(template).unwrap();
            for count in 0..=items.len() {
                let mut streamed = ItemByItem::of(&path).unwrap_or_else(|| panic!("{template} is not streamed"));
                let (mut out, mut wanted) = (Vec::new(), Vec::new());
                items[..count].iter().for_each(|item| streamed.write(item, &mut out).unwrap());
                streamed.finish(&mut out).unwrap();
                path.write(&json!({"items": items[..count]}), &mut wanted).unwrap();
                assert_eq!(String::from_utf8(out), String::from_utf8(wanted), "{template} of {count}");
            }
        }
        for template in [
            "{.items[0].metadata.name}",
            "{.items[?(@.ready)].ips}",
            "{.kind}",
            "{.items[*].a} {.items[*].b}",
            "{.items[*].metadata.name 7}",
            "{.items}",
            "{..name}",
            "text",
        ] {
            assert!(ItemByItem::of(&JsonPath::parse(template).unwrap()).is_none(), "{template}");
        }
    }
}
