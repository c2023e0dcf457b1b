//! Parquet as DuckDB reads it: the columns that are documented, the same rows as in lines of JSON, and the answers of `examples/fleet`.

use std::path::Path;

use jiff::Timestamp;
use ketcd_render::columns::{ColumnType, columns};
use ketcd_render::contract::export::Table;
use serde_json::{Value, json};

use super::duckdb::{Answer, ask};
use super::{export, files, rows};

/// The rows of a table as DuckDB reads them, in the order of their revisions; times are milliseconds.
fn read(folder: &Path, table: Table) -> (Vec<String>, Vec<Vec<Value>>) {
    let columns = columns(table);
    let selected: Vec<String> = columns
        .iter()
        .map(
            |column| {
                if column.kind == ColumnType::Time { format!("epoch_ms(\"{}\")", column.name) } else { format!("\"{}\"", column.name) }
            },
        )
        .collect();
    let path = format!("{}/table={}/*/*/*.parquet", folder.display(), table.name());
    let from = format!("read_parquet('{path}', hive_partitioning = true, file_row_number = true, filename = true)");
    let statements = [
        format!("DESCRIBE SELECT * FROM read_parquet('{path}', hive_partitioning = false)"),
        format!("SELECT {} FROM {from} ORDER BY revision, filename, file_row_number", selected.join(", ")),
    ];
    let mut answers = ask(&statements).into_iter();
    let described = answers.next().unwrap().rows;
    let kinds = described.iter().map(|row| format!("{} {} {}", text(&row[0]), text(&row[1]), text(&row[2]))).collect();
    (kinds, answers.next().unwrap().rows)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// A column as DuckDB describes it.
fn described(name: &str, kind: ColumnType) -> String {
    let kind = match kind {
        ColumnType::Text => "VARCHAR",
        ColumnType::Integer => "BIGINT",
        ColumnType::Number => "DOUBLE",
        ColumnType::Boolean => "BOOLEAN",
        ColumnType::Time => "TIMESTAMP WITH TIME ZONE",
        ColumnType::Json => "JSON",
    };
    // DuckDB says of every column of a file that it may be null.
    format!("{name} {kind} YES")
}

#[test]
fn duckdb_reads_the_rows_that_lines_of_json_have() {
    let (parquet, ndjson) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = "k120-story/snapshot.db.zst";
    export(file, parquet.path(), "--format parquet");
    export(file, ndjson.path(), "--format ndjson");
    for table in Table::ALL {
        let columns = columns(table);
        let (kinds, read) = read(parquet.path(), table);
        let wanted: Vec<String> = columns.iter().map(|column| described(&column.name, column.kind)).collect();
        assert_eq!(kinds, wanted, "{table:?}");
        let lines = rows(ndjson.path(), table.name());
        assert!(lines.len() == read.len() && !lines.is_empty(), "{table:?}: {} and {}", lines.len(), read.len());
        for (line, row) in lines.iter().zip(&read) {
            assert_eq!(line.as_object().unwrap().len(), columns.len(), "{table:?}");
            for (column, value) in columns.iter().zip(row) {
                let found = match (column.kind, value) {
                    (ColumnType::Json, Value::String(text)) => serde_json::from_str(text).unwrap(),
                    (ColumnType::Time, Value::Number(millis)) => {
                        let time = Timestamp::from_millisecond(millis.as_i64().unwrap()).unwrap();
                        json!(format!("{time:.3}"))
                    }
                    _ => value.clone(),
                };
                assert_eq!(found, line[&column.name], "{table:?} {} r{}", column.name, line["revision"]);
            }
        }
    }
}

#[test]
fn parquet_files_are_the_same_each_time() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = "k120-story/compacted.db.zst";
    for folder in [&one, &other] {
        export(file, folder.path(), "--format parquet --cluster c");
    }
    let before = files(one.path());
    assert!(before == files(other.path()), "two runs wrote different files");
    export(file, one.path(), "--format parquet --cluster c");
    assert!(before == files(one.path()), "the second run changed the dataset");
}

/// The example's page with the answers that DuckDB gives now.
fn answered(page: &str, folder: &Path) -> String {
    let blocks = |fence: &str| -> Vec<String> {
        let fence = format!("```{fence}\n");
        let parts = page.split(&fence).skip(1);
        parts.map(|part| part.split_once("\n```").unwrap().0.to_owned()).collect()
    };
    let here = |sql: &str| sql.replace("'fleet/", &format!("'{}/", folder.display()));
    let mut statements: Vec<String> = blocks("sql duckdb").iter().chain(&blocks("sql setup")).map(|sql| here(sql)).collect();
    let (before, questions) = (statements.len(), blocks("sql"));
    assert_eq!(questions.len(), 10);
    statements.extend(questions.iter().cloned());
    let answers: Vec<Answer> = ask(&statements).into_iter().skip(before).collect();
    let mut written = String::new();
    let mut rest = page;
    for answer in &answers {
        let at = rest.find("```sql\n").unwrap();
        let end = at + rest[at..].find("\n```\n").unwrap() + "\n```\n".len();
        written.push_str(&rest[..end]);
        rest = &rest[end..];
        // The answer that is there already.
        if let Some(after) = rest.strip_prefix("\n```text\n") {
            rest = after.split_once("```\n").unwrap().1;
        }
        written.push_str(&format!("\n```text\n{}```\n", answer.table()));
    }
    written + rest
}

#[test]
fn the_questions_of_the_fleet_have_the_answers_that_its_page_shows() {
    let folder = tempfile::tempdir().unwrap();
    for (cluster, file) in [("story-1.20", "k120-story"), ("story-1.36", "k136-story"), ("random-1.36", "k136-random")] {
        export(&format!("{file}/snapshot.db.zst"), folder.path(), &format!("--format parquet --cluster {cluster}"));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/fleet/README.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let wanted = answered(&page, folder.path());
    if std::env::var_os("KETCD_BLESS").is_some() {
        std::fs::write(&path, wanted).unwrap();
        return;
    }
    assert!(page == wanted, "{} is stale: run it with KETCD_BLESS=1 and look at the difference", path.display());
}
