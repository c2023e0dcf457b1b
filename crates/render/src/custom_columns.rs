//! `-o custom-columns=NAME:.metadata.name,…`: columns of the user's own, as kubectl reads and fills them.

use serde_json::Value;

use crate::json_path::{JsonPath, JsonPathError, text_of};

/// Headings and the paths of their cells.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomColumns {
    columns: Vec<(String, JsonPath)>,
}

/// Why a text is not a valid list of columns: a lowercase fragment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColumnsError {
    /// A part has no heading or no path.
    #[error("\"{0}\" is not HEADING:path")]
    Shape(String),
    /// A file does not have two lines.
    #[error("expected a line of headings and a line of paths")]
    Lines,
    /// A file has other numbers of both.
    #[error("there are {headings} headings but {paths} paths")]
    Counts {
        /// How many headings there are.
        headings: usize,
        /// How many paths there are.
        paths: usize,
    },
    /// A path cannot be read.
    #[error(transparent)]
    Path(#[from] JsonPathError),
}

impl CustomColumns {
    /// Reads `HEADING:path` pairs with commas between them.
    ///
    /// # Errors
    /// A pair is malformed, or its path cannot be read.
    pub fn parse(spec: &str) -> Result<Self, ColumnsError> {
        let column = |part: &str| match part.split_once(':') {
            Some((heading, path)) if !path.is_empty() => Ok((heading.to_owned(), JsonPath::parse_relaxed(path)?)),
            _ => Err(ColumnsError::Shape(part.to_owned())),
        };
        spec.split(',').map(column).collect::<Result<_, _>>().map(|columns| Self { columns })
    }

    /// Reads the two lines of a file: headings, and below them as many paths, with blanks between
    /// (kubectl's `NewCustomColumnsPrinterFromTemplate`).
    ///
    /// # Errors
    /// A line is missing, there are more of the one than of the other, or a path cannot be read.
    pub fn parse_file(text: &str) -> Result<Self, ColumnsError> {
        let mut lines = text.lines();
        let (Some(headings), Some(paths)) = (lines.next(), lines.next()) else { return Err(ColumnsError::Lines) };
        let (headings, paths): (Vec<&str>, Vec<&str>) = (headings.split_whitespace().collect(), paths.split_whitespace().collect());
        if headings.len() != paths.len() {
            return Err(ColumnsError::Counts { headings: headings.len(), paths: paths.len() });
        }
        let column = |(heading, path): (&&str, &str)| Ok(((*heading).to_owned(), JsonPath::parse_relaxed(path)?));
        headings.iter().zip(paths).map(column).collect::<Result<_, _>>().map(|columns| Self { columns })
    }

    /// Returns the headings.
    pub fn headings(&self) -> Vec<String> {
        self.columns.iter().map(|(heading, _)| heading.clone()).collect()
    }

    /// Returns the cells of an object. Several values are joined by commas; a cell without a value is `<none>`.
    ///
    /// # Errors
    /// A path does not fit the object.
    pub fn row(&self, object: &Value) -> Result<Vec<String>, JsonPathError> {
        let cell = |path: &JsonPath| -> Result<String, JsonPathError> {
            let found = path.find(object)?;
            Ok(match found.len() {
                0 => "<none>".to_owned(),
                _ => found.iter().map(|value| cell_text(value)).collect::<Vec<_>>().join(","),
            })
        };
        self.columns.iter().map(|(_, path)| cell(path)).collect()
    }
}

/// Go's default format of a value: maps as `map[a:1 b:2]`, lists as `[1 2]`.
fn cell_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Array(items) => format!("[{}]", items.iter().map(cell_text).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            format!("map[{}]", fields.iter().map(|(name, value)| format!("{name}:{}", cell_text(value))).collect::<Vec<_>>().join(" "))
        }
        scalar => text_of(scalar).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(spec: &str, wanted: &str) {
        let object = json!({"metadata": {"name": "a", "labels": {"x": "1", "y": "2"}}, "spec": {"list": [1, {"k": true}], "none": null}});
        let found = match CustomColumns::parse(spec) {
            Ok(columns) => format!("{} = {}", columns.headings().join("|"), columns.row(&object).unwrap().join("|")),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, wanted);
    }

    #[test]
    fn custom_columns_parses_columns() {
        check("NAME:.metadata.name,L:metadata.labels,N:{.spec.missing}", "NAME|L|N = a|map[x:1 y:2]|<none>");
        check("A:.spec.list,B:.spec.list[*],C:.spec.none", "A|B|C = [1 map[k:true]]|1,map[k:true]|<nil>");
    }

    #[test]
    fn custom_columns_refuses_mistakes() {
        check("NAME", "\"NAME\" is not HEADING:path");
        check("NAME:", "\"NAME:\" is not HEADING:path");
        check("NAME:.a[", "[ without ]");
    }
}
