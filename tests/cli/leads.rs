//! Where a wrong word leads: to the command that is meant, and never to one that ketcd does not have. And `KETCD_FILE`, so that `-f` is typed once.

use std::path::{Path, PathBuf};

use ketcd_testing::nobody::nobody;

use crate::ketcd::{all, ketcd};

fn capture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures/k120-story/snapshot.db.zst")
}

#[test]
fn words_that_are_no_commands_lead_to_what_is_meant() {
    for (word, wanted) in [
        ("pods", "ketcd get pods"),
        ("deploy", "ketcd get deploy"),
        ("log", "ketcd history"),
        ("why", "ketcd explain"),
        ("show", "ketcd describe"),
        ("version", "ketcd --version"),
        ("histroy", "history"),
        ("restore", "ketcd rehearse BACKUP"),
        ("restore", "ketcd extract"),
        ("dry-run", "ketcd rehearse BACKUP"),
        ("simulate", "ketcd rehearse BACKUP"),
        ("undelete", "ketcd extract"),
        ("search", "ketcd grep"),
        ("find", "ketcd grep"),
        ("fsck", "ketcd verify"),
        ("size", "ketcd usage"),
    ] {
        let output = ketcd().arg(word).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{word}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(wanted), "{word}: {}", all(&output));
    }
}

#[test]
fn errors_have_one_voice() {
    let file = capture();
    for (words, wanted) in [
        ("pods", "list them: ketcd -f FILE get pods"),
        ("node/node1", "show it: ketcd -f FILE get node/node1"),
        ("serve --port 1", "--listen 127.0.0.1:PORT"),
        ("history --limit 3", "unexpected argument '--limit' found"),
        ("history -p", "unexpected argument '-p' found"),
        ("diff --since", "unexpected argument '--since' found"),
        ("history --audit x", "-f reads the audit log too"),
        ("timeline --by x", "name the log as well: -f snapshot.db -f audit.log"),
        ("get pods --kubeconfig x", "-f kubeconfig:"),
        ("get pods --context x", "-f kubeconfig:CONTEXT"),
        ("explain", "an ADDRESS is kind/namespace/name, a kind and names, or a kind: ketcd explain pod/shop/web-0"),
        ("get -n web", "an ADDRESS is kind/namespace/name, a kind and names, or a kind: ketcd get deploy/shop/web"),
        ("--endpoints http://127.0.0.1:1 get pods", "cannot be used with"),
        ("plugins NodeAfinity", "did you mean NodeAffinity?"),
        ("get pods -o jsn", "did you mean json"),
        ("get pods -o JSON", "did you mean json"),
        ("get pods -o tree", "use one of table, wide, json"),
        ("schema gte", "did you mean get"),
        ("decode", "decode reads one value from a file or from standard input, not from -f"),
        ("get pods --at 2026-11-20", "2026-11-20 22:16"),
        ("get pods --at yesterday", "an age such as 10m or 1d"),
    ] {
        let source = if words.starts_with("plugins ") || words.starts_with("schema ") { None } else { Some("-f") };
        let output = ketcd().args(source).args(source.map(|_| &file)).args(words.split(' ')).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        let lines: Vec<&str> = said.lines().filter(|line| line.contains("error:")).collect();
        assert!(lines.len() == 1 && lines[0].starts_with("ketcd: error: "), "{words}: {said}");
        assert!(said.contains(&wanted.replace("FILE", file.to_str().unwrap())), "{words}: {said}");
        assert!(!said.contains("as a value"), "{words}: {said}");
    }
}

#[test]
fn a_file_that_is_missing_leads_to_the_one_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(capture(), folder.path().join("night.db.zst")).unwrap();
    let run = |file: &str| ketcd().current_dir(folder.path()).args(["-f", file, "status"]).output().unwrap();
    let missing = run("night.db");
    let said = String::from_utf8_lossy(&missing.stderr);
    assert_eq!(missing.status.code(), Some(2), "{said}");
    assert!(said.ends_with("(os error 2); night.db.zst is there: -f night.db.zst\n"), "{said}");
    for (there, asked) in [("a.db", "a.db.gz"), ("b.db.gz", "b.db"), ("c.zip", "c")] {
        std::fs::copy(capture(), folder.path().join(there)).unwrap();
        assert!(String::from_utf8_lossy(&run(asked).stderr).contains(&format!("{there} is there: -f {there}")), "{asked}");
    }
    assert!(String::from_utf8_lossy(&run("other.db").stderr).contains("check the path and its permissions"));
}

