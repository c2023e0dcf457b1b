//! Files of API objects: one revision, however the objects are written.

use futures_util::StreamExt;
use ketcd_store::{At, Error, EventKind, KeyRange, Origin, Revision, Source, Want, load};
use ketcd_testing::temporary;
use serde_json::{Value, json};

use super::{events, status, wait};

/// A stand-in for the table of kinds: the test's objects are config maps.
fn key_of(object: &Value) -> Option<Vec<u8>> {
    let text = |pointer: &str| object.pointer(pointer)?.as_str();
    (text("/kind")? == "ConfigMap")
        .then(|| format!("/registry/configmaps/{}/{}", text("/metadata/namespace").unwrap(), text("/metadata/name").unwrap()).into())
}

/// Opens a file of objects.
fn open(text: impl AsRef<[u8]>) -> Result<Box<dyn Source>, Error> {
    load::open(&[temporary::file(text).path().to_str().unwrap().to_owned()], &key_of)
}

/// The keys and values that a source holds, and its revision.
fn held(source: &dyn Source) -> (Vec<String>, Vec<Value>, i64) {
    let listing = wait(source.range(KeyRange::all(), At::Newest, Want::Values)).unwrap();
    let revision = listing.revision.0;
    let entries: Vec<_> = wait(listing.entries.map(Result::unwrap).collect());
    let keys = entries.iter().map(|entry| String::from_utf8(entry.key.to_vec()).unwrap()).collect();
    let values = entries.iter().map(|entry| serde_json::from_slice(&entry.value).unwrap()).collect();
    (keys, values, revision)
}

/// The objects of a text, with what is said of them.
fn objects(text: impl AsRef<[u8]>) -> (Vec<String>, Vec<Value>, i64, Vec<String>) {
    let source = open(text).unwrap();
    let (keys, values, revision) = held(&*source);
    let status = status(&*source);
    (keys, values, revision, [status.problems, status.notes].concat())
}

fn config_map(name: &str, version: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "x", "resourceVersion": version}})
}

fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}})
}

/// The names of the objects in keys.
fn names(keys: &[String]) -> Vec<&str> {
    keys.iter().map(|key| key.rsplit('/').next().unwrap()).collect()
}

#[test]
fn api_objects_are_one_revision_however_they_are_written() {
    let one = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x", "resourceVersion": "17"}, "data": {"number": "12345678901234567890"}}"#;
    let two = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "x", "resourceVersion": "12"}}"#;
    let bare = |text: &str| text.replace(r#""apiVersion": "v1", "kind": "ConfigMap", "#, "");
    let yaml = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x, resourceVersion: \"17\"}\ndata:\n  number: \"12345678901234567890\"\n---\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n  namespace: x\n  resourceVersion: \"12\"\n";
    for text in [
        format!("{one}\n{two}\n"),
        format!(r#"{{"apiVersion": "v1", "kind": "List", "metadata": {{"resourceVersion": ""}}, "items": [{two}, {one}]}}"#),
        format!(
            r#"{{"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {{"resourceVersion": "17"}}, "items": [{}, {}]}}"#,
            bare(one),
            bare(two)
        ),
        yaml.to_owned(),
    ] {
        let (keys, values, revision, problems) = objects(&text);
        assert_eq!(keys, ["/registry/configmaps/x/a", "/registry/configmaps/x/b"], "{text}");
        assert_eq!(values, [serde_json::from_str::<Value>(one).unwrap(), serde_json::from_str(two).unwrap()], "{text}");
        assert_eq!((revision, problems), (17, vec![]), "{text}");
    }
}

/// The keys of objects in a folder of these files, with what is said of them.
fn in_folder(files: &[(&str, &Value)]) -> Result<(Vec<String>, Vec<String>), String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content.as_str().map_or_else(|| content.to_string(), str::to_owned)).unwrap();
    }
    let key_of = |object: &Value| {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let plural = format!("{}s", text("/kind")?.to_lowercase());
        let namespace = text("/metadata/namespace").map(|namespace| format!("{namespace}/")).unwrap_or_default();
        text("/apiVersion")?;
        Some(format!("/registry/{plural}/{namespace}{}", text("/metadata/name")?).into())
    };
    let source = load::open(&[folder.path().to_str().unwrap().to_owned()], &key_of).map_err(|error| error.to_string())?;
    let said = status(&*source);
    Ok((held(&*source).0, [said.problems, said.notes].concat()))
}

