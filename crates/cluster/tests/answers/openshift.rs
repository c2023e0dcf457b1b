//! OpenShift's etcd: objects below /kubernetes.io and /openshift.io, as openshift/api's own types wrote them, with their credentials masked.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use ketcd_cluster::Options;
use ketcd_testing::testdata;
use ketcd_testing::written::Written;
use serde_json::{Value, json};

use crate::fixture::database;

/// An object that openshift/api wrote: its bytes and its JSON.
fn pair(id: &str) -> (Vec<u8>, Value) {
    let pairs = testdata::read("values/openshift-pairs.jsonl.zst");
    let mut pairs = serde_json::Deserializer::from_slice(&pairs).into_iter::<Value>().map(Result::unwrap);
    let pair = pairs.find(|pair| pair["id"] == id).unwrap();
    let bytes = BASE64.decode(pair["pb"].as_str().unwrap()).unwrap();
    (bytes, serde_json::from_str(pair["json"].as_str().unwrap()).unwrap())
}

/// Key, what openshift/api wrote, address, and where it holds credentials.
const OPENSHIFT_OBJECTS: [(&str, &str, &str, &[&str]); 4] = [
    ("routes/namespaceValue/nameValue", "route.openshift.io.v1.Route", "routes/namespaceValue/nameValue", &["/spec/tls/key"]),
    (
        "deploymentconfigs/namespaceValue/nameValue",
        "apps.openshift.io.v1.DeploymentConfig",
        "deploymentconfigs/namespaceValue/nameValue",
        &[],
    ),
    ("oauth/clients/nameValue", "oauth.openshift.io.v1.OAuthClient", "oauthclients/nameValue", &["/secret", "/additionalSecrets/0"]),
    (
        "oauth/accesstokens/nameValue",
        "oauth.openshift.io.v1.OAuthAccessToken",
        "oauthaccesstokens/nameValue",
        &["/authorizeToken", "/refreshToken"],
    ),
];

#[tokio::test]
async fn objects_are_read_and_their_credentials_masked_unless_asked_for() {
    let mut written = Written::default();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
    written.put("/kubernetes.io/namespaces/default", namespace.to_string());
    for (key, id, ..) in OPENSHIFT_OBJECTS {
        written.put(&format!("/openshift.io/{key}"), pair(id).0);
    }
    let file = written.finish();
    let cluster = async |show_secrets: bool| database(file.clone(), Options { show_secrets, ..Options::default() }).await;
    let (showing, masking) = (cluster(true).await, cluster(false).await);
    for (_, id, address, secrets) in OPENSHIFT_OBJECTS {
        let mut wanted = pair(id).1;
        let mut found = Vec::new();
        for cluster in [&showing, &masking] {
            let mut objects = cluster.subjects(&[address.to_owned()]).await.unwrap().objects;
            found.push(objects.remove(0).object.into_value());
        }
        for object in found.iter_mut().chain([&mut wanted]) {
            let metadata = object["metadata"].as_object_mut().unwrap();
            metadata.retain(|name, _| !matches!(&**name, "resourceVersion" | "managedFields"));
        }
        assert_eq!(found[0], wanted, "{id}");
        for place in secrets {
            assert_eq!(found[1].pointer(place).unwrap(), "***", "{id}{place}");
            *wanted.pointer_mut(place).unwrap() = "***".into();
        }
        assert_eq!(found[1], wanted, "{id}");
    }
}
