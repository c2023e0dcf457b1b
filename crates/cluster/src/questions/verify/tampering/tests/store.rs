//! Stores that a test makes up write by write, as an API server would leave them or not.

use serde_json::{Value, json};

use ketcd_kube::Release;
use ketcd_kube::encryption::KeyRing;
use ketcd_store::Source;
use ketcd_store::load::{self, Limits};
use ketcd_testing::etcd_file::Record;
use ketcd_testing::snapshot;

use super::super::super::asked::VerifyAsked;
use super::super::super::finding::{Finding, FindingKind, Weight};
use super::super::findings;
use crate::cluster::Cluster;
use crate::options::Options;

/// The time of revision 0, in seconds since 1970.
pub(super) const BEGIN_SECONDS: i64 = 1_795_220_000;

/// How many seconds lie between two revisions.
const STEP_SECONDS: i64 = 10;

/// How many objects a store begins with.
const FIRST_OBJECTS: i64 = 30;

struct Write {
    key: String,
    value: Option<Vec<u8>>,
    create_revision: i64,
    version: i64,
    lease: i64,
}

/// A store that is being written, one change a revision.
pub(super) struct Store(Vec<Write>);

impl Store {
    /// A healthy store with some ConfigMaps, the first of them at revision 2.
    pub(super) fn new() -> Self {
        let mut store = Self(Vec::new());
        store.create("/registry/namespaces/default", &object("v1", "Namespace", "", "default"));
        for number in 0..FIRST_OBJECTS {
            // Their keys do not ascend: a copy's would.
            let name = format!("first-{}", number * 7 % FIRST_OBJECTS);
            store.create(&format!("/registry/configmaps/default/{name}"), &object("v1", "ConfigMap", "default", &name));
        }
        store
    }

    /// A store without anything in it.
    pub(super) fn empty() -> Self {
        Self(Vec::new())
    }

    /// The revision of the next write.
    pub(super) fn next(&self) -> i64 {
        self.0.len() as i64 + 2
    }

    /// The time of the next write, as objects say it.
    pub(super) fn now(&self) -> String {
        time(self.next())
    }

    /// Stores an object in protobuf, created now with a uid of its own; returns it as it is stored.
    pub(super) fn create(&mut self, key: &str, object: &Value) -> Value {
        let created = json!({"metadata": {"uid": format!("uid-of-{key}-{}", self.next()), "creationTimestamp": self.now()}});
        let object = with(object, &created);
        self.write(key, &object);
        object
    }

    /// Stores an object in protobuf as it is.
    pub(super) fn write(&mut self, key: &str, object: &Value) -> i64 {
        self.put(key, protobuf(object))
    }

    /// Stores bytes.
    pub(super) fn put(&mut self, key: &str, value: impl Into<Vec<u8>>) -> i64 {
        self.put_leased(key, value, 0)
    }

    /// Stores bytes that expire with a lease.
    pub(super) fn put_leased(&mut self, key: &str, value: impl Into<Vec<u8>>, lease: i64) -> i64 {
        let revision = self.next();
        let last = self.0.iter().rev().find(|write| write.key == key).filter(|write| write.value.is_some());
        let (create_revision, version) = last.map_or((revision, 1), |last| (last.create_revision, last.version + 1));
        self.0.push(Write { key: key.to_owned(), value: Some(value.into()), create_revision, version, lease });
        revision
    }

    /// Deletes a key.
    pub(super) fn delete(&mut self, key: &str) -> i64 {
        let revision = self.next();
        self.0.push(Write { key: key.to_owned(), value: None, create_revision: 0, version: 0, lease: 0 });
        revision
    }

    /// Goes on for some writes, so that there is something behind what came before.
    pub(super) fn go_on(&mut self) {
        for number in 0..12 {
            let name = format!("later-{}-{number}", self.next());
            self.create(&format!("/registry/configmaps/default/{name}"), &object("v1", "ConfigMap", "default", &name));
        }
    }

    /// A source of it.
    pub(super) fn source(&self) -> Box<dyn Source> {
        let records = self.0.iter().zip(2..).map(|(write, mod_revision)| Record {
            key: write.key.as_bytes(),
            value: write.value.as_deref(),
            create_revision: write.create_revision,
            mod_revision,
            sub_revision: 0,
            version: write.version,
            lease: write.lease,
        });
        let database = snapshot::database(&records.collect::<Vec<_>>(), self.next() - 1, None, false);
        load::open_bytes("store.db", database.into(), &Limits::default(), &|_| None).unwrap()
    }

    /// What is found in it.
    pub(super) async fn findings(&self) -> Vec<Finding> {
        self.findings_with(KeyRing::default()).await
    }

    /// What is found in it, sealed values opened with these keys.
    pub(super) async fn findings_with(&self, keys: KeyRing) -> Vec<Finding> {
        let cluster = Cluster::open(self.source(), Options { keys, ..Options::default() }).await.unwrap();
        let part = findings(&cluster, &VerifyAsked::default()).await.unwrap();
        assert!(part.findings.iter().all(|finding| finding.kind == FindingKind::Tampering && finding.key.is_some()));
        part.findings
    }

    /// The revisions of what is found in it, with the weights.
    pub(super) async fn found(&self) -> Vec<(i64, Weight)> {
        self.findings().await.into_iter().map(|finding| (finding.revision.unwrap().0, finding.weight)).collect()
    }

    /// Holds that nothing is found in it.
    pub(super) async fn is_clean(&self) {
        assert_eq!(self.findings().await, []);
    }
}

/// The time of a revision, as objects say it.
fn time(revision: i64) -> String {
    jiff::Timestamp::from_second(BEGIN_SECONDS + revision * STEP_SECONDS).unwrap().to_string()
}

/// An object without uid and creation time.
pub(super) fn object(api_version: &str, kind: &str, namespace: &str, name: &str) -> Value {
    let metadata = if namespace.is_empty() { json!({ "name": name }) } else { json!({"name": name, "namespace": namespace}) };
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata})
}

/// The object with other members.
pub(super) fn with(object: &Value, members: &Value) -> Value {
    let mut object = object.clone();
    json_patch::merge(&mut object, members);
    object
}

/// The object as API servers store it.
pub(super) fn protobuf(object: &Value) -> Vec<u8> {
    protobuf_of(object, Release::NEWEST)
}

/// The object as API servers of a release store it.
pub(super) fn protobuf_of(object: &Value, release: Release) -> Vec<u8> {
    ketcd_kube::encode(object, release).unwrap().expect("a kind of Kubernetes")
}
