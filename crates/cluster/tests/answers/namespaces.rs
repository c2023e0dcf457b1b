//! Questions about one namespace: they show what the same questions about all show, less what is of others.

use std::collections::BTreeSet;

use ketcd_cluster::diff::{ComparedState, diff};
use ketcd_cluster::{Options, Selection};

use crate::fixture::{end, open, path};

/// The two sides of a comparison: a file, and the revision of it that is compared; the newest if there is none.
type Sides<'a> = [(&'a str, Option<i64>); 2];

/// The keys that differ between two sides, in one namespace or in all.
async fn differences(sides: &Sides<'_>, namespace: Option<&str>) -> BTreeSet<String> {
    let side = async |file: &str| {
        let options = Options { namespace: namespace.map(str::to_owned), ..Options::default() };
        open(&[file.to_owned()], options).await.unwrap()
    };
    let clusters = [side(sides[0].0).await, side(sides[1].0).await];
    let states = match (sides[0].1, sides[1].1) {
        (None, None) => [ComparedState::newest(&clusters[0], "a"), ComparedState::newest(&clusters[1], "b")],
        (from, to) => ComparedState::between(&clusters[1], from.map(end), to.map(end)).await.unwrap(),
    };
    let found = diff(&states, &[], &Selection::default()).await.unwrap().differences;
    let keys: BTreeSet<String> = found.iter().map(|named| String::from_utf8_lossy(&named.difference.key).into_owned()).collect();
    assert_eq!(keys.len(), found.len(), "a difference is found twice");
    keys
}

/// Whether a key is of an object in the namespace, or of the namespace itself.
fn is_of(key: &str, namespace: &str) -> bool {
    key.contains(&format!("/{namespace}/")) || key == format!("/registry/namespaces/{namespace}")
}

#[tokio::test]
async fn a_diff_is_of_one_namespace() {
    let (story, older) = (path("k136-story"), path("k120-story"));
    // Revision 2 holds no definition of a custom kind yet, so those objects are known from the other side alone, and the other way round.
    for sides in [[(&*story, Some(2)), (&*story, None)], [(&*story, Some(3000)), (&*story, Some(300))], [(&*older, None), (&*story, None)]]
    {
        let all = differences(&sides, None).await;
        for namespace in ["lab", "web", "kube-system", "kube-node-lease"] {
            let wanted: BTreeSet<String> = all.iter().filter(|key| is_of(key, namespace)).cloned().collect();
            let found = differences(&sides, Some(namespace)).await;
            assert!(!wanted.is_empty(), "{sides:?} {namespace}");
            assert!(found == wanted, "{sides:?} {namespace}: {} differences, not {}", found.len(), wanted.len());
        }
    }
}

#[tokio::test]
async fn custom_resources_are_compared_after_their_definition_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let definition = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.lab.example.com"},
        "spec": {"group": "lab.example.com", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
        "versions": [{"name": "v1", "served": true, "storage": true}]}}"#;
    let thing = r#"{"apiVersion": "lab.example.com/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": "shop"}}"#;
    let namespace = r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}"#;
    let file = |name: &str, objects: &[&str]| {
        let path = folder.path().join(name);
        std::fs::write(&path, objects.iter().map(|object| object.replace('\n', " ")).collect::<Vec<_>>().join("\n")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (before, after) = (file("before.json", &[definition, thing, namespace]), file("after.json", &[namespace]));
    let found = differences(&[(&before, None), (&after, None)], Some("shop")).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found.iter().all(|key| key.ends_with("things/shop/a")), "{found:?}");
}
