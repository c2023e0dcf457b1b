//! `ls` and `get` on a recorded cluster, as a user runs them: formats, selectors, exit codes, what is masked, the message when nothing is found.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name).join("snapshot.db.zst")
}

fn ketcd(file: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ketcd")).arg("-f").arg(file).args(arguments).output().unwrap()
}

fn story(arguments: &[&str]) -> Output {
    ketcd(&capture("k120-story"), arguments)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs the arguments on the recorded cluster and holds what is printed and the exit code.
#[track_caller]
fn check(arguments: &[&str], wanted: &str, code: i32) {
    let output = story(arguments);
    assert_eq!(text(&output.stdout), wanted, "{arguments:?}: {}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
}

/// Runs the arguments and holds the one line on standard error and the exit code; nothing is printed.
#[track_caller]
fn check_error(arguments: &[&str], wanted: &str, code: i32) {
    let output = story(arguments);
    assert_eq!(text(&output.stderr), format!("ketcd: {wanted}\n"), "{arguments:?}");
    assert_eq!((output.stdout.len(), output.status.code()), (0, Some(code)), "{arguments:?}");
}

fn parsed(arguments: &[&str]) -> Value {
    serde_json::from_slice(&story(arguments).stdout).unwrap()
}

#[test]
fn names_and_selectors() {
    check(&["ls", "no", "-o", "name"], "node/node1\nnode/node2\nnode/node3\nnode/node4\n", 0);
    check(
        &["ls", "NODES", "-o", "name", "--field-selector", "metadata.name!=node2", "-l", "kubernetes.io/hostname in (node1,node2)"],
        "node/node1\n",
        0,
    );
    check(&["get", "node", "node1", "node4", "-o", "name"], "node/node1\nnode/node4\n", 0);
    check(&["get", "no,ns", "lab", "node1", "-o", "name", "--field-selector", "metadata.name!=x"], "node/node1\nnamespace/lab\n", 0);
    check(&["ls", "deploy,crd", "-A", "-o", "name", "-l", "nothing=such"], "", 1);
}

#[test]
fn the_same_objects_in_every_format() {
    let list = parsed(&["ls", "pods", "-A", "-o", "json"]);
    assert_eq!((&list["kind"], &list["apiVersion"]), (&"List".into(), &"v1".into()));
    let yaml: Value = serde_saphyr::from_slice(&story(&["ls", "pods", "-A", "-o", "yaml"]).stdout).unwrap();
    assert_eq!(yaml, list);
    let lines = text(&story(&["ls", "pods", "-A", "-o", "ndjson"]).stdout);
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(Value::Array(lines), list["items"]);
    let names = text(&story(&["ls", "pods", "-A", "-o", "jsonpath={range .items[*]}pod/{.metadata.name}{\"\\n\"}{end}"]).stdout);
    assert_eq!(names, text(&story(&["ls", "pods", "-A", "-o", "name"]).stdout));
    let rows = text(&story(&["ls", "pods", "-A", "--no-headers"]).stdout);
    assert_eq!(rows.lines().count(), list["items"].as_array().unwrap().len());
    assert!(list["items"].as_array().unwrap().iter().all(|pod| pod["metadata"].get("managedFields").is_none()));
    let mut whole = parsed(&["ls", "pods", "-A", "-o", "json", "--show-managed-fields"]);
    let cut = whole["items"].as_array_mut().unwrap().iter_mut().map(|pod| pod["metadata"].as_object_mut().unwrap().remove("managedFields"));
    assert!(cut.collect::<Vec<_>>().iter().flatten().all(Value::is_array));
    assert_eq!(whole, list);
}

#[test]
fn one_object_is_no_list() {
    let node = parsed(&["get", "node/node1", "-o", "json"]);
    assert_eq!((&node["kind"], &node["metadata"]["name"]), (&"Node".into(), &"node1".into()));
    assert_eq!(parsed(&["get", "/registry/minions/node1", "-o", "json"]), node);
    check(&["get", "node/node1", "-o", "jsonpath={.metadata.name} {.status.addresses[?(@.type==\"Hostname\")].address}"], "node1 node1", 0);
}

#[test]
fn sorted_and_in_columns_of_ones_own() {
    check(
        &["ls", "nodes", "-o", "custom-columns=NAME:.metadata.name,TAINTS:.spec.none", "--sort-by", ".metadata.name"],
        "NAME    TAINTS\nnode1   <none>\nnode2   <none>\nnode3   <none>\nnode4   <none>\n",
        0,
    );
    check_error(
        &["ls", "nodes", "--sort-by", ".no.such"],
        "error: --sort-by: no object has the field .no.such; check the path with -o yaml",
        2,
    );
}

#[test]
fn secrets_are_masked() {
    let hidden = text(&story(&["ls", "secrets", "-A", "-o", "json"]).stdout);
    let shown = parsed(&["ls", "secrets", "-A", "-o", "json", "--show-secrets"]);
    let mut values = 0;
    for secret in shown["items"].as_array().unwrap() {
        for value in
            secret["data"].as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str()).filter(|value| value.len() > 8)
        {
            assert!(!hidden.contains(value), "{}", secret["metadata"]["name"]);
            values += 1;
        }
    }
    assert!(values > 0 && hidden.contains("\"***\""));
    for format in ["ndjson", "yaml", "jsonpath={.items[*].data}"] {
        assert!(!text(&story(&["ls", "secrets", "-A", "-o", format]).stdout).contains(&*first_value(&shown)), "{format}");
    }
}

fn first_value(list: &Value) -> String {
    let data = list["items"].as_array().unwrap().iter().find_map(|secret| secret["data"].as_object()).unwrap();
    data.values().find_map(|value| value.as_str().filter(|value| value.len() > 8)).unwrap().to_owned()
}

#[test]
fn at_an_earlier_revision() {
    let revision = created("ubuntu");
    check_error(
        &["get", "pod/lab/ubuntu", "--rev", "2"],
        &format!(
            "error: pod \"ubuntu\" not found in namespace \"lab\" at revision 2; it was created at revision {revision}: \
             ketcd -f {} get pod/lab/ubuntu --rev {revision}",
            capture("k120-story").display(),
        ),
        1,
    );
    let output = story(&["get", "pod/lab/ubuntu", "-o", "jsonpath={.metadata.resourceVersion}", "--rev", &revision]);
    assert_eq!(text(&output.stdout), revision);
}

/// The revision that created a pod of the lab, by its history.
fn created(name: &str) -> String {
    let lines = text(&story(&["history", &format!("pod/lab/{name}"), "-o", "ndjson"]).stdout);
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    first["revision"].to_string()
}

#[test]
fn what_is_not_found_or_not_understood() {
    check_error(&["ls", "pood"], "error: no kind is called \"pood\"; did you mean pods?", 2);
    let listed = format!("list the namespaces: ketcd -f {} ls namespaces", capture("k120-story").display());
    check_error(&["ls", "pods", "-n", "nowhere"], &format!("No resources found in nowhere namespace, which does not exist; {listed}"), 1);
    check_error(&["ls", "pods", "-o", "go-template"], "error: -o go-template needs a value; write -o go-template=…", 2);
    check_error(
        &["get", "node/a/b"],
        "error: invalid address \"node/a/b\": nodes have no namespace; write kind/namespace/name, kind/name -n NAMESPACE, kind, or a key that begins with /",
        2,
    );
    let output = story(&["get", "pod/lab/never"]);
    let wanted = "error: pod \"never\" not found in namespace \"lab\" at revision 1787; nor at any other readable revision, 1 to 1787\n";
    assert!(text(&output.stderr).ends_with(wanted), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
}

/// The cluster with every stored version of every node broken: the length of the object after its type is wrong.
fn with_broken_nodes() -> tempfile::NamedTempFile {
    let whole = zstd::decode_all(std::fs::File::open(capture("k120-story")).unwrap()).unwrap();
    let node = b"k8s\0\n\n\n\x02v1\x12\x04Node";
    let mut broken = whole.clone();
    let found: Vec<usize> = whole.windows(node.len()).enumerate().filter(|(_, window)| window == node).map(|(at, _)| at).collect();
    assert!(!found.is_empty());
    found.iter().for_each(|&at| broken[at + node.len() + 1] ^= 0x7f);
    let file = tempfile::Builder::new().suffix(".db").tempfile().unwrap();
    std::fs::write(file.path(), broken).unwrap();
    file
}

#[test]
fn broken_values_are_named_and_the_rest_goes_on() {
    let file = with_broken_nodes();
    let broken = |errors: &str| errors.lines().filter(|line| line.contains("/registry/minions/node") && line.contains("is broken")).count();
    for (arguments, shown, wanted) in [
        (&["ls", "nodes,namespaces", "-o", "name", "-l", "!none"][..], "namespace/lab\n", 4),
        (&["ls", "nodes,namespaces"], "lab ", 4),
        (&["get", "no,ns", "-o", "ndjson"], "\"name\":\"lab\"", 4),
        (&["get", "no,ns", "-o", "yaml"], "name: lab\n", 4),
        (&["get", "no,ns", "-o", "custom-columns=N:.metadata.name"], "lab\n", 4),
        (&["diff", "no,ns", "--rev", ".."], "Namespace", 4),
    ] {
        let output = ketcd(file.path(), arguments);
        let (shows, errors) = (text(&output.stdout), text(&output.stderr));
        assert_eq!((output.status.code(), shows.contains(shown)), (Some(2), true), "{arguments:?}: {shows}{errors}");
        assert!(broken(&errors) >= wanted, "{arguments:?}: {errors}");
        assert!(errors.contains("at revision ") && errors.contains("at offset "), "{arguments:?}: {errors}");
    }
    for command in ["history node/node1", "watch node/node1 --from-rev 1", "timeline node/node1", "explain pod/lab/weighted"] {
        let output = ketcd(file.path(), &command.split(' ').collect::<Vec<_>>());
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command}: {errors}");
        assert!(broken(&errors) >= 1, "{command}: {errors}");
    }
}

/// Objects as kubectl prints them, in a file.
fn objects(objects: &[Value]) -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    let lines: Vec<String> = objects.iter().map(Value::to_string).collect();
    std::fs::write(file.path(), lines.join("\n")).unwrap();
    file
}

