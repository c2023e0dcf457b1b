//! A search finds what a plain one over all decoded versions finds, in every encoding, and nothing that is masked.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::TryStreamExt;
use serde_json::{Value, json};

use ketcd_cluster::grep::{FoundObject, GrepQuestion, MAX_HELD_BYTES, Pattern, Place, Search, SearchLeftOut, Searched, SpanEnd};
use ketcd_cluster::read::Keys;
use ketcd_cluster::{AttributedChange, Cluster, Options, Read, Revision};
use ketcd_history::ObjectVersion;
use ketcd_history::clock::Bound;
use ketcd_kube::encryption::{EncryptionConfig, KeyRing};
use ketcd_kube::{Body, Decoder, SearchedText};
use ketcd_store::{EventKind, KeyRange, KeyValue, Until, WatchItem};
use ketcd_testing::testdata;
use ketcd_testing::written::Written;

use crate::fixture::{at_revision, capture, database, of_namespace, stored};

const SETTINGS_KEY: &str = "/registry/configmaps/shop/settings";

/// Objects with every place in which a text may be: of these, one matches in each.
const ALL_PLACES: [Place; 4] = [Place::Names, Place::Values, Place::Keys, Place::Messages];

fn search(pattern: &str, places: &[Place]) -> Search {
    Search { pattern: Pattern::new(pattern, false, false).unwrap(), places: places.to_vec() }
}

/// All that a search found.
struct Grep {
    objects: Vec<FoundObject>,
    searched: Searched,
    left_out: Vec<SearchLeftOut>,
}

impl Grep {
    fn count(&self) -> usize {
        self.objects.iter().map(|object| object.spans.len()).sum()
    }
}

async fn grep(cluster: &Cluster, search: Search, words: &[&str]) -> Grep {
    grep_holding(cluster, search, words, MAX_HELD_BYTES).await
}

async fn grep_holding(cluster: &Cluster, search: Search, words: &[&str], max_held_bytes: usize) -> Grep {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let mut found = cluster.grep(GrepQuestion { search, words: &words, with_changes: true, max_held_bytes }).await.unwrap();
    let mut objects = Vec::new();
    while let Some(object) = found.next().await.unwrap() {
        objects.push(object);
    }
    Grep { objects, searched: found.searched(), left_out: found.left_out().to_vec() }
}

async fn found(cluster: &Cluster, pattern: &str) -> Grep {
    grep(cluster, search(pattern, &Place::USUAL), &[]).await
}

/// The options with the keys of a capture, where it is encrypted.
fn keys(capture: &str) -> Options {
    let path = testdata::path(&format!("captures/{capture}/encryption-config.yaml"));
    match std::fs::read_to_string(path) {
        Ok(config) => Options { keys: KeyRing::new(&EncryptionConfig::parse(&config).unwrap()), ..Options::default() },
        Err(_) => Options::default(),
    }
}

/// Every scalar of an object, and the names of its members where they are wanted; without managedFields and the resource version.
fn texts(value: &Value, path: &mut Vec<String>, members: bool, into: &mut BTreeSet<String>) {
    match value {
        Value::Null => {}
        Value::Object(object) => {
            for (name, member) in object {
                let is_left_out = path.as_slice() == ["metadata"] && ["managedFields", "resourceVersion"].contains(&name.as_str());
                if is_left_out {
                    continue;
                }
                if members {
                    into.insert(name.clone());
                }
                path.push(name.clone());
                texts(member, path, members, into);
                path.pop();
            }
        }
        Value::Array(items) => items.iter().for_each(|item| {
            path.push(String::new());
            texts(item, path, members, into);
            path.pop();
        }),
        Value::String(text) => drop(into.insert(text.clone())),
        scalar => drop(into.insert(scalar.to_string())),
    }
}

