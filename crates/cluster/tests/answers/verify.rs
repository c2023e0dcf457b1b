//! Whether a backup is good: what its contents, an upgrade and its hash come to, held against independent walks over the same data.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::TryStreamExt;
use serde_json::{Value, json};

use ketcd_cluster::verify::{Finding, FindingKind, Verification, VerifyAsked, Weight};
use ketcd_cluster::{Cluster, Options};
use ketcd_kube::Release;
use ketcd_kube::encryption::{EncryptionConfig, KeyRing};
use ketcd_store::{At, KeyRange, Want};
use ketcd_testing::written::Written;
use ketcd_testing::{tables, testdata};

use crate::audit::{file, opened};
use crate::fixture::{capture, database, open};

async fn verified(cluster: &Cluster, target: Option<u16>) -> Verification {
    cluster.verify(&VerifyAsked { target: target.map(Release), ..VerifyAsked::default() }).await.unwrap()
}

fn of_kind(verification: &Verification, kind: FindingKind) -> Vec<&Finding> {
    verification.findings.iter().filter(|finding| finding.kind == kind).collect()
}

/// The rows of a table, without its comments.
fn rows(table: &str) -> Vec<Vec<String>> {
    let row = |line: &str| line.split('\t').map(|cell| if cell == "-" { "" } else { cell }.to_owned()).collect();
    table.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(row).collect()
}

/// What each release serves, read from the tables themselves.
struct Tables {
    kinds: Vec<Vec<String>>,
    versions: Vec<Vec<String>>,
}

impl Tables {
    fn read() -> Self {
        Self { kinds: rows(tables::KINDS), versions: rows(tables::VERSIONS) }
    }

    /// The kind and the plural of what is of a group and fits.
    fn kind(&self, group: &str, fits: impl Fn(&[String]) -> bool) -> Option<(&str, &str)> {
        let is_of_group = |row: &[String]| row[1] == group || row[2].split(',').any(|also| !also.is_empty() && also == group);
        self.kinds.iter().find(|row| is_of_group(row) && fits(row)).map(|row| (row[3].as_str(), row[4].as_str()))
    }

    fn serves(&self, release: u16, api_version: &str, plural: &str) -> bool {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let row = self.versions.iter().find(|row| row[0] == group && row[1] == version && row[2] == plural);
        row.is_some_and(|row| {
            let end = |cell: &str, open: u16| if cell.is_empty() { open } else { cell.parse().unwrap() };
            row[3] != "off" && (end(&row[3], 0)..=end(&row[4], u16::MAX)).contains(&release)
        })
    }
}

/// A field of a protobuf message whose value has a length, by the first bytes of it: what stands in front of every stored object is short.
fn field(message: &[u8], wanted: u8) -> &[u8] {
    let mut rest = message;
    while let [tag, length, more @ ..] = rest {
        let (value, after) = more.split_at(usize::from(*length).min(more.len()));
        if *tag == wanted << 3 | 2 {
            return value;
        }
        rest = after;
    }
    &[]
}

/// The `apiVersion` and kind in which a value is stored.
fn stored_type(value: &[u8]) -> Option<(String, String)> {
    if let Some(unknown) = value.strip_prefix(b"k8s\0") {
        let types = field(unknown, 1);
        let text = |number| String::from_utf8(field(types, number).to_vec()).unwrap();
        return Some((text(1), text(2)));
    }
    let object: Value = serde_json::from_slice(value).ok()?;
    Some((object["apiVersion"].as_str()?.to_owned(), object["kind"].as_str()?.to_owned()))
}

/// The version, the kind and the number that a finding begins with: `3 objects are stored as batch/v1beta1 CronJob, which …`.
fn counted(says: &str, before: &str) -> Option<((String, String), u64)> {
    let (count, rest) = says.split_once(before)?;
    let (what, _) = rest.split_once(',')?;
    let (api_version, kind) = what.split_once(' ')?;
    let numbers = count.split(' ').filter_map(|word| word.parse::<u64>().ok());
    Some(((api_version.to_owned(), kind.to_owned()), numbers.sum()))
}

