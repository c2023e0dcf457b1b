//! Pipes, devices, compressed files cut short, files that shrink, checksums that do not hold: commands on input that is not a complete regular file.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name)
}

fn decompressed(name: &str) -> Vec<u8> {
    zstd::decode_all(fs::File::open(capture(name)).unwrap()).unwrap()
}

fn ketcd(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ketcd"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(arguments: &[&str]) -> Output {
    ketcd(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Feeds a command from another thread: it may end before it has read everything.
fn feed(mut child: Child, bytes: Vec<u8>) -> Output {
    let mut stdin = child.stdin.take().unwrap();
    let feeding = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
    let output = child.wait_with_output().unwrap();
    feeding.join().unwrap();
    output
}

#[test]
fn a_pipe_is_read_as_a_file_is() {
    let file = capture("k136-cbor/snapshot.db.zst");
    let expected = run(&["-f", file.to_str().unwrap(), "ls", "namespaces"]);
    assert_eq!(expected.status.code(), Some(0), "{}", text(&expected.stderr));
    for (path, bytes) in [
        ("-", fs::read(&file).unwrap()),
        ("/dev/stdin", fs::read(&file).unwrap()),
        ("/dev/stdin", decompressed("k136-cbor/snapshot.db.zst")),
        ("/dev/fd/0", fs::read(&file).unwrap()),
    ] {
        let child = ketcd(&["-f", path, "ls", "namespaces"]).stdin(Stdio::piped()).spawn().unwrap();
        let output = feed(child, bytes);
        assert_eq!((text(&output.stdout), text(&output.stderr)), (text(&expected.stdout), ""), "{path}");
    }
    let directory = tempfile::tempdir().unwrap();
    let fifo = fifo(directory.path());
    let child = ketcd(&["-f", fifo.to_str().unwrap(), "ls", "namespaces"]).spawn().unwrap();
    fs::write(&fifo, fs::read(&file).unwrap()).unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, expected.stdout);
}

fn fifo(directory: &Path) -> PathBuf {
    let path = directory.join("fifo");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

#[test]
fn a_device_and_an_endless_pipe_of_nothing_are_refused() {
    for path in ["/dev/zero", "/dev/null", "/dev/urandom"] {
        let output = run(&["-f", path, "ls", "pods"]);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(text(&output.stderr), format!("ketcd: error: {path}: is a device, not a file; name a file or a pipe\n"));
    }
    let zero = fs::File::open("/dev/zero").unwrap();
    let output = ketcd(&["-f", "-", "ls", "pods"]).stdin(zero).output().unwrap();
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(2), "ketcd: error: -: is a device, not a file; name a file or a pipe\n")
    );
    let mut child = ketcd(&["-f", "-", "ls", "pods"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let feeding = std::thread::spawn(move || (0_usize..).take_while(|_| pipe.write_all(&[0; 1 << 16]).is_ok()).count());
    let output = child.wait_with_output().unwrap();
    assert!(feeding.join().unwrap() < 1 << 10, "64 MiB are taken of it");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr), "ketcd: error: -: is neither an etcd database nor API objects, plain or compressed\n");
}

#[test]
fn a_bomb_stops_at_a_limit_that_can_be_raised() {
    let mut bomb = tempfile::NamedTempFile::new().unwrap();
    let object = "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"a\", \"namespace\": \"x\"}}";
    let unpacked = [object.as_bytes(), &vec![b' '; 32 << 20]].concat();
    bomb.write_all(&zstd::encode_all(&unpacked[..], 1).unwrap()).unwrap();
    let path = bomb.path().to_str().unwrap();
    let output = run(&["-f", path, "--max-unpacked-size", "16Mi", "ls", "configmaps", "-A"]);
    assert_eq!(output.status.code(), Some(2));
    let expected = "it unpacks to more than 16777216 bytes, and ketcd stops there; if it is really that large, raise --max-unpacked-size";
    assert_eq!(text(&output.stderr), format!("ketcd: error: {path}: {expected}\n"));
    let output = run(&["-f", path, "--max-unpacked-size", "64Mi", "ls", "configmaps", "-A"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // The same of a pipe.
    let child = ketcd(&["-f", "-", "--max-unpacked-size", "16Mi", "ls", "configmaps"]).stdin(Stdio::piped()).spawn().unwrap();
    assert!(text(&feed(child, unpacked).stderr).contains("raise --max-unpacked-size"));
    let output = run(&["-f", path, "--max-unpacked-size", "0", "ls", "configmaps"]);
    assert!(text(&output.stderr).contains("it must be greater than 0"), "{}", text(&output.stderr));
}

#[test]
fn a_stream_cut_short_shows_what_is_left_and_is_damage() {
    let whole = fs::read(capture("k120-story/snapshot.db.zst")).unwrap();
    let mut cut = tempfile::NamedTempFile::new().unwrap();
    cut.write_all(&whole[..whole.len() / 2]).unwrap();
    let output = run(&["-f", cut.path().to_str().unwrap(), "ls", "nodes", "-o", "name"]);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("its zstd compression is damaged or cut short") && stderr.contains("truncated: the database has 687 pages"),
        "{stderr}"
    );
    assert_eq!(text(&output.stdout), "node/node1\nnode/node2\nnode/node3\nnode/node4\n");
}

#[test]
fn objects_cut_short_show_the_whole_ones_and_are_damage() {
    let name = |n: usize| format!("object-{n}-{}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let json = |n: usize| {
        format!("{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"{}\",\"namespace\":\"x\"}}}}\n", name(n))
    };
    let yaml = |n: usize| format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}\n  namespace: x\n---\n", name(n));
    let item = |n: usize| format!("- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: {}\n    namespace: x\n", name(n));
    let all = |object: &dyn Fn(usize) -> String| (0..400).map(object).collect::<String>();
    for text_of in [all(&json), all(&yaml), format!("apiVersion: v1\nitems:\n{}kind: List\n", all(&item))] {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text_of.as_bytes()).unwrap();
        let packed = gzip.finish().unwrap();
        let mut cut = tempfile::NamedTempFile::new().unwrap();
        cut.write_all(&packed[..packed.len() / 2]).unwrap();
        let output = run(&["-f", cut.path().to_str().unwrap(), "ls", "configmaps", "-n", "x", "-o", "name"]);
        let (shown, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("its gzip compression is damaged or cut short"), "{stderr}");
        let names: Vec<String> = (0..400).map(|n| format!("configmap/{}", name(n))).collect();
        assert!(shown.lines().count() > 100 && shown.lines().all(|shown| names.iter().any(|name| name == shown)), "{shown}");
    }
}