#[test]
fn unknown_fields_are_counted_whatever_the_command() {
    let pod = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "uid": name},
            "spec": {"containers": [{"name": "c", "image": "i", "fromTheFuture": true}], "later": {"a": 1}}})
    };
    let (file, other) = (objects(&[pod("a"), pod("b")]), objects(&[pod("a"), pod("c")]));
    let both = [file.path().to_str().unwrap(), other.path().to_str().unwrap()];
    for (arguments, fields, objects) in [
        (&["ls", "pods", "-A"][..], 4, 2),
        (&["get", "pods", "-A", "-o", "ndjson"], 4, 2),
        (&["get", "pod/shop/a", "-o", "yaml"], 2, 1),
        (&["explain", "pod/shop/a"], 4, 2),
    ] {
        let arguments = [arguments, &["--release", "1.36"]].concat();
        let errors = text(&ketcd(file.path(), &arguments).stderr);
        let objects = if objects == 1 { "one object".to_owned() } else { format!("{objects} objects") };
        assert!(errors.contains(&format!("{fields} unknown fields in {objects} left out")), "{arguments:?}: {errors}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_ketcd")).args(["diff", both[0], both[1], "--release", "1.36"]).output().unwrap();
    let errors = text(&output.stderr);
    assert!(errors.contains("2 unknown fields in one object left out"), "{errors}");
    let shown = text(&ketcd(file.path(), &["ls", "pods", "-A", "--release", "1.36", "--unknown"]).stderr);
    for line in [
        "/registry/pods/shop/a: spec.containers[0].fromTheFuture: unknown member, true",
        "/registry/pods/shop/b: spec.later: unknown member, {\"a\":1}",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
}