#[tokio::test]
async fn an_upgrade_of_1_20_is_the_table_of_what_releases_serve() {
    let (cluster, tables) = (capture("k120-story", Options::default()).await, Tables::read());
    let entries = cluster.source.range(KeyRange::all(), At::Newest, Want::Values).await.unwrap().entries;
    let entries: Vec<_> = entries.try_collect().await.unwrap();
    let stored = |target: u16| {
        let mut gone = BTreeMap::<(String, String), u64>::new();
        for (api_version, kind) in entries.iter().filter_map(|entry| stored_type(&entry.value)) {
            let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
            let Some((_, plural)) = tables.kind(group, |row| row[3] == kind) else { continue };
            if !tables.serves(target, &api_version, plural) {
                *gone.entry((api_version, kind)).or_default() += 1;
            }
        }
        gone
    };
    for target in [20, 22, 25, 37] {
        let verification = verified(&cluster, Some(target)).await;
        let of_upgrade = of_kind(&verification, FindingKind::Upgrade).into_iter();
        let said = of_upgrade.filter_map(|finding| {
            counted(&finding.says, " objects are stored as ").or_else(|| counted(&finding.says, " object is stored as "))
        });
        let wanted = stored(target);
        assert_eq!(said.collect::<BTreeMap<_, _>>(), wanted, "1.{target}");
        assert_eq!(wanted.is_empty(), target == 20, "1.{target}");
    }
}

#[tokio::test]
async fn clients_of_old_versions_are_those_of_the_log() {
    const TARGET: u16 = 28;
    let tables = Tables::read();
    let cluster = opened(&file("metadata.jsonl.zst"), Options::default()).await;
    let verification = verified(&cluster, Some(TARGET)).await;
    let of_upgrade = of_kind(&verification, FindingKind::Upgrade);
    let said: BTreeMap<_, _> = of_upgrade.iter().filter_map(|finding| counted(&finding.says, " asked for ")).collect();
    let (mut wanted, mut users) = (BTreeMap::<(String, String), u64>::new(), BTreeSet::new());
    for line in String::from_utf8(testdata::read("audit/metadata.jsonl.zst")).unwrap().lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let text = |member: &str| event["objectRef"][member].as_str().unwrap_or_default();
        let (group, version, plural) = (text("apiGroup"), text("apiVersion"), text("resource"));
        let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        let Some((kind, _)) = tables.kind(group, |row| row[4] == plural) else { continue };
        let is_fruitful = !matches!(event["responseStatus"]["code"].as_u64(), Some(401 | 403 | 404));
        let is_gone = tables.serves(37, &api_version, plural) && !tables.serves(TARGET, &api_version, plural);
        if event["stage"] == "ResponseComplete" && is_fruitful && is_gone {
            *wanted.entry((api_version, kind.to_owned())).or_default() += 1;
            users.insert(event["user"]["username"].as_str().unwrap().to_owned());
        }
    }
    assert!(wanted.len() > 1, "{wanted:?}");
    assert_eq!(said, wanted);
    let evidence: Vec<&str> = of_upgrade.iter().flat_map(|finding| &finding.evidence).map(String::as_str).collect();
    for user in users {
        assert!(evidence.iter().any(|fact| fact.starts_with(&format!("user {user} with "))), "{user}: {evidence:?}");
    }
    let same = verified(&cluster, Some(37)).await;
    assert!(same.checked.iter().any(|text| text.contains("ask for nothing that 1.37 does not serve")), "{:?}", same.checked);
}

/// A full snapshot and five deltas: the hash of the etcd that they were taken from, had it compacted nothing.
#[tokio::test]
async fn a_chain_of_deltas_has_the_hash_of_its_etcd() {
    const HASH_OF_BARE: u32 = 812_746_235;
    let path = |name: &str| testdata::path(&format!("containers/gardener/v2/{name}")).to_str().unwrap().to_owned();
    let chain = verified(&open(&[path("")], Options::default()).await.unwrap(), None).await;
    let hash = chain.hash_kv.unwrap();
    assert_eq!((hash.hash, hash.revision.0, hash.compacted), (HASH_OF_BARE, 521, None));
    let alone = verified(&open(&[path("Incr-00000419-00000456-1795547367.gz")], Options::default()).await.unwrap(), None).await;
    assert_eq!((alone.hash_kv, alone.not_checked.iter().any(|text| text == "HashKV: not all that etcd had is there")), (None, true));
}

