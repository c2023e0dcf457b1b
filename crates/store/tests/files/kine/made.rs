//! Databases that SQLite itself makes, and what it says of them; also while another process writes them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use ketcd_store::{EventKind, Origin, Revision, Source};
use rusqlite::{Connection, params};

use super::{events, killed, open, wait};
use ketcd_testing::random::Random;
use ketcd_testing::wait::until;

/// The table and the index of names: kine v0.17.5, `pkg/drivers/sqlite/sqlite.go`.
const KINE_SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS kine (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, created INTEGER, deleted INTEGER,
        create_revision INTEGER, prev_revision INTEGER, lease INTEGER, value BLOB, old_value BLOB);
    CREATE INDEX IF NOT EXISTS kine_name_index ON kine (name);
    CREATE UNIQUE INDEX IF NOT EXISTS kine_name_prev_revision_uindex ON kine (name, prev_revision);";

/// Takes away what a compaction does: the rows that were replaced, and deletions.
const COMPACTION_SQL: &str = "
    DELETE FROM kine WHERE id IN (SELECT prev_revision FROM kine WHERE name != 'compact_rev_key' AND prev_revision != 0 AND id <= ?1
        UNION ALL SELECT id FROM kine WHERE deleted != 0 AND id <= ?1)";

/// A writer as kine is one.
pub(crate) struct Kine {
    connection: Connection,
    /// The last row of each key, the one that made it, its value; `None` where it was deleted.
    keys: BTreeMap<String, (i64, i64, Option<Vec<u8>>)>,
    /// Each change that was made: its key, the row that made the key, the value.
    pub(crate) written: BTreeMap<i64, (String, i64, Option<Vec<u8>>)>,
}

impl Kine {
    pub(crate) fn new(path: &Path, pragmas: &str) -> Self {
        let connection = Connection::open(path).unwrap();
        connection.execute_batch(pragmas).unwrap();
        connection.execute_batch(KINE_SCHEMA).unwrap();
        let insert = "INSERT INTO kine (name, created, deleted, create_revision, prev_revision, lease, value) VALUES ('compact_rev_key', 1, 0, 0, 0, 0, x'')";
        connection.execute(insert, []).unwrap();
        Self { connection, keys: BTreeMap::new(), written: BTreeMap::new() }
    }

    pub(crate) fn change(&mut self, random: &mut Random, longest: usize) {
        let name = format!("/registry/pods/{}", "x".repeat(random.below(30)) + &random.below(40).to_string());
        let before = self.keys.get(&name).cloned();
        let (prev, made, old) = before.unwrap_or_default();
        let deletes = old.is_some() && random.below(6) == 0;
        let length = random.below(longest);
        let value: Option<Vec<u8>> = (!deletes).then(|| (0..length).map(|_| 1 + random.below(255) as u8).collect());
        let insert = "INSERT INTO kine (name, created, deleted, create_revision, prev_revision, lease, value, old_value) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
        let create_revision = old.is_some().then_some(made);
        self.connection.execute(insert, params![name, old.is_none(), deletes, create_revision, prev, 0, value, old]).unwrap();
        let id = self.connection.last_insert_rowid();
        let made = if old.is_none() { id } else { made };
        self.written.insert(id, (name.clone(), if deletes { 0 } else { made }, value.clone()));
        self.keys.insert(name, (id, made, value));
    }

    pub(crate) fn compact(&self, revision: i64) {
        self.connection.execute("UPDATE kine SET prev_revision = ?1 WHERE name = 'compact_rev_key'", [revision]).unwrap();
        self.connection.execute(COMPACTION_SQL, [revision]).unwrap();
    }
}

type Row = (i64, String, bool, Vec<u8>);

/// What SQLite says of the changes.
fn rows(connection: &Connection) -> Vec<Row> {
    let mut all = connection.prepare("SELECT id, name, deleted, value FROM kine WHERE name != 'compact_rev_key' ORDER BY id").unwrap();
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, Option<Vec<u8>>>(3)?.unwrap_or_default()));
    all.query_map([], row).unwrap().map(Result::unwrap).collect()
}

fn shown(source: &dyn Source, is_wanted: impl Fn(Origin) -> bool) -> Vec<Row> {
    let of_table = events(source).into_iter().filter(|event| is_wanted(event.origin));
    let row = |event: ketcd_store::Event| {
        let key = String::from_utf8(event.key_value.key.to_vec()).unwrap();
        (event.revision.0, key, event.kind == EventKind::Delete, event.key_value.value.to_vec())
    };
    of_table.map(row).collect()
}