#[test]
fn the_path_names_the_kind_of_objects_without_one() {
    let nameless = |namespace: Option<&str>, name: &str| match namespace {
        Some(namespace) => json!({"metadata": {"name": name, "namespace": namespace}, "spec": {}}),
        None => json!({"metadata": {"name": name}}),
    };
    let (pods, nodes) = (json!([nameless(Some("shop"), "p0"), nameless(Some("shop"), "p1")]), json!({"items": [nameless(None, "n1")]}));
    let lists = json!({"kind": "APIResourceList", "apiVersion": "v1", "resources": [{"name": "pods"}]});
    let (keys, said) = in_folder(&[
        ("cluster-resources/pods/shop.json", &pods),
        ("cluster-resources/nodes.json", &nodes),
        ("cluster-resources/resources.json", &lists),
    ])
    .unwrap();
    assert_eq!(keys, ["/registry/nodes/n1", "/registry/pods/shop/p0", "/registry/pods/shop/p1"]);
    for wanted in ["2 objects name no kind and apiVersion: by the path of the file taken for Pod", "one object names no kind"] {
        assert!(said.iter().any(|said| said.contains(wanted)), "{wanted}: {said:?}");
    }
    // Where the path says nothing, nothing is guessed.
    let (keys, said) = in_folder(&[("things/shop.json", &pods), ("a.json", &config_map("a", "1"))]).unwrap();
    assert_eq!(keys, ["/registry/configmaps/x/a"], "{said:?}");
    let problem = open(pods.to_string()).err().unwrap().to_string();
    assert!(problem.contains("nothing in it has apiVersion and kind"), "{problem}");
    let (_, said) =
        in_folder(&[("a.json", &json!({"apiVersion": "v1", "kind": "List", "items": [config_map("a", "1"), nameless(None, "x")]}))])
            .unwrap();
    assert!(
        said.iter().any(|said| said.contains("one object without kind and apiVersion is left out: nothing says what it is")),
        "{said:?}"
    );
}

#[test]
fn configuration_is_refused_with_where_it_goes_and_pages_are_passed_over() {
    let kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n";
    let scheduler = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n---\napiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    for (text, wanted) in [
        (kubeconfig, "is a kubeconfig, not data of a cluster; to read the API server that it names: KUBECONFIG="),
        (r#"{"kind": "Config", "apiVersion": "v1", "contexts": []}"#, "is a kubeconfig"),
        (scheduler, "--scheduler-config FILE"),
        ("insertId: i\nprotoPayload:\n  serviceName: k8s.io\n", "--format=json"),
    ] {
        let error = open(text).err().unwrap_or_else(|| panic!("{text} is opened")).to_string();
        assert!(error.contains(wanted), "{error}");
    }
    let error = in_folder(&[("kc.yaml", &kubeconfig.into())]).unwrap_err();
    assert!(error.contains("is a kubeconfig"), "{error}");
    let page = json!("<!DOCTYPE html><html></html>");
    let (keys, said) =
        in_folder(&[("kc.yaml", &kubeconfig.into()), ("a.json", &config_map("a", "1")), ("event-filter.html", &page)]).unwrap();
    assert_eq!(keys.len(), 1);
    assert!(
        said.iter().any(|said| said.contains("kc.yaml: is a kubeconfig")) && !said.iter().any(|said| said.contains("login page")),
        "{said:?}"
    );
    let (_, said) = in_folder(&[("a.json", &config_map("a", "1")), ("backup.db", &page)]).unwrap();
    assert!(said.iter().any(|said| said.contains("backup.db is a page of HTML")), "{said:?}");
}

#[test]
fn objects_without_a_place_in_etcd_are_reported() {
    let text = "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"a\", \"namespace\": \"x\"}}\n{\"apiVersion\": \"v9\", \"kind\": \"Odd\", \"metadata\": {\"name\": \"o\"}}";
    let (keys, _, revision, problems) = objects(text);
    assert_eq!((keys.len(), revision), (1, 1));
    assert_eq!(problems, ["v9 Odd o is left out: its kind has no place in etcd that ketcd knows"]);
}

#[test]
fn configuration_beside_objects_is_told_as_what_it_is() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x}\n---\napiVersion: v1\nkind: Config\nclusters: []\n";
    let (keys, _, _, problems) = objects(text);
    assert_eq!((keys.len(), problems.len()), (1, 1), "{problems:?}");
    assert!(problems[0].starts_with("v1 Config is a kubeconfig, not data of a cluster"), "{problems:?}");
}