/// The command waits for its second file while the first one, which it has mapped already, is cut short.
#[test]
fn a_file_that_shrinks_while_it_is_read_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let (file, fifo) = (directory.path().join("snapshot.db"), fifo(directory.path()));
    fs::write(&file, decompressed("k120-story/snapshot.db.zst")).unwrap();
    let arguments = ["-f", file.to_str().unwrap(), "-f", fifo.to_str().unwrap(), "get", "nodes", "-o", "json"];
    let child = ketcd(&arguments).spawn().unwrap();
    // A pipe opens when both ends are there.
    let mut pipe = fs::File::options().write(true).open(&fifo).unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_len(4096).unwrap();
    let _ = pipe.write_all(&fs::read(capture("k120-story/compacted.db.zst")).unwrap());
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    let expected = format!("ketcd: error: {}: became shorter while it was read; copy the file and read the copy\n", file.display());
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), &expected[..]));
}

/// A value that was changed in place: nothing but the checksum shows it.
#[test]
fn a_checksum_that_does_not_hold_is_reported_by_every_command() {
    let mut broken = decompressed("k120-story/snapshot.db.zst");
    let word = b"example.com/urgent:1";
    let at = broken.windows(word.len()).position(|bytes| bytes == word).unwrap();
    broken[at + word.len() - 1] = b'2';
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("snapshot.db");
    fs::write(&file, broken).unwrap();
    let (path, page) = (file.to_str().unwrap(), directory.path().join("report.html"));
    let whole = capture("k120-story/snapshot.db.zst");
    for arguments in [
        &["-f", path, "get", "node/node1"][..],
        &["-f", path, "get", "pod/none"],
        &["-f", path, "ls", "pods", "-A"],
        &["-f", path, "history", "pod/lab/ubuntu"],
        &["-f", path, "timeline", "pod/lab/urgent"],
        &["-f", path, "describe", "pod/lab/urgent"],
        &["-f", path, "events", "-A"],
        &["-f", path, "tree", "deploy/web/tomcat"],
        &["-f", path, "explain", "pod/lab/urgent"],
        &["-f", path, "blame", "deploy/web/tomcat"],
        &["-f", path, "grep", "tomcat", "deployments"],
        &["-f", path, "triage"],
        &["-f", path, "usage"],
        &["-f", path, "diff", "pod/lab/urgent", "--rev", "820.."],
        &["-f", path, "status"],
        &["-f", path, "encryption"],
        &["-f", path, "watch", "pods", "-A", "--from-rev", "1700"],
        &["-f", path, "report", "--out", page.to_str().unwrap()],
        &["diff", path, whole.to_str().unwrap()],
        &["diff", whole.to_str().unwrap(), path],
    ] {
        let output = run(arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        let wanted =
            format!("ketcd: {path}: the SHA-256 at its end does not match: the snapshot was changed or damaged since it was taken, so");
        assert_eq!(stderr.matches(&wanted).count(), 1, "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_command_ends_with_its_pipe_though_etcd_keeps_silent() {
    // It takes the connection, and answers nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let patience = ["--dial-timeout", "24h", "--command-timeout", "24h"];
    for words in [&["get", "pods"][..], &["history", "pods", "-A"], &["triage"], &["watch", "pods"]] {
        let mut child = ketcd(&[&["--endpoints", &endpoint], &patience[..], words].concat()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{words:?}");
    }
}