/// The texts of every version of every object, by key and revision; none of deletions.
async fn plainly(cluster: &Cluster, members: bool) -> BTreeMap<(String, i64), BTreeSet<String>> {
    let history = cluster.history(Keys::all(), cluster.revision().await.unwrap()).await.unwrap();
    let read: Vec<_> = history.changes().try_collect().await.unwrap();
    let mut all = BTreeMap::new();
    for read in read {
        let Read::Item(attributed) = read else { continue };
        let change = attributed.change;
        let mut found = BTreeSet::new();
        if let ObjectVersion::Object(object) = &change.after {
            let mut object = (***object).clone();
            let masked: Vec<String> = change.after.whole().unwrap().masked_places().map(|place| place.as_str().to_owned()).collect();
            masked.iter().filter_map(|place| object.pointer_mut(place).map(Value::take)).for_each(drop);
            texts(&object, &mut Vec::new(), members, &mut found);
        }
        if matches!(change.after, ObjectVersion::Opaque(_)) {
            let subject = cluster.subject_of(&change.key).await.unwrap();
            found.extend([subject.name, subject.namespace].into_iter().filter(|name| !name.is_empty()));
        }
        if change.after != ObjectVersion::Absent {
            all.insert((String::from_utf8_lossy(&change.key).into_owned(), change.revision.0), found);
        }
    }
    all
}

/// What a search found, as the versions in which each text is.
fn by_version(grep: &Grep, versions: &BTreeMap<(String, i64), BTreeSet<String>>) -> BTreeSet<(String, i64, String)> {
    let mut all = BTreeSet::new();
    for object in &grep.objects {
        let key = String::from_utf8_lossy(&object.key).into_owned();
        for span in &object.spans {
            let text = span.hit.value.as_str().map_or_else(|| span.hit.value.to_string(), str::to_owned);
            let within = versions.range((key.clone(), span.from.0)..=(key.clone(), span.to.0));
            all.extend(within.map(|((key, revision), _)| (key.clone(), *revision, text.clone())));
        }
    }
    all
}

/// Holds searches against the plain one.
async fn holds(name: &str, patterns: &[&str]) {
    let folder = name.split('/').next().unwrap();
    let cluster = capture(name, keys(folder)).await;
    for members in [false, true] {
        let versions = plainly(&cluster, members).await;
        let places = if members { &ALL_PLACES[..] } else { &Place::USUAL };
        for pattern in patterns {
            let found = grep(&cluster, search(pattern, places), &[]).await;
            let wanted: BTreeSet<_> = versions
                .iter()
                .flat_map(|((key, revision), texts)| texts.iter().map(move |text| (key.clone(), *revision, text.clone())))
                .filter(|(.., text)| text.contains(pattern))
                .collect();
            let missed: Vec<_> = wanted.difference(&by_version(&found, &versions)).take(3).cloned().collect();
            let invented: Vec<_> = by_version(&found, &versions).difference(&wanted).take(3).cloned().collect();
            assert!(missed.is_empty() && invented.is_empty(), "{name} {pattern:?}: missed {missed:?}, invented {invented:?}");
            assert_eq!(found.searched.versions, versions.len() as u64, "{name}");
        }
    }
}

#[tokio::test]
async fn a_search_is_a_plain_one_over_all_decoded_versions() {
    let patterns =
        ["tomcat:8.0", "node3", "10.244.", "app-config", "8080", "true", "-", "Unschedulable", "kubelet", "nothing has this", "\"", "2026"];
    holds("k120-story", &patterns).await;
    holds("k120-story/compacted.db.zst", &patterns).await;
}

#[tokio::test]
async fn encodings_and_seals_hide_nothing() {
    let patterns = ["example.com", "ca.crt", "default", "100m", "0", "system:", "<", "/"];
    holds("k136-cbor", &patterns).await;
    holds("k136-encrypted", &patterns).await;
    holds("k120-encrypted", &patterns).await;
}

/// What is found, without who set it.
fn told(found: &Grep) -> Vec<String> {
    let of_object = |object: &FoundObject| {
        let spans =
            object.spans.iter().map(|span| format!("{:?} {} {} {:?} {}", span.hit, span.from, span.to, span.end, span.setter().is_some()));
        std::iter::once(format!("{} {:?}", object.name, object.deleted)).chain(spans).collect::<Vec<_>>()
    };
    found.objects.iter().flat_map(of_object).collect()
}