#[test]
fn custom_resources_of_a_file_have_the_kinds_and_columns_of_its_definitions() {
    let thing =
        json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t", "namespace": "shop"}, "spec": {"size": 3}});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList", "shortNames": ["th"]},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]}]}});
    let odd = json!({"apiVersion": "nowhere.example.com/v1", "kind": "Odd", "metadata": {"name": "o"}});
    let file = objects(&[thing, odd, definition]);
    let output = ketcd(file.path(), &["ls", "th", "-n", "shop"]);
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("NAME   SIZE\nt      3\n", Some(0)));
    assert!(text(&output.stderr).contains("one object nowhere.example.com/v1 Odd: shown as odds.nowhere.example.com"));
}

#[test]
fn labels_have_columns() {
    let pod = |name: &str, labels: Value| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
    let file = objects(&[pod("a", json!({"app.kubernetes.io/name": "web", "tier": "front"})), pod("b", json!({"tier": "back"}))]);
    let shown = text(&ketcd(file.path(), &["ls", "ns", "-L", "app.kubernetes.io/name,tier", "--show-labels"]).stdout);
    let wanted = "NAME   STATUS   AGE         NAME     TIER    LABELS
a      Active   <unknown>   web      front   app.kubernetes.io/name=web,kubernetes.io/metadata.name=a,tier=front
b      Active   <unknown>   <none>   back    kubernetes.io/metadata.name=b,tier=back
";
    assert_eq!(shown, wanted);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ketcd"))
        .arg("-f")
        .arg(capture("k120-story"))
        .args(["ls", "--all", "-o", "ndjson"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn completion_knows_kinds_and_names() {
    let file = capture("k120-story");
    let complete = |word: &str| {
        let arguments = ["--", "ketcd", "-f", file.to_str().unwrap(), "get", word];
        let mut command = Command::new(env!("CARGO_BIN_EXE_ketcd"));
        let output = command.env("COMPLETE", "fish").env("KETCD_COMPLETION_TIMEOUT", "24h").args(arguments).output().unwrap();
        text(&output.stdout).lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(complete("statef"), ["statefulsets"]);
    assert_eq!(complete("node/node"), ["node/node1", "node/node2", "node/node3", "node/node4"]);
    for shell in ["bash", "zsh", "fish"] {
        let output = Command::new(env!("CARGO_BIN_EXE_ketcd")).args(["completion", shell]).output().unwrap();
        assert!(output.status.success() && text(&output.stdout).contains("COMPLETE"), "{shell}");
    }
}

#[test]
fn a_cell_of_70_000_characters_is_shown_whole() {
    let columns = "custom-columns=S:.spec,N:.metadata.name";
    let output = ketcd(&capture("k136-cbor"), &["ls", "things.lab.example.com", "-A", "-o", columns]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.lines().any(|line| line.len() > 65_535));
}

/// An etcd holds keys of others than Kubernetes: they are listed and shown, whether they begin with a slash or not.
#[test]
fn keys_that_are_not_kubernetes_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut database = ketcd_testing::written::Written::default();
    for key in ["by-dev/meta/session/id", "by-dev/meta/ddl", "/player/info/6ls"] {
        database.put(key, serde_json::json!({"address": key}).to_string());
    }
    std::fs::write(folder.path().join("other.db"), database.finish()).unwrap();
    let run = |arguments: &str| {
        let output =
            crate::ketcd::ketcd().current_dir(folder.path()).args(["-f", "other.db"]).args(arguments.split_whitespace()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments}: {}", crate::ketcd::all(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let listed = run("ls by-dev/");
    assert!(listed.contains("by-dev/meta/session/id") && listed.contains("by-dev/meta/ddl") && !listed.contains("player"), "{listed}");
    assert!(run("get by-dev/meta/ddl -o json").contains("\"address\": \"by-dev/meta/ddl\""));
    assert!(run("get /player/info/6ls").contains("/player/info/6ls"));
}

/// `-o raw` prints the bytes that etcd holds, of one key, and of no Secret unless it is asked for.
#[test]
fn raw_values_are_as_stored_and_secrets_are_asked_for() {
    let pod = story(&["get", "pod/lab/ubuntu", "-o", "raw"]).stdout;
    assert!(pod.starts_with(b"k8s\0\n"), "{:?}", &pod[..pod.len().min(20)]);
    let mut decode = Command::new(env!("CARGO_BIN_EXE_ketcd")).arg("decode").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    decode.stdin.take().unwrap().write_all(&pod).unwrap();
    let mut decoded: Value = serde_json::from_slice(&decode.wait_with_output().unwrap().stdout).unwrap();
    let mut shown = parsed(&["get", "pod/lab/ubuntu", "-o", "json", "--show-managed-fields"]);
    // The API server takes it from the revision.
    [&mut decoded, &mut shown].into_iter().for_each(|object| drop(object["metadata"].as_object_mut().unwrap().remove("resourceVersion")));
    assert_eq!(decoded, shown);
    assert_eq!(story(&["get", "/registry/pods/lab/ubuntu", "-o", "raw"]).stdout, pod);

    let name = text(&story(&["get", "secrets", "-n", "web", "-o", "name"]).stdout);
    let secret = format!("secret/web/{}", name.lines().next().unwrap().strip_prefix("secret/").unwrap());
    let refused = story(&["get", &secret, "-o", "raw"]);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("holds values of a Secret; --show-secrets prints it"), "{}", text(&refused.stderr));
    assert!(story(&["get", &secret, "-o", "raw", "--show-secrets"]).stdout.starts_with(b"k8s\0\n"));
    let several = story(&["get", "pods", "-A", "-o", "raw"]);
    assert_eq!((several.status.code(), several.stdout.len()), (Some(2), 0));
    assert!(text(&several.stderr).contains("-o raw prints the bytes of one value"), "{}", text(&several.stderr));
}

/// Go templates see the object, or the List of several, as kubectl's do; a file holds one too.
#[test]
fn go_templates_and_templates_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, template: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, template).unwrap();
        path.display().to_string()
    };
    let names = "{{range .items}}pod/{{.metadata.name}}{{\"\\n\"}}{{end}}";
    let wanted = text(&story(&["get", "pods", "-A", "-o", "name"]).stdout);
    let of_file = file("names", names);
    for format in [
        format!("go-template={names}"),
        format!("template={names}"),
        format!("go-template-file={of_file}"),
        format!("templatefile={of_file}"),
    ] {
        assert_eq!(text(&story(&["get", "pods", "-A", "-o", &format]).stdout), wanted, "{format}");
    }
    let path = file("path", "{range .items[*]}pod/{.metadata.name}{\"\\n\"}{end}");
    assert_eq!(text(&story(&["get", "pods", "-A", "-o", &format!("jsonpath-file={path}")]).stdout), wanted);
    let columns = file("columns", "NAME\tAPI\n.metadata.name  {.apiVersion}\n");
    let of_file = story(&["get", "pods", "-A", "-o", &format!("custom-columns-file={columns}")]);
    assert_eq!(of_file.stdout, story(&["get", "pods", "-A", "-o", "custom-columns=NAME:.metadata.name,API:.apiVersion"]).stdout);
    let uneven = story(&["get", "pods", "-A", "-o", &format!("custom-columns-file={}", file("uneven", "NAME API\n.metadata.name\n"))]);
    let said = "-o custom-columns-file: there are 2 headings but 1 paths";
    assert!(uneven.status.code() == Some(2) && text(&uneven.stderr).contains(said), "{}", text(&uneven.stderr));
    let as_json = story(&["get", "pods", "-A", "-o", "jsonpath-as-json={.items[*].metadata.name}"]);
    let names: Vec<String> = serde_json::from_slice(&as_json.stdout).unwrap();
    assert_eq!(names.iter().map(|name| format!("pod/{name}\n")).collect::<String>(), wanted);
    let one = story(&[
        "get",
        "pod/lab/ubuntu",
        "-o",
        "go-template={{.kind}} {{.metadata.name}} {{.spec.missing}} {{exists . \"spec\" \"nodeName\"}}",
    ]);
    assert_eq!(text(&one.stdout), "Pod ubuntu <no value> true");
    let masked = text(&story(&["get", "secrets", "-A", "-o", "go-template={{range .items}}{{range .data}}{{.}} {{end}}{{end}}"]).stdout);
    assert!(masked.split_whitespace().all(|value| value == "***") && masked.len() > 10, "{masked}");
    for (format, said) in [
        ("go-template={{.kind", "-o go-template: unclosed action"),
        ("go-template={{nope}}", "function \"nope\" not defined"),
        ("go-template={{index .items 0}}", "index of untyped nil"),
        ("go-template-file=/nowhere/x", "No such file"),
    ] {
        let output = story(&["get", "pod/lab/ubuntu", "-o", format]);
        assert!(output.status.code() == Some(2) && text(&output.stderr).contains(said), "{format}: {}", text(&output.stderr));
    }
}