#[test]
fn an_object_that_is_to_be_named_is_told_as_that() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x}\n---\napiVersion: v1\nkind: Pod\nmetadata: {generateName: p-, namespace: x}\n";
    let (keys, _, _, problems) = objects(text);
    assert_eq!(keys.len(), 1);
    assert_eq!(problems, ["v1 Pod is left out: it has generateName and no name, which an API server gives what it makes"]);
}

#[test]
fn numbers_of_yaml_keep_their_text() {
    let (_, values, ..) = objects(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x}\nbig: 9223372036854775807\nsmall: -0.5\nword: \"0x1f\"\nday: 2026-11-20\n",
    );
    assert_eq!(
        values[0].to_string(),
        r#"{"apiVersion":"v1","big":9223372036854775807,"day":"2026-11-20","kind":"ConfigMap","metadata":{"name":"a","namespace":"x"},"small":-0.5,"word":"0x1f"}"#
    );
}

/// Opens several files of objects together.
fn together(texts: &[&str]) -> (Box<dyn Source>, Vec<String>) {
    let files: Vec<_> = texts.iter().map(temporary::file).collect();
    let paths: Vec<String> = files.iter().map(|file| file.path().to_str().unwrap().to_owned()).collect();
    (load::open(&paths, &key_of).unwrap(), paths)
}

#[test]
fn lists_of_several_revisions_are_one_moment() {
    let first = list(&[config_map("a", "17"), config_map("b", "12")]).to_string();
    let second = json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "90"},
        "items": [{"metadata": {"name": "c", "namespace": "x", "resourceVersion": "80"}}, {"metadata": {"name": "d", "namespace": "x"}}]});
    let (source, _) = together(&[&first, &second.to_string()]);
    let (keys, values, revision) = held(&*source);
    let versions: Vec<&Value> = values.iter().map(|value| &value["metadata"]["resourceVersion"]).collect();
    assert_eq!((names(&keys), versions), (vec!["a", "b", "c", "d"], vec![&json!("17"), &json!("12"), &json!("80"), &Value::Null]));
    let span = wait(source.span()).unwrap();
    assert_eq!((revision, span.oldest, span.newest), (90, Revision(90), Revision(90)));
    assert!(source.is_one_moment() && status(&*source).problems.is_empty());
    // Each was written some time; what was before is not known.
    let seen: Vec<_> = events(&*source).into_iter().map(|event| (event.revision.0, event.kind, event.origin)).collect();
    assert_eq!(seen, [0, 12, 17, 80].map(|revision| (revision, EventKind::Put, Origin::Objects)));
    let refused = wait(source.range(KeyRange::all(), At::Revision(Revision(20)), Want::Keys)).err().unwrap();
    assert!(matches!(refused, Error::OneMoment { asked: Revision(20) }), "{refused}");
}

#[test]
fn of_copies_the_newest_is_shown() {
    let with = |mut object: Value, word: &str| {
        object["data"] = json!({"w": word});
        object
    };
    let mut managed = config_map("same", "5");
    managed["metadata"]["managedFields"] = json!([{"manager": "m", "operation": "Update"}]);
    let old = list(&[with(config_map("a", "9"), "old"), config_map("same", "5"), with(config_map("odd", "7"), "one")]).to_string();
    let new = list(&[with(config_map("a", "10"), "new"), managed, with(config_map("odd", "7"), "other")]).to_string();
    for swapped in [false, true] {
        let (source, paths) = together(&if swapped { [&*new, &*old] } else { [&*old, &*new] });
        let (old, new) = if swapped { (&paths[1], &paths[0]) } else { (&paths[0], &paths[1]) };
        let (keys, values, _) = held(&*source);
        assert_eq!((names(&keys), &values[0]["data"]["w"]), (vec!["a", "odd", "same"], &json!("new")));
        assert_eq!(values[2]["metadata"]["managedFields"][0]["manager"], "m");
        let said = source.left_out();
        let newer = format!("{old}: ConfigMap x/a is left out: {new} has a newer version of it");
        let is_copy = |said: &String| {
            said.contains("ConfigMap x/odd is left out: ") && said.contains("has another copy of it at the same resourceVersion")
        };
        assert!(said.len() == 2 && said.contains(&newer) && said.iter().any(is_copy) && source.damage().is_empty(), "{said:?}");
    }
}