#[tokio::test]
async fn what_is_found_is_the_same_however_much_is_held_at_once() {
    for (name, pattern) in [("k120-story", "e"), ("k120-story", "node3"), ("k120-story/compacted.db.zst", "e"), ("k136-encrypted", "e")] {
        // Without keys every Secret is a version that cannot be decoded.
        let cluster = capture(name, Options::default()).await;
        let whole = found(&cluster, pattern).await;
        assert!(!whole.objects.is_empty() && whole.left_out.is_empty());
        for held in [300_000, 2_000_000] {
            let parts = grep_holding(&cluster, search(pattern, &Place::USUAL), &[], held).await;
            let (parts_told, whole_told) = (told(&parts), told(&whole));
            let left_out: Vec<_> = parts.left_out.iter().collect();
            // One object may have more than that alone.
            if left_out.is_empty() {
                assert!(parts_told == whole_told, "{name} {pattern} {held}");
            }
            assert_eq!(parts.searched, whole.searched);
            let names = |found: &Grep| found.objects.iter().map(|object| object.key.clone()).collect::<Vec<_>>();
            assert_eq!(names(&parts), names(&whole), "{name} {pattern} {held}: {left_out:?}");
            assert!(left_out.iter().all(|left_out| matches!(left_out, SearchLeftOut::Versions { .. })), "{left_out:?}");
        }
    }
}

#[tokio::test]
async fn one_object_with_too_much_is_searched_up_to_a_revision_and_on_from_there() {
    let mut written = Written::of(&[("/registry/namespaces/shop", r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}"#)]);
    (0..400).for_each(|number| written.put(SETTINGS_KEY, config(&format!("color {number}"))));
    written.put("/registry/configmaps/shop/z", config("color").replace("settings", "z"));
    let file = written.finish();
    let cluster = database(file.clone(), Options::default()).await;
    let cut = grep_holding(&cluster, search("color", &Place::USUAL), &[], 50_000).await;
    let [SearchLeftOut::Versions { key, after }] = &cut.left_out[..] else { panic!("{:?}", cut.left_out) };
    assert_eq!(&key[..], SETTINGS_KEY.as_bytes());
    assert_eq!(cut.objects.iter().map(|object| &*object.name).collect::<Vec<_>>(), ["configmap/shop/settings", "configmap/shop/z"]);
    let last = cut.objects[0].spans.last().unwrap();
    assert_eq!((last.to, last.end), (*after, SpanEnd::Unknown));
    // Values that had ended before the stretch that is asked for take no room.
    let late = database(file, Options { since: Some(Bound::Revision(Revision(395))), ..Options::default() }).await;
    let late = grep_holding(&late, search("color", &Place::USUAL), &[], 50_000).await;
    assert!(late.left_out.is_empty() && !late.objects.is_empty(), "{:?}", late.left_out);
}

/// Pieces of what objects show, and the whole.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().take(60).collect();
    let part = |from: usize, to: usize| letters[from.min(letters.len())..to.min(letters.len())].iter().collect::<String>();
    let parts = [part(0, 60), part(1, 6), part(letters.len() / 2, letters.len())];
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}

/// Every version in a capture.
async fn versions(cluster: &Cluster) -> Vec<KeyValue> {
    let newest = cluster.revision().await.unwrap();
    let items: Vec<WatchItem> = cluster.source.watch(KeyRange::all(), Revision(1), Until::Revision(newest)).try_collect().await.unwrap();
    let put = |item| match item {
        WatchItem::Event(event) if event.kind == EventKind::Put => Some(event.key_value),
        _ => None,
    };
    items.into_iter().filter_map(put).collect()
}

#[tokio::test]
async fn bytes_of_recorded_objects_hide_no_text_that_they_show() {
    let mut tried = 0;
    for name in ["k120-story", "k136-story", "k136-cbor", "k136-encrypted", "k120-encrypted"] {
        let cluster = capture(name, keys(name)).await;
        let stored = Decoder::for_stored_values().with_storage(None, keys(name).keys);
        for KeyValue { key, value, mod_revision, .. } in versions(&cluster).await.into_iter().step_by(101) {
            for decoder in [&cluster.decoder.clone().showing_secrets(true), &stored] {
                let Body::Object(object) = decoder.decode(&key, &value, mod_revision.0).body else { continue };
                let managers = SearchedText::any_of(&["kube".to_owned()], false).in_managers(true);
                let search_of_managers = search("kube", &[Place::Managers]);
                let hits = match managers.decode(decoder, &key, &value, mod_revision.0).map(|decoded| decoded.body) {
                    Some(Body::Object(part)) => search_of_managers.hits(&part),
                    Some(Body::Opaque(opaque)) => panic!("{name} r{mod_revision} {key:?}: {opaque:?}"),
                    None => Vec::new(),
                };
                assert_eq!(hits, search_of_managers.hits(&object), "{name} r{mod_revision} {key:?}");
                // Names of members are many, and each is looked for in all tables.
                for (members, step) in [(false, 1), (true, 29)] {
                    let mut shown = BTreeSet::new();
                    texts(&object, &mut Vec::new(), members, &mut shown);
                    for piece in shown.iter().flat_map(|text| pieces(text)).step_by(step) {
                        tried += 1;
                        let text = SearchedText::any_of(std::slice::from_ref(&piece), members);
                        let key_text = String::from_utf8_lossy(&key);
                        let search = search(&piece, if members { &ALL_PLACES } else { &Place::USUAL });
                        let part = text.decode(decoder, &key, &value, mod_revision.0).map(|decoded| decoded.body);
                        let Some(Body::Object(part)) = part else { panic!("{name} r{mod_revision} {key_text}: {part:?}") };
                        assert_eq!(search.hits(&part), search.hits(&object), "{name} r{mod_revision} {key_text}: {piece:?}");
                    }
                }
            }
        }
    }
    assert!(tried > 3_000, "{tried}");
}

/// A stored ConfigMap.
fn config(value: &str) -> String {
    let manager = json!([{"manager": "kubectl-edit", "operation": "Update", "apiVersion": "v1", "time": "2026-11-20T22:00:00Z",
                          "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:color": {}}}}]);
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop", "managedFields": manager},
           "data": {"color": value}})
    .to_string()
}

