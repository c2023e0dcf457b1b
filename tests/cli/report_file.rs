//! Where `report` writes: a report is replaced in one step, nothing else without --force, and never the file that is read.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

const SHOP_OBJECTS: &str = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "shop", "uid": "1", "resourceVersion": "7"},
    "spec": {"containers": [{"name": "c", "image": "i"}]}}"#;

/// A folder with a file of objects in it, which is what is reported on.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        fs::write(folder.path("pods.json"), SHOP_OBJECTS).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `report` of the objects, run in the folder.
    fn report(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ketcd"));
        command.current_dir(self.0.path()).args(["-f", "pods.json", "report"]).args(arguments).output().unwrap()
    }

    #[track_caller]
    fn writes(&self, arguments: &[&str]) {
        let output = self.report(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    }

    /// Holds that nothing is written: one error that says `expected`, and every file as it was.
    #[track_caller]
    fn refuses(&self, arguments: &[&str], expected: &str) {
        self.refused(&self.report(arguments), arguments, expected);
    }

    #[track_caller]
    fn refused(&self, output: &Output, arguments: &[&str], expected: &str) {
        let stderr = stderr(output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected) && stderr.matches("error:").count() == 1, "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert_eq!(fs::read_to_string(self.path("pods.json")).unwrap(), SHOP_OBJECTS, "{arguments:?}");
        self.is_clean();
    }

    /// Holds that no temporary file was left.
    #[track_caller]
    fn is_clean(&self) {
        let names: Vec<String> =
            fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert!(names.iter().all(|name| !name.starts_with('.')), "{names:?}");
    }

    fn mode(&self, name: &str) -> u32 {
        fs::symlink_metadata(self.path(name)).unwrap().permissions().mode() & 0o7777
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn is_report(path: &Path) -> bool {
    fs::read_to_string(path).unwrap().trim_end().ends_with("</html>")
}

#[test]
fn a_report_is_replaced_and_no_other_file_is() {
    let folder = Folder::new();
    folder.writes(&["--out", "story.html"]);
    assert!(is_report(&folder.path("story.html")));
    folder.writes(&["--out", "story.html", "--title", "The second"]);
    assert!(fs::read_to_string(folder.path("story.html")).unwrap().contains("<title>The second</title>"));
    fs::write(folder.path("empty.html"), "").unwrap();
    folder.writes(&["--out", "empty.html"]);

    for other in ["notes.txt", "<!doctype html>\n<html><head><title>mine</title></head></html>\n"] {
        fs::write(folder.path("notes"), other).unwrap();
        folder.refuses(
            &["--out", "notes"],
            "notes exists and is not a report that ketcd wrote; choose another file, or replace it with --force",
        );
        assert_eq!(fs::read_to_string(folder.path("notes")).unwrap(), other);
    }
    folder.writes(&["--out", "notes", "--force"]);
    assert!(is_report(&folder.path("notes")));
    folder.is_clean();
}

#[test]
fn what_is_read_is_never_replaced() {
    let folder = Folder::new();
    symlink("pods.json", folder.path("link")).unwrap();
    symlink("link", folder.path("link-to-link")).unwrap();
    fs::hard_link(folder.path("pods.json"), folder.path("hard-link")).unwrap();
    let whole = folder.path("pods.json").to_str().unwrap().to_owned();
    for name in ["pods.json", "./pods.json", &whole, "link", "link-to-link", "hard-link"] {
        folder.refuses(&["--out", name, "--force"], "belongs to what -f pods.json reads");
    }
    assert!(folder.path("link").is_symlink());

    let config = folder.path("keys.yaml");
    let text = "kind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers: [{identity: {}}]\n";
    fs::write(&config, text).unwrap();
    folder.refuses(&["--out", "keys.yaml", "--force", "--encryption-config", "keys.yaml"], "--encryption-config keys.yaml reads");
    assert_eq!(fs::read_to_string(&config).unwrap(), text);

    // Standard input is a file too, whatever it is called.
    let mut command = Command::new(env!("CARGO_BIN_EXE_ketcd"));
    command.current_dir(folder.0.path()).args(["-f", "-", "report", "--force", "--out", "pods.json"]);
    let output = command.stdin(fs::File::open(folder.path("pods.json")).unwrap()).output().unwrap();
    folder.refused(&output, &["-f", "-"], "belongs to what -f - reads");
}

#[test]
fn nothing_is_written_into_a_data_dir() {
    let folder = Folder::new();
    let snapshot = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures/k120-story/snapshot.db.zst");
    let db = zstd::decode_all(fs::File::open(snapshot).unwrap()).unwrap();
    fs::create_dir_all(folder.path("etcd/member/snap")).unwrap();
    fs::write(folder.path("etcd/member/snap/db"), &db).unwrap();
    fs::hard_link(folder.path("etcd/member/snap/db"), folder.path("hard-link")).unwrap();
    symlink("etcd/member/snap/db", folder.path("link")).unwrap();
    symlink("etcd", folder.path("data")).unwrap();
    for out in ["etcd/new.html", "etcd/member/snap/db", "data/member/new.html", "link", "hard-link"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ketcd"));
        command.current_dir(folder.0.path()).args(["-f", "etcd", "report", "node/node1", "--force", "--out", out]);
        folder.refused(&command.output().unwrap(), &[out], "belongs to what -f etcd reads");
        assert!(fs::read(folder.path("etcd/member/snap/db")).unwrap() == db, "{out}");
    }
    assert!(!folder.path("etcd/new.html").exists() && !folder.path("etcd/member/new.html").exists());
}

#[test]
fn a_link_is_replaced_and_what_it_leads_to_stays() {
    let folder = Folder::new();
    folder.writes(&["--out", "monday.html"]);
    let monday = fs::read(folder.path("monday.html")).unwrap();
    symlink("monday.html", folder.path("latest.html")).unwrap();
    folder.writes(&["--out", "latest.html", "--title", "Tuesday"]);
    assert!(!folder.path("latest.html").is_symlink() && is_report(&folder.path("latest.html")));
    assert_eq!(fs::read(folder.path("monday.html")).unwrap(), monday);

    fs::write(folder.path("notes.txt"), "mine").unwrap();
    symlink("notes.txt", folder.path("to-notes")).unwrap();
    folder.refuses(&["--out", "to-notes"], "to-notes exists and is not a report");
    folder.writes(&["--out", "to-notes", "--force"]);
    assert_eq!(fs::read_to_string(folder.path("notes.txt")).unwrap(), "mine");
}

#[test]
fn standard_output_and_pipes() {
    let folder = Folder::new();
    folder.writes(&["--out", "story.html"]);
    let page = fs::read(folder.path("story.html")).unwrap();
    for out in ["-", "/dev/stdout"] {
        let output = folder.report(&["--out", out]);
        assert_eq!((output.status.code(), output.stdout == page), (Some(0), true), "{}", stderr(&output));
        assert!(stderr(&output).contains("one object written to standard output"), "{}", stderr(&output));
    }
    assert!(Path::new("/dev/stdout").is_symlink());
    folder.writes(&["--out", "/dev/null"]);
    assert!(!Path::new("/dev/null").is_file());
    let mut shell = Command::new("bash");
    shell.current_dir(folder.0.path()).args([
        "-c",
        "\"$0\" -f pods.json report --out >(cat > copy.html); wait $!",
        env!("CARGO_BIN_EXE_ketcd"),
    ]);
    let output = shell.stdin(Stdio::null()).output().unwrap();
    assert_eq!(fs::read(folder.path("copy.html")).unwrap(), page, "{}", stderr(&output));
}

#[test]
fn secrets_are_for_their_owner_alone() {
    let folder = Folder::new();
    // The mode that the umask leaves an ordinary file.
    fs::write(folder.path("ordinary"), "").unwrap();
    folder.writes(&["--out", "story.html"]);
    assert_eq!(folder.mode("story.html"), folder.mode("ordinary"));
    fs::set_permissions(folder.path("story.html"), fs::Permissions::from_mode(0o666)).unwrap();
    folder.writes(&["--out", "story.html", "--show-secrets"]);
    assert_eq!(folder.mode("story.html"), 0o600);
}

#[test]
fn what_cannot_be_written_leaves_all_as_it_was() {
    let folder = Folder::new();
    fs::create_dir(folder.path("folder")).unwrap();
    symlink("folder", folder.path("link-to-folder")).unwrap();
    for name in ["folder", "folder/", "new/", "link-to-folder", ".", "..", ""] {
        folder.refuses(&["--out", name, "--force"], "is a directory; name a file in it");
    }
    folder.refuses(&["--out", "no/such/story.html"], "there is no directory no/such; create it first");
    folder.refuses(&["--out", "pods.json/story.html"], "cannot write pods.json/story.html");
    folder.refuses(&["--out", "/dev/full"], "cannot write /dev/full: No space left on device");

    folder.writes(&["--out", "story.html"]);
    let before = fs::read(folder.path("story.html")).unwrap();
    // The largest file that may be written is smaller than the page.
    let mut shell = Command::new("sh");
    let script = "trap '' XFSZ; ulimit -f 4; exec \"$0\" -f pods.json report --out story.html";
    let output = shell.current_dir(folder.0.path()).args(["-c", script, env!("CARGO_BIN_EXE_ketcd")]).output().unwrap();
    folder.refused(&output, &["ulimit"], "cannot write story.html: File too large");
    assert_eq!(fs::read(folder.path("story.html")).unwrap(), before);
}

#[test]
fn what_is_not_found_leaves_no_page() {
    let folder = Folder::new();
    let output = folder.report(&["services", "-A", "--out", "story.html"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(!folder.path("story.html").exists());
    folder.is_clean();
}