#[test]
fn hidden_commands_are_never_suggested() {
    let command = ::ketcd::command();
    let hidden: Vec<&str> = command.get_subcommands().filter(|command| command.is_hide_set()).map(|command| command.get_name()).collect();
    assert!(hidden.contains(&"expose"));
    for word in ["endpoint", "expos", "logz", "delet", "labels", "scal"] {
        let output = ketcd().arg(word).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(hidden.iter().all(|name| !said.contains(&format!("'{name}'"))), "{word}: {said}");
    }
}

#[test]
fn the_variable_names_what_the_flag_names_and_the_flag_wins() {
    let run = |variable: &Path, flags: &[&str]| ketcd().env("KETCD_FILE", variable).args(flags).output().unwrap();
    let file = capture();
    let by_variable = run(&file, &["get", "pods", "-A"]);
    assert!(by_variable.status.success(), "{}", all(&by_variable));
    assert_eq!(by_variable.stdout, ketcd().arg("-f").arg(&file).args(["get", "pods", "-A"]).output().unwrap().stdout);
    // What is suggested runs as it stands, wherever it is pasted.
    let suggests = run(&file, &["get", "pod/lab/crasher"]);
    assert!(String::from_utf8_lossy(&suggests.stderr).contains(&format!("-f {}", file.display())), "{}", all(&suggests));
    let flag = run(Path::new("/nowhere.db"), &["-f", file.to_str().unwrap(), "get", "pods", "-A"]);
    assert_eq!(flag.stdout, by_variable.stdout);
    let both = PathBuf::from(format!("{}:{}", file.display(), file.with_file_name("compacted.db.zst").display()));
    assert!(run(&both, &["get", "pods", "-A"]).status.success());
    assert_eq!(run(Path::new("/nowhere.db"), &["get", "pods"]).status.code(), Some(2));
}

#[test]
fn what_reads_no_file_or_two_of_its_own_does_not_see_the_variable() {
    let (first, second) = (capture(), capture().with_file_name("compacted.db.zst"));
    let without = ketcd().arg("diff").args([&first, &second]).output().unwrap();
    let with = ketcd().env("KETCD_FILE", "/nowhere.db").arg("diff").args([&first, &second]).output().unwrap();
    assert!(!with.stdout.is_empty() && with.stdout == without.stdout && with.status.code() == without.status.code(), "{}", all(&with));
    // `record` reads a live etcd, which is none here: the file is not what fails.
    let folder = tempfile::tempdir().unwrap();
    let (mut record, endpoint) = (ketcd(), nobody("http://"));
    record.env("KETCD_FILE", "/nowhere.db").env("ETCDCTL_ENDPOINTS", &endpoint).arg("record").arg(folder.path().join("new"));
    let output = record.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(all(&output).contains(&format!("no etcd answers at {endpoint}")) && !all(&output).contains("nowhere"), "{}", all(&output));
}

#[test]
fn names_that_are_nearly_right_lead_to_the_right_ones() {
    let run = |words: &str| ketcd().arg("-f").arg(capture()).args(words.split(' ')).output().unwrap();
    for (words, wanted) in [
        ("get pod crahser -n web", "did you mean crasher? ketcd -f "),
        ("describe pod/web/crahser", "describe pod/web/crasher"),
        ("get node node9", "did you mean node1 or node2 or node3?"),
        ("get pods -n wbe", "No resources found in wbe namespace, which does not exist; did you mean web?"),
    ] {
        let output = run(words);
        assert_eq!(output.status.code(), Some(1), "{words}: {}", all(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains(wanted), "{words}: {}", all(&output));
    }
    // A namespace that is there has nothing of the kind.
    let empty = run("get pods -n kube-public");
    assert!(
        String::from_utf8_lossy(&empty.stderr).contains("No resources found in kube-public namespace; -A looks in all"),
        "{}",
        all(&empty)
    );
}