#[tokio::test]
async fn a_history_of_several_files_says_why_it_has_no_hash() {
    let paths = ["k120-story/snapshot.db.zst", "k120-story/compacted.db.zst"].map(crate::fixture::path);
    let both = verified(&open(&paths, Options::default()).await.unwrap(), None).await;
    assert_eq!(both.hash_kv, None);
    assert!(both.not_checked.iter().any(|text| text.starts_with("HashKV: several files")), "{:?}", both.not_checked);
}

fn line(object: &Value) -> String {
    format!("{object}\n")
}

fn config_map(name: &str) -> String {
    line(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "a", "uid": "u"}}))
}

/// A stored object without content.
fn envelope(api_version: &str, kind: &str) -> Vec<u8> {
    let field = |number: u8, value: &[u8]| [&[number << 3 | 2, u8::try_from(value.len()).unwrap()][..], value].concat();
    let types = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(1, &types), field(2, &[])].concat()
}

/// KEP-3926's list: each with the revision since which it cannot be read, and the last version that can be.
#[tokio::test]
async fn values_that_cannot_be_read_have_their_last_good_version() {
    let text = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [configmaps]\n  providers:\n  \
        - aescbc: {keys: [{name: new, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}\n";
    let config = EncryptionConfig::parse(text).unwrap();
    let mut written = Written::default();
    let (keys, first) = (["undecodable", "truncated", "lost", "provider", "kind"], 2);
    let key = |name: &str| format!("/registry/configmaps/a/{name}");
    keys.iter().for_each(|name| written.put(&key(name), config_map(name)));
    written.put(&key("undecodable"), b"k8s\0\xff\xff\xff");
    written.put(&key("truncated"), &config_map("truncated")[..40]);
    written.put(&key("lost"), b"k8s:enc:aescbc:v1:gone:0123456789abcdef");
    written.put(&key("provider"), b"k8s:enc:quantum:v9:q:0123");
    written.put(&key("kind"), envelope("v9", "ConfigMap"));
    // It was never readable; it is again; it is not once more, and nobody knows its kind.
    written.put(&key("never"), b"k8s\0\xff");
    written.put(&key("undecodable"), config_map("undecodable"));
    written.put(&key("undecodable"), b"k8s\0\xff\xff\xff");
    written.put("/registry/example.net/widgets/a/b", envelope("example.net/v1", "Widget"));
    let options = Options { keys: KeyRing::new(&config), ..Options::default() };
    let cluster = database(written.finish(), options).await;
    let asked = VerifyAsked { encryption: Some(config), ..VerifyAsked::default() };
    let verification = cluster.verify(&asked).await.unwrap();
    let found = of_kind(&verification, FindingKind::Unreadable).into_iter();
    let found: BTreeMap<&str, (i64, &str, &str)> = found
        .map(|finding| {
            let name = finding.key.as_deref().unwrap().rsplit('/').next().unwrap();
            assert_eq!(finding.weight, Weight::Medium);
            (name, (finding.revision.unwrap().0, finding.evidence[0].as_str(), finding.says.as_str()))
        })
        .collect();
    let good = |revision: i64| format!("the last version that can be read is that of revision {revision}");
    let none = "no earlier version of it is left".to_owned();
    let (second, since) = (first + keys.len() as i64, |name: &str| (found[name].0, found[name].1.to_owned()));
    assert_eq!(since("undecodable"), (second + 7, good(second + 6)));
    assert_eq!(since("truncated"), (second + 1, good(first + 1)));
    assert_eq!(since("lost"), (second + 2, good(first + 2)));
    assert_eq!(since("provider"), (second + 3, good(first + 3)));
    assert_eq!(since("kind"), (second + 4, good(first + 4)));
    assert_eq!((since("never"), found.len()), ((second + 5, none), 6));
    for (name, reason) in [("lost", "no such key"), ("provider", "provider"), ("kind", "unknown kind ConfigMap of v9")] {
        assert!(found[name].2.contains(reason), "{}", found[name].2);
    }
    assert!(verification.not_checked.iter().any(|text| text == "1 value: unknown kind Widget of example.net/v1, stored as protobuf"));
}

/// Without the configuration, sealed values are not looked at, and nothing is said of their past.
#[tokio::test]
async fn sealed_values_are_no_last_good_version() {
    let mut written = Written::default();
    written.put("/registry/configmaps/a/b", b"k8s:enc:aescbc:v1:gone:0123456789abcdef");
    written.put("/registry/configmaps/a/b", b"k8s\0\xff\xff\xff");
    let verification = verified(&database(written.finish(), Options::default()).await, None).await;
    let found = of_kind(&verification, FindingKind::Unreadable);
    assert_eq!(found[0].evidence, ["whether an earlier version can be read is not known"]);
    assert!(verification.not_checked.iter().any(|text| text.starts_with("1 value sealed by aescbc")));
}

/// A definition written at a time, with these versions of one schema each.
fn definition(time: &str, versions: &[(&str, Value)]) -> String {
    let version = |(name, spec): &(&str, Value)| {
        json!({"name": name, "served": true, "storage": *name == "v1",
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}})
    };
    let versions: Vec<Value> = versions.iter().map(version).collect();
    line(&json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com", "uid": "d", "creationTimestamp": time},
        "spec": {"group": "example.com", "scope": "Namespaced", "versions": versions,
            "names": {"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"}},
        "status": {"storedVersions": ["v1"]}}))
}