/// As `kubectl get -o yaml` prints a list.
fn as_yaml(objects: &[Value]) -> String {
    let item = |object: &Value| {
        let (metadata, text) = (&object["metadata"], &object["data"]["text"]);
        let (name, version) = (metadata["name"].as_str().unwrap(), metadata["resourceVersion"].as_str().unwrap());
        format!(
            "- apiVersion: v1\n  data:\n    text: {text}\n  kind: ConfigMap\n  metadata:\n    name: {name}\n    namespace: x\n    resourceVersion: \"{version}\"\n"
        )
    };
    format!("apiVersion: v1\nitems:\n{}kind: List\n", objects.iter().map(item).collect::<String>())
}

/// Each form of a file, whole and cut at many places: what comes before the break is shown, and the break is reported.
#[test]
fn a_file_cut_short_gives_what_came_before() {
    let objects: Vec<Value> = (0..40)
        .map(|number| {
            let mut object = config_map(&format!("c{number:02}"), &format!("{}", 100 + number));
            object["data"] = json!({"text": "a\"b\\ü\n".repeat(5)});
            object
        })
        .collect();
    let pretty = serde_json::to_string_pretty(&list(&objects)).unwrap();
    let lines = objects.iter().map(|object| format!("{object}\n")).collect::<String>();
    for (form, content) in [("list", &pretty), ("lines", &lines), ("yaml", &as_yaml(&objects))] {
        let (_, values, _, problems) = self::objects(content);
        assert_eq!((values, problems), (objects.clone(), vec![]), "{form}");
        for part in 1..20 {
            let mut cut = content.len() * part / 20;
            while !content.is_char_boundary(cut) {
                cut -= 1;
            }
            let source = open(&content[..cut]).unwrap();
            let (shown, damage) = (held(&*source).0.len(), source.damage());
            let complete = content[..cut].matches(if form == "yaml" { "resourceVersion: \"1" } else { "\"resourceVersion\":" }).count();
            assert!(shown.abs_diff(complete) <= 1, "{form} {part}: {shown} of {complete}: {damage:?}");
            let on_a_line = form == "lines" && content[..cut].ends_with('\n');
            assert_eq!(damage.is_empty(), on_a_line, "{form} {part}: {damage:?}");
            assert!(on_a_line || damage[0].contains("line "), "{form} {part}: {damage:?}");
        }
    }
    let garbage = open(format!("{lines}{{\"apiVersion\": \"v1\", x}}\n")).unwrap();
    assert_eq!(held(&*garbage).0.len(), 40);
    let wanted = "the JSON is damaged at line 41, column 22 (key must be a string)";
    assert!(garbage.damage()[0].contains(wanted), "{:?}", garbage.damage());
}

#[test]
fn one_object_that_cannot_be_read_costs_no_other() {
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let lines = format!("{}\n{{\"kind\": \"ConfigMap\", \"deep\": {deep}}}\n17\n{}\n", config_map("a", "1"), config_map("b", "2"));
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x}\n---\na: [1\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: x}\n";
    let wanted: [(&str, &[&str]); 2] = [
        (
            &lines,
            &["the object that begins at line 2 cannot be read: recursion limit exceeded", "the value at line 3 is not an API object"],
        ),
        (yaml, &["the YAML cannot be read at line "]),
    ];
    for (text, wanted) in wanted {
        let source = open(text).unwrap();
        assert_eq!(names(&held(&*source).0), ["a", "b"]);
        let damage = source.damage();
        assert!(wanted.iter().all(|wanted| damage.iter().any(|damage| damage.contains(wanted))), "{damage:?}");
    }
}

/// An item that cannot be read costs no other, and the words are ours.
#[test]
fn one_item_of_yaml_that_cannot_be_read_costs_no_other() {
    let item = |name: &str, more: &str| format!("- apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: {name}, namespace: x}}\n{more}");
    let bad = ["  data: {a: .inf}\n", "  data: {a: 1, a: 2}\n", "  data: *none\n", "  data: !!int x\n"];
    let mut said = Vec::new();
    for more in bad {
        let text = format!("apiVersion: v1\nitems:\n{}{}{}kind: List\n", item("a", ""), item("b", more), item("c", ""));
        let source = open(&text).unwrap();
        assert_eq!(names(&held(&*source).0), ["a", "c"], "{more}");
        let damage = &source.damage()[0];
        assert!(
            damage.contains("the YAML cannot be read at line 9, column ") && damage.contains("; the object there is missing"),
            "{damage}"
        );
        said.push(damage.clone());
    }
    let two = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";
    said.push(open(two).map(|source| source.damage()[0].clone()).unwrap_or_else(|error| error.to_string()));
    let wanted = "at line 4, column 1 (a member is written twice in one object; a line --- between two objects may be missing)";
    assert!(said[4].contains(wanted), "{}", said[4]);
    for word in ["policy", "Policy", "Options", "saphyr", "serde"] {
        assert!(said.iter().all(|said| !said.contains(word)), "{said:?}");
    }
}