fn shown_all(source: &dyn Source) -> Vec<Row> {
    shown(source, |_| true)
}

#[test]
fn every_row_is_what_sqlite_says_it_is() {
    for (seed, (page, vacuum, longest)) in
        [(4096, 0, 9000), (512, 0, 1500), (1024, 1, 5000), (65536, 0, 200_000), (4096, 2, 300)].into_iter().enumerate()
    {
        let directory = tempfile::tempdir().unwrap();
        let (path, random) = (directory.path().join("state.db"), &mut Random(seed as u64));
        let pragmas =
            format!("PRAGMA page_size = {page}; PRAGMA auto_vacuum = {vacuum}; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 60;");
        let mut kine = Kine::new(&path, &pragmas);
        let mut all = Vec::new();
        for round in 0..8 {
            (0..60).for_each(|_| kine.change(random, longest));
            all.extend(rows(&kine.connection).into_iter().filter(|row| row.0 > 1 + 60 * round));
            if round % 3 == 2 {
                kine.compact(1 + 60 * (round - 1));
            }
            let crashed = tempfile::tempdir().unwrap();
            for name in ["state.db", "state.db-wal"] {
                fs::copy(directory.path().join(name), crashed.path().join(name)).unwrap();
            }
            let source = open(&crashed.path().join("state.db")).unwrap();
            assert_eq!(source.damage(), &[] as &[String], "page {page}, round {round}");
            assert_eq!(shown(&*source, |origin| origin == Origin::Db), rows(&kine.connection), "page {page}, round {round}");
            // What comes back of compacted rows is as it was.
            for row in shown(&*source, |origin| origin != Origin::Db) {
                assert!(all.binary_search(&row).is_ok(), "page {page}, round {round}: revision {}", row.0);
            }
            let names = fs::read_dir(crashed.path()).unwrap().count();
            assert_eq!(names, 2, "nothing is made beside a database that is read");
        }
    }
}

#[test]
fn gap_rows_are_no_changes_and_lost_ones_are_missed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let mut kine = Kine::new(&path, "PRAGMA journal_mode = DELETE;");
    let random = &mut Random(1);
    (0..5).for_each(|_| kine.change(random, 100));
    let fill = "INSERT INTO kine (id, name, created, deleted, create_revision, prev_revision, lease) VALUES (?, ?, 0, 1, 0, 0, 0)";
    kine.connection.execute(fill, params![7, "gap-7"]).unwrap();
    (0..5).for_each(|_| kine.change(random, 100));
    let source = open(&path).unwrap();
    assert_eq!((source.damage(), events(&*source).len()), (&[][..], 10));
    let notes = wait(source.status()).unwrap().notes;
    assert_eq!(notes, ["1 of the 12 rows in its table is a gap row, with which kine fills revisions that no transaction took"]);
    assert_eq!(source.left_out(), &[] as &[String], "only status says so");
    // A row that no compaction took is named, though its index entry went with it.
    kine.connection.execute("DELETE FROM kine WHERE id = 6", []).unwrap();
    let source = open(&path).unwrap();
    let is_named = |problem: &String| problem.contains("revision 6 ");
    assert!(source.damage().iter().any(is_named), "{:?}", source.damage());
}

#[test]
fn a_compaction_behind_the_newest_row_says_that_rows_are_lost() {
    for (lost, compacted, is_lost) in [(21, 45, true), (45, 45, true), (46, 45, false), (62, 45, false), (62, 60, false)] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.db");
        let mut kine = Kine::new(&path, "PRAGMA journal_mode = DELETE;");
        let random = &mut Random(3);
        (0..60).for_each(|_| kine.change(random, 100));
        kine.connection.execute("UPDATE kine SET prev_revision = ?1 WHERE name = 'compact_rev_key'", [compacted]).unwrap();
        kine.connection.execute("DELETE FROM kine WHERE id >= ?1 AND name != 'compact_rev_key'", [lost]).unwrap();
        // Else the counter of the table would say it too.
        kine.connection.execute("UPDATE sqlite_sequence SET seq = (SELECT MAX(id) FROM kine)", []).unwrap();
        let source = open(&path).unwrap();
        let wanted = format!("its last compaction was at revision {compacted}, and the last row that its table has is {}", lost - 1);
        let is_said = source.damage().iter().any(|problem| problem.contains(&wanted));
        assert_eq!(is_said, is_lost, "{lost}: {:?}", source.damage());
    }
}

