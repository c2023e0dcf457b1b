//! The columns of each answer that is read line by line: those of the schema of its lines.

use ketcd_render::columns::{ColumnType, TableColumn, columns, columns_of_lines};
use ketcd_render::contract::change::{Change, ChangeWithObject};
use ketcd_render::contract::grep::{Match, MatchedObject};
use ketcd_render::contract::listing::KindCount;

use crate::asked::Asked;
use crate::failure::Failure;
use crate::questions::Question;

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Its name.
    pub(crate) name: String,
    /// Where its value lies in a line: a JSON pointer; empty for the whole line.
    pub(crate) pointer: String,
    /// The type of its values.
    pub(crate) kind: ColumnType,
}

/// Columns of API objects, whose types have no one schema.
const OF_OBJECTS: [(&str, &str, ColumnType); 9] = [
    ("kind", "/kind", ColumnType::Text),
    ("apiVersion", "/apiVersion", ColumnType::Text),
    ("namespace", "/metadata/namespace", ColumnType::Text),
    ("name", "/metadata/name", ColumnType::Text),
    ("uid", "/metadata/uid", ColumnType::Text),
    ("creationTimestamp", "/metadata/creationTimestamp", ColumnType::Time),
    ("resourceVersion", "/metadata/resourceVersion", ColumnType::Text),
    ("labels", "/metadata/labels", ColumnType::Json),
    ("object", "", ColumnType::Json),
];

/// Columns of explained decisions: `table("decisions")` has more of them.
const OF_DECISIONS: [(&str, &str, ColumnType); 10] = [
    ("revision", "/attempt/revision", ColumnType::Integer),
    ("time", "/attempt/time", ColumnType::Time),
    ("namespace", "/pod/namespace", ColumnType::Text),
    ("pod", "/pod/name", ColumnType::Text),
    ("uid", "/pod/uid", ColumnType::Text),
    ("outcome", "/attempt/outcome", ColumnType::Text),
    ("node", "/attempt/node", ColumnType::Text),
    ("verdict", "/verdict", ColumnType::Text),
    ("message", "/message", ColumnType::Text),
    ("explanation", "", ColumnType::Json),
];

/// Returns the columns of an answer.
///
/// # Errors
/// A table that there is not.
pub(crate) fn of(question: Question, asked: &Asked) -> Result<Vec<Column>, Failure> {
    Ok(match question {
        Question::Objects => listed(&OF_OBJECTS),
        Question::Decisions => listed(&OF_DECISIONS),
        Question::Kinds => of_lines(columns_of_lines::<KindCount<'_>>()),
        Question::History if asked.objects => of_lines(columns_of_lines::<ChangeWithObject<'_>>()),
        Question::History => of_lines(columns_of_lines::<Change<'_>>()),
        Question::Grep if asked.objects => of_lines(columns_of_lines::<MatchedObject<'_>>()),
        Question::Grep => of_lines(columns_of_lines::<Match<'_>>()),
        Question::Table => of_lines(columns(asked.table()?)),
        Question::Object | Question::Timeline | Question::Triage | Question::Explain | Question::Usage | Question::Status => Vec::new(),
    })
}

fn listed(columns: &[(&str, &str, ColumnType)]) -> Vec<Column> {
    columns.iter().map(|&(name, pointer, kind)| Column { name: name.to_owned(), pointer: pointer.to_owned(), kind }).collect()
}

/// Members of a line; none of our names needs escapes in a pointer.
fn of_lines(columns: Vec<TableColumn>) -> Vec<Column> {
    columns.into_iter().map(|column| Column { pointer: format!("/{}", column.name), name: column.name, kind: column.kind }).collect()
}