#[tokio::test]
async fn a_value_has_its_revisions_and_who_set_it() {
    let mut written = Written::of(&[("/registry/namespaces/shop", r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}"#)]);
    ["blue", "red", "red", "blue"].iter().for_each(|color| written.put(SETTINGS_KEY, config(color)));
    written.delete(SETTINGS_KEY);
    written.put("/registry/configmaps/shop/other", config("red").replace("settings", "other"));
    let file = written.finish();
    let cluster = database(file.clone(), Options::default()).await;
    let red = found(&cluster, "red").await;
    let told: Vec<_> = red
        .objects
        .iter()
        .flat_map(|object| object.spans.iter().map(move |span| (&*object.name, object.deleted, span)))
        .map(|(name, deleted, span)| (name, deleted.map(|at| at.0), &*span.hit.path, (span.from.0, span.to.0), span.end))
        .collect();
    assert_eq!(
        told,
        [
            ("configmap/shop/other", None, "data.color", (8, 8), SpanEnd::Still),
            ("configmap/shop/settings", Some(7), "data.color", (4, 5), SpanEnd::Gone),
        ]
    );
    let changes: Vec<_> = cluster.changes("cm/shop/settings").try_collect().await.unwrap();
    let author = |revision: i64| {
        let of = |read: &Read<AttributedChange>| matches!(read, Read::Item(change) if change.change.revision.0 == revision);
        let Some(Read::Item(change)) = changes.iter().find(|read| of(read)) else { panic!("no change in r{revision}") };
        change.by()
    };
    assert_eq!(red.objects[1].spans[0].setter().unwrap().by, author(4));
    let blue = found(&cluster, "blue").await;
    let spans: Vec<_> = blue.objects[0].spans.iter().map(|span| (span.from.0, span.to.0)).collect();
    assert_eq!(spans, [(3, 3), (6, 6)]);
    // Up to a revision, and of a namespace or kinds alone.
    let early = database(file.clone(), at_revision(5)).await;
    let span = found(&early, "red").await.objects.remove(0).spans.remove(0);
    assert_eq!((span.from.0, span.to.0, span.end), (4, 5, SpanEnd::Still));
    let elsewhere = database(file.clone(), of_namespace("default")).await;
    assert!(found(&elsewhere, "red").await.objects.is_empty());
    for (words, objects) in [(&["configmaps"][..], 2), (&["cm", "pods"], 2), (&["pods"], 0), (&["cm/shop/other"], 1)] {
        assert_eq!(grep(&cluster, search("red", &Place::USUAL), words).await.objects.len(), objects, "{words:?}");
    }
}

#[tokio::test]
async fn each_place_is_searched_where_it_is_asked_for() {
    let cluster = stored(&[(SETTINGS_KEY, &config("settings of colors"))], Options::default()).await;
    for (pattern, place, wanted) in [
        ("settings", Place::Names, "metadata.name"),
        ("settings", Place::Values, "data.color"),
        ("color", Place::Keys, "data.color"),
        ("edit", Place::Managers, "metadata.managedFields[kubectl-edit/Update/v1].manager"),
    ] {
        let found = grep(&cluster, search(pattern, &[place]), &[]).await;
        let paths: Vec<_> = found.objects.iter().flat_map(|object| &object.spans).map(|span| &*span.hit.path).collect();
        assert_eq!(paths, [wanted], "{pattern} {place:?}");
    }
    assert!(grep(&cluster, search("color", &[Place::Messages]), &[]).await.objects.is_empty());
}

#[tokio::test]
async fn a_masked_value_tells_nothing() {
    let secret = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"shop"},"data":{"password":"czNjcjN0"}}"#;
    let stored = async |options| stored(&[("/registry/secrets/shop/s", secret)], options).await;
    let masked = stored(Options::default()).await;
    for pattern in ["czNjcjN0", "Njcj", "***", "*"] {
        assert!(found(&masked, pattern).await.objects.is_empty(), "{pattern}");
    }
    // The names of its values are shown everywhere.
    assert_eq!(grep(&masked, search("password", &[Place::Keys]), &[]).await.count(), 1);
    let shown = stored(Options { show_secrets: true, ..Options::default() }).await;
    assert_eq!(found(&shown, "Njcj").await.objects[0].spans[0].hit.path, "data.password");
}