#[test]
fn odd_shapes_are_read() {
    let nested = list(&[list(&[config_map("a", "1")]), config_map("b", "2")]);
    let array = json!([config_map("a", "1"), config_map("b", "2")]);
    let late = r#"{"items": [{"metadata": {"name": "a", "namespace": "x"}}, {"metadata": {"name": "b", "namespace": "x"}}], "apiVersion": "v1", "kind": "ConfigMapList"}"#;
    let own = r#"{"apiVersion": "v1", "items": [1, 2], "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x"}}"#;
    let map = r#"{"apiVersion": "v1", "items": {"c": 1}, "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "x"}}"#;
    let bom = format!("\u{feff}{}", config_map("a", "1"));
    for (content, count) in [(nested.to_string(), 2), (array.to_string(), 2), (late.to_owned(), 2), (format!("{own}\n{map}"), 2), (bom, 1)]
    {
        let as_yaml = format!("---\n{}", content.trim_start_matches('\u{feff}').replace("}\n{", "}\n---\n{"));
        for content in [content, as_yaml] {
            let (keys, _, _, problems) = objects(&content);
            assert_eq!((keys.len(), problems), (count, vec![]), "{content}");
        }
    }
    assert_eq!(objects(own).1[0]["items"], json!([1, 2]));
    // A list of nothing is a list all the same.
    assert_eq!(objects(list(&[]).to_string()).0, Vec::<String>::new());
    for nothing in ["hello", "{}", "[1, 2", "a: 1", "\u{7f}"] {
        let error = open(nothing).err().unwrap().to_string();
        assert!(error.contains("is neither an etcd database nor API objects"), "{nothing}: {error}");
    }
    for (printed, said) in [
        ("NAME    READY   STATUS\nweb-0   1/1     Running\n", "is a table that kubectl prints"),
        ("$ kubectl describe pod web-0\nName:       web-0\nNamespace:  shop\nIPs:        <none>\n", "is what `kubectl describe` prints"),
    ] {
        let error = open(printed).err().unwrap().to_string();
        assert!(error.contains(said), "{printed}: {error}");
    }
}

/// `kubectl cluster-info dump > FILE` writes the logs of containers between its lists.
#[test]
fn logs_between_lists_are_passed_over() {
    let log = "==== START logs for container c of pod x/p ====\n{\"msg\": \"apiVersion\"}\n==== END logs\nhello\n==== END logs for container c of pod x/p ====\n";
    let dump = format!("{}\n{log}{log}{}\n", list(&[config_map("a", "1")]), list(&[config_map("b", "2")]));
    let (keys, _, _, problems) = objects(&dump);
    assert_eq!((keys.len(), problems), (2, vec![]), "{dump}");
    let cut = format!("{}\n{}", list(&[config_map("a", "1")]), &log[..60]);
    let (keys, _, _, problems) = objects(&cut);
    assert_eq!(keys.len(), 1);
    assert!(problems.iter().any(|problem| problem.contains("has no end")), "{problems:?}");
    let broken = format!("{}\n{log}{{\"kind\": }}\n", list(&[config_map("a", "1")]));
    let line = 1 + broken.lines().position(|line| line.starts_with("{\"kind\": }")).unwrap();
    assert!(objects(&broken).3.iter().any(|problem| problem.contains(&format!("line {line}, "))), "{broken}");
}

