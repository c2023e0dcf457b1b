//! DuckDB, as its Python package runs it.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

/// What a statement gives.
pub(super) struct Answer {
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<Value>>,
}

const DUCKDB_PROGRAM: &str = r#"
import json, sys
import duckdb

connection = duckdb.connect()
connection.execute("SET TimeZone = 'UTC'")
for statement in json.load(sys.stdin):
    result = connection.execute(statement)
    columns = [column[0] for column in result.description or []]
    print(json.dumps([columns, result.fetchall()], default=str))
"#;

/// Runs statements one after another.
pub(super) fn ask(statements: &[String]) -> Vec<Answer> {
    let python = std::env::var("KETCD_TEST_DUCKDB").unwrap_or_else(|_| {
        panic!("KETCD_TEST_DUCKDB names no Python with DuckDB; `tools/program duckdb` installs one and prints its path, tools/test sets it")
    });
    let mut child = Command::new(python)
        .args(["-c", DUCKDB_PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(serde_json::to_string(statements).unwrap().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers = std::str::from_utf8(&output.stdout).unwrap().lines().map(|line| {
        let (columns, rows) = serde_json::from_str(line).unwrap();
        Answer { columns, rows }
    });
    answers.collect()
}

impl Answer {
    /// The answer in columns.
    pub(super) fn table(&self) -> String {
        let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let lines: Vec<Vec<String>> =
            std::iter::once(self.columns.clone()).chain(self.rows.iter().map(|row| row.iter().map(shown).collect())).collect();
        let widths: Vec<usize> =
            (0..self.columns.len()).map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap()).collect();
        let line = |cells: &Vec<String>| {
            let cells: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            format!("{}\n", cells.join("  ").trim_end())
        };
        lines.iter().map(line).collect()
    }
}