#[test]
fn another_sqlite_database_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("other.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE other (id INTEGER PRIMARY KEY)").unwrap();
    let refused = open(&path).err().unwrap().to_string();
    assert!(
        refused.ends_with("is an SQLite database without kine's table; name k3s's /var/lib/rancher/k3s/server/db/state.db"),
        "{refused}"
    );
}

/// Tables as psql and mysql print them hold what the database holds.
#[test]
fn a_table_printed_as_text_is_read_as_the_database_is() {
    let (database, log) = killed();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("state.db"), database).unwrap();
    fs::write(directory.path().join("state.db-wal"), log).unwrap();
    let path = directory.path().join("state.db");
    let truth = events(&*open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    let columns = "id, name, created, deleted, create_revision, prev_revision, lease, hex(value), hex(old_value), old_value IS NULL";
    let mut all = connection.prepare(&format!("SELECT {columns} FROM kine ORDER BY id DESC")).unwrap();
    let mut csv = "id,name,created,deleted,create_revision,prev_revision,lease,value,old_value\n".to_owned();
    let (mut tabs, mut lines) = (csv.replace(',', "\t"), String::new());
    let mut rows = all.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let number = |column: usize| row.get::<_, Option<i64>>(column).unwrap();
        let text = |column: usize| row.get::<_, String>(column).unwrap();
        let empty = |column: usize| number(column).map(|number| number.to_string()).unwrap_or_default();
        let null = |column: usize| number(column).map_or("NULL".to_owned(), |number| number.to_string());
        let (id, name, old_is_null) = (empty(0), text(1), number(9) == Some(1));
        let (value, old) = (text(7), text(8));
        let numbers = |of: &dyn Fn(usize) -> String, between: &str| (2..7).map(of).collect::<Vec<_>>().join(between);
        let of_csv = if old_is_null { String::new() } else { format!("\\x{}", old.to_lowercase()) };
        writeln!(csv, "{id},\"{name}\",{},\\x{},{of_csv}", numbers(&empty, ","), value.to_lowercase()).unwrap();
        let of_tabs = if old_is_null { "NULL" } else { &old };
        writeln!(tabs, "{id}\t{name}\t{}\t{value}\t{of_tabs}", numbers(&null, "\t")).unwrap();
        let of_line = serde_json::json!({
            "id": number(0), "name": name, "created": number(2), "deleted": number(3), "create_revision": number(4), "prev_revision": number(5),
            "lease": number(6), "value": value, "old_value": (!old_is_null).then_some(old),
        });
        writeln!(lines, "{of_line}").unwrap();
    }
    for (name, text) in [("kine.csv", &csv), ("kine.tsv", &tabs), ("kine.ndjson", &lines)] {
        let file = directory.path().join(name);
        fs::write(&file, text).unwrap();
        let source = open(&file).unwrap();
        assert_eq!(source.damage(), &[] as &[String], "{name}");
        assert!(events(&*source) == truth, "{name}");
        let folder = directory.path().join(format!("{name}-packed"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(format!("{name}.gz")), gzip(text.as_bytes())).unwrap();
        fs::write(folder.join("notes.txt"), "of the night").unwrap();
        let packed = directory.path().join(format!("{name}.tar"));
        let mut tar = tar::Builder::new(fs::File::create(&packed).unwrap());
        tar.append_dir_all("backup", &folder).unwrap();
        tar.into_inner().unwrap();
        for place in [&folder, &packed] {
            let source = open(place).unwrap();
            assert_eq!((source.damage(), source.left_out().len()), (&[] as &[String], 2), "{name}: {:?}", source.left_out());
            assert!(events(&*source) == truth, "{}", place.display());
        }
        // A line that is cut short is named.
        fs::write(&file, &text[..text.len() - 9]).unwrap();
        let cut = open(&file).unwrap();
        assert!(!cut.damage().is_empty() && events(&*cut).len() + 1 >= truth.len(), "{name}: {:?}", cut.damage());
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const WRITTEN_VARIABLE: &str = "KETCD_TEST_KINE_WRITTEN";

/// How many changes the writer makes for one reading, so that neither is done before the other.
const FOR_A_READING: usize = 50;

/// The other process of the test below: k3s, which writes and compacts. Each reading is a byte of its input.
#[test]
fn a_database_is_written() {
    let Ok(path) = std::env::var(WRITTEN_VARIABLE) else { return };
    let mut kine = Kine::new(Path::new(&path), "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 40;");
    let random = &mut Random(7);
    let mut readings = std::io::stdin().lock();
    for round in 0..1500 {
        kine.change(random, 6000);
        if round % 400 == 399 {
            kine.compact(round - 300);
        }
        if round as usize % FOR_A_READING == FOR_A_READING - 1 {
            readings.read_exact(&mut [0]).unwrap();
        }
    }
}

/// A k3s that has written, up to a checkpoint and on, and stands still.
fn stands_still(path: &Path, seed: u64) -> Kine {
    let pragmas = "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0;";
    let (mut kine, random) = (Kine::new(path, pragmas), &mut Random(seed));
    (0..80).for_each(|_| kine.change(random, 3000));
    kine.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    kine.compact(60);
    (0..80).for_each(|_| kine.change(random, 3000));
    kine
}

const STANDING_VARIABLE: &str = "KETCD_TEST_KINE_STANDING";

/// The other process of the test below: it has the database open until its input ends.
#[test]
fn a_database_is_held() {
    let Ok(given) = std::env::var(STANDING_VARIABLE) else { return };
    let (seed, path) = given.split_once(' ').unwrap();
    let _kine = stands_still(Path::new(path), seed.parse().unwrap());
    fs::write(format!("{path}.ready"), "").unwrap();
    std::io::stdin().lock().read_to_end(&mut Vec::new()).unwrap();
}

/// While SQLite writes its log back, a page of the database may be half its old self: what only that page says is not believed.
#[test]
fn a_page_that_is_being_written_back_says_nothing() {
    const FRAME_BYTES: usize = 24 + 4096;
    for seed in 0..6 {
        let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = directory.path().join("state.db");
        let written = stands_still(&other.path().join("state.db"), seed).written;
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "kine::made::a_database_is_held"])
            .env(STANDING_VARIABLE, format!("{seed} {}", path.display()))
            .stdin(Stdio::piped());
        let mut holder = command.spawn().unwrap();
        until(|| directory.path().join("state.db.ready").exists().then_some(()));
        // As SQLite does it: the index of the log first (`nBackfillAttempted`), then the pages.
        let (log, mut pages) = (fs::read(directory.path().join("state.db-wal")).unwrap(), fs::read(&path).unwrap());
        let frames: Vec<&[u8]> = log[32..].chunks_exact(FRAME_BYTES).collect();
        let mut index = fs::File::options().write(true).open(directory.path().join("state.db-shm")).unwrap();
        index.seek(SeekFrom::Start(128)).unwrap();
        index.write_all(&(frames.len() as u32).to_ne_bytes()).unwrap();
        let random = &mut Random(seed);
        for frame in frames {
            let start = (u32::from_be_bytes(frame[..4].try_into().unwrap()) as usize - 1) * 4096;
            let there = random.below(4096);
            if let Some(page) = pages.get_mut(start..start + there) {
                page.copy_from_slice(&frame[24..24 + there]);
            }
        }
        fs::write(&path, pages).unwrap();
        let source = open(&path).unwrap();
        assert_eq!(source.damage(), &[] as &[String], "seed {seed}");
        let now = shown_all(&*source);
        for (revision, name, deleted, value) in &now {
            let (of_name, _, of_value) = &written[revision];
            assert_eq!((name, *deleted, &value[..]), (of_name, of_value.is_none(), of_value.as_deref().unwrap_or_default()), "seed {seed}");
        }
        assert!(now.len() > 80, "seed {seed}: {} changes", now.len());
        holder.kill().unwrap();
        holder.wait().unwrap();
    }
}

#[test]
fn a_database_is_read_while_it_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "kine::made::a_database_is_written"]).env(WRITTEN_VARIABLE, &path).stdin(Stdio::piped());
    let mut writer = command.spawn().unwrap();
    let mut read = writer.stdin.take().unwrap();
    let (mut readings, mut last) = (0, Revision(0));
    let ended = loop {
        let ended = writer.try_wait().unwrap();
        if let Ok(source) = open(&path) {
            assert_eq!(source.damage(), &[] as &[String], "after {readings} readings");
            let span = wait(source.span()).unwrap();
            let above = events(&*source).into_iter().filter(|event| event.revision > span.compacted.unwrap_or(Revision(1))).count() as i64;
            assert_eq!(above, span.newest.0 - span.compacted.map_or(1, |compacted| compacted.0), "{span:?}");
            assert!(span.newest >= last, "{span:?} after {last}");
            (readings, last) = (readings + 1, span.newest);
            // A writer that has ended needs no more.
            let _ = read.write_all(b".");
        }
        if let Some(ended) = ended {
            break ended;
        }
    };
    assert!(ended.success() && readings >= 1500 / FOR_A_READING && last == Revision(1501), "{readings} readings up to {last}");
}