#[test]
fn what_is_pasted_around_objects_is_passed_over() {
    let [one, two] = [config_map("a", "1"), config_map("b", "2")];
    let yaml = |object: &Value| as_yaml(std::slice::from_ref(object));
    for text in [
        format!("```json\n{one}\n```\n```json\n{two}\n```\n"),
        format!("$ kubectl get cm a -o json\n{one}\n$ kubectl get cm b -o json\n{two}\n$"),
        format!("$ kubectl get cm a -o yaml\n{}$ kubectl get cm b -o yaml\n{}$\n", yaml(&one), yaml(&two)),
        format!("Warning: v1 ComponentStatus is deprecated in v1.19+\n{one}\n{two}\n"),
        format!("Warning: v1 ComponentStatus is deprecated in v1.19+\n{}---\n{}", yaml(&one), yaml(&two)),
        format!("```yaml\n{}---\n{}```\n", yaml(&one), yaml(&two)).lines().map(|line| format!("> {line}\n")).collect(),
        format!("What we have:\n\n```\nroot@n1:~# kubectl get cm a -o yaml\n{}---\n{}```\n", yaml(&one), yaml(&two)),
    ] {
        let (keys, ..) = objects(&text);
        assert_eq!(names(&keys), ["a", "b"], "{text}");
    }
    // What objects hold is theirs.
    let page =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: x}\ndata:\n  page: |\n    ```\n    $ kubectl get pods\n    ```\n";
    let (_, values, ..) = objects(format!("```\n{page}```\n"));
    assert_eq!(values[0]["data"]["page"], "```\n$ kubectl get pods\n```\n");
}

#[test]
fn many_objects_of_yaml_load() {
    let stream: String =
        (0..1500).map(|number| format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{number}\n  namespace: x\n")).collect();
    assert_eq!(objects(&stream).0.len(), 1500);
    let described = |number: usize| {
        let mut object = config_map(&format!("c{number}"), "7");
        object["data"] = json!({"text": "word\n".repeat(200)});
        object
    };
    assert_eq!(objects(as_yaml(&(0..1500).map(described).collect::<Vec<_>>())).0.len(), 1500);
}

#[test]
fn aliases_that_expand_without_end_are_refused() {
    let mut laughs =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x}\na0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
            .to_owned();
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        laughs += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    let long = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: x}}\nlong: &long \"{}\"\nmany:\n{}",
        "x".repeat(1 << 20),
        "- *long\n".repeat(40_000)
    );
    for bomb in [laughs, long] {
        let said = open(&bomb).map(|source| source.damage().join("\n")).unwrap_or_else(|error| error.to_string());
        assert!(said.contains("its aliases expand to far more than the file holds"), "{said}");
    }
    let used = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x, labels: &l {app: w}}\ndata: *l\n";
    assert_eq!(objects(used).1[0]["data"]["app"], "w");
}

/// What kubectl means by YAML without quotes, and what it writes without them.
#[test]
fn yaml_means_what_it_means_to_kubectl() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x, annotations: {commit: 12e4567}}\n\
                data: {k: 'a\u{2028}    b', mode: 0644, port: 08080}\n";
    let value = &objects(text).1[0];
    assert_eq!(value["metadata"]["annotations"]["commit"], "12e4567");
    assert_eq!(value["data"], json!({"k": "a\u{2028}b", "mode": 420, "port": 8080}));
}

#[test]
fn utf_16_with_a_mark_is_read_as_powershell_writes_it() {
    let yaml = "apiVersion: v1\r\nkind: ConfigMap\r\nmetadata:\r\n  name: grün\r\n  namespace: x\r\n";
    let encodings: [([u8; 2], fn(u16) -> [u8; 2]); 2] = [([0xff, 0xfe], u16::to_le_bytes), ([0xfe, 0xff], u16::to_be_bytes)];
    for (mark, bytes) in encodings {
        for content in [yaml.to_owned(), list(&[config_map("grün", "3")]).to_string()] {
            let units: Vec<u8> = content.encode_utf16().flat_map(bytes).collect();
            let (keys, _, _, problems) = objects([&mark[..], &units].concat());
            assert_eq!((names(&keys), problems), (vec!["grün"], vec![]), "{content}");
        }
    }
}

#[test]
fn events_of_a_watch_leave_what_was_there_at_its_end() {
    let event = |kind: &str, name: &str, version: &str| json!({"type": kind, "object": config_map(name, version)}).to_string();
    let events = [
        event("ADDED", "a", "3"),
        event("ADDED", "b", "4"),
        event("MODIFIED", "a", "5"),
        event("DELETED", "b", "6"),
        event("ADDED", "c", "7"),
        event("DELETED", "c", "8"),
        event("ADDED", "c", "9"),
    ];
    let (keys, values, ..) = objects(events.join("\n"));
    assert_eq!((names(&keys), &values[0]["metadata"]["resourceVersion"]), (vec!["a", "c"], &json!("5")));
}
