//! Dumps of SQL databases, which hold kine's table as statements: they are named, with the way to something that can be read.

/// Bytes at the beginning that tell.
const PROBED_BYTES: usize = 4096;

/// What begins a dump, the program that writes it, and what to do with it; `DUMP` stands for the file.
const DUMP_KINDS: [(&[u8], &str, &str); 9] = [
    (b"PGDMP", "pg_dump", POSTGRESQL_ADVICE),
    (b"-- PostgreSQL database dump", "pg_dump", POSTGRESQL_ADVICE),
    (b"-- PostgreSQL database cluster dump", "pg_dumpall", POSTGRESQL_ADVICE),
    (b"-- MySQL dump", "mysqldump", MYSQL_ADVICE),
    (b"-- MariaDB dump", "mariadb-dump", MYSQL_ADVICE),
    (b"/*M!", "mariadb-dump", MYSQL_ADVICE),
    (b"/*!", "mysqldump", MYSQL_ADVICE),
    (b"PRAGMA foreign_keys", "sqlite3", SQLITE_ADVICE),
    (b"BEGIN TRANSACTION;", "sqlite3", SQLITE_ADVICE),
];

const FIRST_STATEMENTS: [&[u8]; 6] =
    [b"CREATE TABLE ", b"CREATE DATABASE ", b"DROP TABLE ", b"INSERT INTO ", b"LOCK TABLES ", b"START TRANSACTION;"];

const OTHER_ADVICE: &str = "load it into its database, and export kine's table as README shows";
const SQLITE_ADVICE: &str = "load it (sqlite3 state.db < DUMP) and read state.db";
const POSTGRESQL_ADVICE: &str =
    "load it into a PostgreSQL, export its table (psql -c \"\\copy kine TO 'kine.csv' CSV HEADER\") and read kine.csv";
const MYSQL_ADVICE: &str = "load it into a MySQL or MariaDB, export kine's table with `mysql --batch` and HEX(value), HEX(old_value) as README shows, and read that";

/// Says that the bytes of a file are a dump; `None` where they are not.
pub(super) fn recognised(path: &str, bytes: &[u8]) -> Option<String> {
    let head = &bytes[..bytes.len().min(PROBED_BYTES)];
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let lines = || head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_start);
    // Blank lines, comments and settings may come first.
    let is_prelude = |line: &[u8]| line.is_empty() || line.starts_with(b"--") || line.starts_with(b"\\") || line.starts_with(b"SET ");
    let begins =
        |line: &[u8]| DUMP_KINDS.iter().find(|(start, ..)| line.len() >= start.len() && line[..start.len()].eq_ignore_ascii_case(start));
    let mut found = None;
    for line in lines() {
        found = begins(line);
        if found.is_some() || !is_prelude(line) {
            break;
        }
    }
    let is_statement =
        |line: &[u8]| FIRST_STATEMENTS.iter().any(|start| line.len() > start.len() && line[..start.len()].eq_ignore_ascii_case(start));
    let (program, way) = match found {
        Some(&(_, program, way)) => (format!(" of {program}"), way),
        None if lines().find(|line| !is_prelude(line)).is_some_and(is_statement) => (String::new(), OTHER_ADVICE),
        None => return None,
    };
    let name = if path == "-" { "dump.sql" } else { path };
    Some(format!("is an SQL dump{program}, not a database; {}", way.replace("DUMP", name)))
}

#[cfg(test)]
mod tests {
    use super::recognised;

    #[test]
    fn dumps_are_named_with_the_way_out() {
        for (text, wanted) in [
            (
                "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n",
                "is an SQL dump of sqlite3, not a database; load it (sqlite3 state.db < k.sql) and read state.db",
            ),
            ("\u{feff}BEGIN TRANSACTION;\nCREATE TABLE kine", "is an SQL dump of sqlite3"),
            ("--\n-- PostgreSQL database dump\n--\n\n\\restrict x\n", "is an SQL dump of pg_dump"),
            ("--\n-- PostgreSQL database cluster dump\n--\n", "is an SQL dump of pg_dumpall"),
            ("PGDMP\u{1}\u{e}", "is an SQL dump of pg_dump"),
            ("-- MySQL dump 10.13  Distrib 8.0.36\n", "is an SQL dump of mysqldump"),
            ("/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19\n", "is an SQL dump of mariadb-dump"),
            ("SET NAMES utf8;\nINSERT INTO `kine` VALUES (1,'x');\n", "is an SQL dump, not a database"),
        ] {
            let said = recognised("k.sql", text.as_bytes()).unwrap();
            assert!(said.starts_with(wanted), "{said}");
        }
        for text in
            ["", "apiVersion: v1\nkind: ConfigMap\ndata: {a: PRAGMA foreign_keys}\n", "{\"a\": \"-- MySQL dump\"}", "-- a comment\n"]
        {
            assert_eq!(recognised("-", text.as_bytes()), None);
        }
    }
}