#[tokio::test]
async fn what_was_compacted_and_can_be_recovered_is_found() {
    let cluster = capture("k120-story/compacted.db.zst", Options::default()).await;
    let found = found(&cluster, "tomcat:8.0").await;
    let spans: Vec<_> = found.objects.iter().flat_map(|object| &object.spans).collect();
    assert!(!spans.is_empty());
    // Nobody is named for what may have been there before.
    assert!(spans.iter().all(|span| !span.may_begin_earlier || span.setter().is_none()));
    assert!(spans.iter().all(|span| span.from <= span.to && span.to <= found.searched.to));
}

#[tokio::test]
async fn what_cannot_be_decoded_is_found_by_its_name() {
    let sealed = "k8s:enc:aescbc:v1:key1:0123456789abcdef0123456789abcdef";
    let cluster = stored(&[("/registry/secrets/shop/db-password", sealed)], Options::default()).await;
    let found = found(&cluster, "db-pass").await;
    assert_eq!((&*found.objects[0].name, &*found.objects[0].spans[0].hit.path), ("secret/shop/db-password", "metadata.name"));
}

#[test]
fn patterns_in_any_case_and_expressions() {
    let is_in = |pattern: &str, is_regex, ignores_case, text: &str| Pattern::new(pattern, is_regex, ignores_case).unwrap().is_in(text);
    assert!(is_in("NGINX", false, true, "nginx:1") && !is_in("NGINX", false, false, "nginx:1"));
    assert!(is_in("n.inx", true, false, "nginx:1") && !is_in("n.inx", false, false, "nginx:1"));
}