#[test]
fn ls_proposes_the_prefix_of_another_api_servers_objects() {
    let castle =
        json!({"apiVersion": "kingdom.example.com/v1", "kind": "Castle", "metadata": {"name": "a", "namespace": "default"}}).to_string();
    let key = "/registry/wardle.example.com/registry/wardle.example.com/kingdom.example.com/castles/default/a";
    let file = ketcd_testing::temporary::file(ketcd_testing::written::Written::of(&[(key, &castle)]).finish());
    let listed = ketcd(file.path(), &["ls"]);
    let prefix = "/registry/wardle.example.com/registry/wardle.example.com";
    let said = text(&listed.stderr);
    assert!(said.contains(&format!("1 object of another API server is below {prefix}: --prefix {prefix} shows what is there")), "{said}");
    let names = ketcd(file.path(), &["--prefix", prefix, "ls", "castles.kingdom.example.com", "-o", "name"]);
    assert_eq!(text(&names.stdout), "castles.kingdom.example.com/a\n", "{}", text(&names.stderr));
}

/// The form itself is held against upstream's in `render::kyaml`.
#[test]
fn kyaml_holds_the_objects_of_json() {
    for words in [&["get", "pod/lab/ubuntu"][..], &["get", "pods", "-A"], &["ls", "crd", "-A"], &["get", "nodes", "-l", "none=there"]] {
        let [strict, json] = ["kyaml", "json"].map(|format| text(&story(&[words, &["-o", format]].concat()).stdout));
        assert!(strict.is_empty() == json.is_empty() && (strict.is_empty() || strict.starts_with("---\n{\n  apiVersion: \"")), "{strict}");
        if !json.is_empty() {
            let read: Value = serde_saphyr::from_str(&strict).unwrap();
            assert_eq!(read, serde_json::from_str::<Value>(&json).unwrap(), "{words:?}");
        }
    }
    let watched = text(&story(&["get", "pods", "-n", "lab", "-w", "--rev", "1500", "-o", "kyaml"]).stdout);
    let objects = text(&story(&["get", "pods", "-n", "lab", "-w", "--rev", "1500", "-o", "ndjson"]).stdout);
    assert_eq!(watched.matches("---\n{\n").count(), objects.lines().count());
}

#[test]
fn kinds_stand_before_names_where_that_is_asked_for() {
    let table = text(&story(&["get", "pods", "-n", "lab", "--show-kind", "--no-headers"]).stdout);
    assert!(!table.is_empty() && table.lines().all(|line| line.starts_with("pod/")), "{table}");
    let table = text(&story(&["get", "deploy", "-A", "--show-kind", "--no-headers"]).stdout);
    assert!(!table.is_empty() && table.lines().all(|line| line.contains(" deployment.apps/")), "{table}");
    let watched = text(&story(&["get", "pods", "-n", "lab", "--show-kind", "-w", "--no-headers", "--rev", "1500"]).stdout);
    assert!(watched.lines().all(|line| line.starts_with("pod/")), "{watched}");
}