fn thing(name: &str, time: &str, spec: &Value) -> String {
    line(&json!({"apiVersion": "example.com/v1", "kind": "Thing", "spec": spec,
        "metadata": {"name": name, "namespace": "a", "uid": name, "generation": 1, "creationTimestamp": time}}))
}

/// The findings of things that are there before and after their definition is written.
async fn schema_findings(versions: &[(&str, Value)]) -> (Vec<(String, Weight)>, Verification) {
    let (early, late) = ("2026-11-20T10:00:00Z", "2026-11-20T12:00:00Z");
    let mut written = Written::default();
    let key = |name: &str| format!("/registry/example.com/things/a/{name}");
    written.put(&key("old"), thing("old", early, &json!({"size": "x"})));
    written
        .put("/registry/apiextensions.k8s.io/customresourcedefinitions/things.example.com", definition("2026-11-20T11:00:00Z", versions));
    written.put(&key("new"), thing("new", late, &json!({"size": 9})));
    written.put(&key("right"), thing("right", late, &json!({"size": 3})));
    // A default makes it whole, and a null that is forbidden is left out.
    written.put(&key("empty"), thing("empty", late, &json!({"mode": null})));
    let verification = verified(&database(written.finish(), Options::default()).await, None).await;
    let found = of_kind(&verification, FindingKind::Schema);
    let named = |finding: &&Finding| (finding.key.as_deref().unwrap().rsplit('/').next().unwrap().to_owned(), finding.weight);
    (found.iter().map(named).collect(), verification)
}

#[tokio::test]
async fn custom_resources_are_held_against_their_schema() {
    let spec = json!({"type": "object", "required": ["size"], "properties": {
        "size": {"type": "integer", "maximum": 5, "default": 1}, "mode": {"type": "string", "format": "byte"}}});
    let (found, verification) = schema_findings(&[("v1", spec.clone())]).await;
    assert_eq!(found, [("new".to_owned(), Weight::Medium), ("old".to_owned(), Weight::Low)]);
    let first = of_kind(&verification, FindingKind::Schema)[0];
    assert_eq!(first.says, "it violates the schema v1 of things.example.com: spec.size is 9, more than the maximum 5");
    assert!(verification.not_checked.contains(&"of the schemas of custom resources: formats".to_owned()), "{:?}", verification.not_checked);
    // Another version may have let it in.
    let (found, _) = schema_findings(&[("v1", spec), ("v1beta1", json!({"type": "object"}))]).await;
    assert!(found.len() == 2 && found.iter().all(|(_, weight)| *weight == Weight::Low), "{found:?}");
    let (found, verification) = schema_findings(&[("v1", json!({"x-kubernetes-preserve-unknown-fields": true}))]).await;
    assert!(found.is_empty() && verification.checked.contains(&"custom resources fit their schemas".to_owned()), "{found:?}");
}

#[tokio::test]
async fn recorded_clusters_have_no_false_counter_or_schema() {
    for name in ["k120-story", "k136-story", "k136-story/compacted.db.zst", "k136-kine/killed.tar.zst", "k136-cbor"] {
        let verification = verified(&capture(name, Options::default()).await, None).await;
        let false_ones = [FindingKind::Allocator, FindingKind::Schema].map(|kind| of_kind(&verification, kind).len());
        assert_eq!(false_ones, [0, 0], "{name}: {:?}", verification.findings);
        assert!(verification.checked.contains(&"allocators agree with the Services".to_owned()), "{name}: {:?}", verification.checked);
    }
}
