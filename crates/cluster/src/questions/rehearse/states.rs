//! The two states of a rehearsal, side by side: each key that differs, as it is stored. What is held of a running etcd is bounded; the values of a file
//! stay in it.

use std::sync::Mutex;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};

use ketcd_kube::{Body, Decoder, Object};
use ketcd_store::{At, Error as StoreError, KeyRange, KeyValue, Revision, SourceStatus, Want};

use super::rehearse_options::RehearseAsked;
use super::sources::{flags_of, names_of};
use crate::cluster::Cluster;
use crate::cores;
use crate::error::{Error, Result};
use crate::numbers::grouped;

/// Where OpenShift's own API servers keep what they serve, next to the prefix of its kube-apiserver.
const OPENSHIFT_OWN_PATH: &str = "/openshift.io/";

/// Where Events are stored, which are counted and not read.
const EVENT_PATH: &[u8] = b"/events/";

pub(super) struct RehearsedState<'c> {
    /// The cluster.
    pub cluster: &'c Cluster,
    /// The revision.
    pub revision: Revision,
    /// The prefix of its keys.
    pub prefix: &'c str,
    /// Decodes its objects without their managers.
    decoder: Decoder,
}

/// A key whose values differ in the two states.
pub(super) struct Differing {
    /// The key below the prefix, with its slash: `/pods/lab/web-0`; of what OpenShift's own API servers keep the whole key.
    pub path: Bytes,
    /// In the backup, an Event without its value; `None` where it is not there.
    pub before: Option<KeyValue>,
    /// In the newest state, an Event without its value; `None` where it is gone.
    pub after: Option<KeyValue>,
}

pub(super) struct States<'c> {
    /// The backup.
    pub backup: RehearsedState<'c>,
    /// The newest state; `None` where none is left.
    pub newest: Option<RehearsedState<'c>>,
    /// The keys that differ, ascending; empty without a newest state.
    pub differing: Vec<Differing>,
    /// Whether both are of one cluster: the namespace kube-system has one uid for ever.
    pub is_of_one_cluster: Option<bool>,
    /// What was asked.
    pub asked: &'c RehearseAsked,
    /// What the backup's source says of itself.
    pub backup_status: SourceStatus,
    /// The same of the newest state.
    pub newest_status: Option<SourceStatus>,
    not_known: Mutex<Vec<String>>,
}

impl<'c> RehearsedState<'c> {
    /// The state of the revision looked at.
    pub(super) async fn of(cluster: &'c Cluster) -> Result<Self> {
        let decoder = cluster.decoder.clone().without_managed_fields();
        Ok(Self { cluster, revision: cluster.revision().await?, prefix: cluster.prefix().await?, decoder })
    }

    /// The key of a path such as `/pods/`.
    pub(super) fn key(&self, path: &str) -> String {
        if path.starts_with(OPENSHIFT_OWN_PATH) { path.to_owned() } else { format!("{}{path}", self.prefix) }
    }

    /// The path of a key; `None` of one that no API server of the cluster keeps.
    pub(super) fn path(&self, key: &Bytes) -> Option<Bytes> {
        if key.starts_with(OPENSHIFT_OWN_PATH.as_bytes()) {
            return Some(key.clone());
        }
        let is_below = key.starts_with(self.prefix.as_bytes()) && key.get(self.prefix.len()) == Some(&b'/');
        is_below.then(|| key.slice(self.prefix.len()..))
    }

    /// The stored entries below a path such as `/pods/`, ascending.
    pub(super) async fn entries(&self, path: &str) -> Result<Vec<KeyValue>> {
        Ok(self.below(path).await?.try_collect().await?)
    }

    /// The stored entries below a path, ascending, each when it is asked for.
    async fn below(&self, path: &str) -> Result<BoxStream<'c, std::result::Result<KeyValue, StoreError>>> {
        let keys = KeyRange::prefix(self.key(path));
        Ok(self.cluster.source.range(keys, At::Revision(self.revision), Want::Values).await?.entries.boxed())
    }

    /// Every object below a path, decoded without its managers; what cannot be decoded is left out.
    pub(super) async fn objects(&self, path: &str) -> Result<Vec<Object>> {
        Ok(self.entries(path).await?.iter().filter_map(|entry| self.object(entry)).collect())
    }

    /// What is made of every object below a path, decoded without its managers on all cores and let go at once; what cannot be decoded is left out.
    pub(super) async fn made<R: Send + 'static>(
        &self,
        path: &str,
        make: impl Fn(Object) -> Option<R> + Send + Sync + 'static,
    ) -> Result<Vec<R>> {
        self.made_of(path, |_| true, make).await
    }

    /// The same of those whose stored values are wanted.
    pub(super) async fn made_of<R: Send + 'static>(
        &self,
        path: &str,
        is_wanted: impl Fn(&KeyValue) -> bool + Send,
        make: impl Fn(Object) -> Option<R> + Send + Sync + 'static,
    ) -> Result<Vec<R>> {
        let entries = self.below(path).await?.try_filter(move |entry| std::future::ready(is_wanted(entry)));
        let decoder = self.decoder.clone();
        let of_entry = move |entry: KeyValue| match decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
            Body::Object(object) => make(object),
            Body::Opaque(_) => None,
        };
        let mut read = cores::in_order_ahead(entries, |entry: &KeyValue| entry.value.len(), of_entry).boxed();
        let mut all = Vec::new();
        while let Some(one) = read.next().await.transpose()? {
            all.extend(one);
        }
        Ok(all)
    }

    /// The object of an entry without its managers; `None` where it cannot be decoded.
    pub(super) fn object(&self, entry: &KeyValue) -> Option<Object> {
        match self.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
            Body::Object(object) => Some(object),
            Body::Opaque(_) => None,
        }
    }
}

impl<'c> States<'c> {
    /// Compares two states key by key.
    pub(super) async fn of(backup: &'c Cluster, newest: Option<&'c Cluster>, asked: &'c RehearseAsked) -> Result<Self> {
        let backup = RehearsedState::of(backup).await?;
        let newest = match newest {
            Some(newest) => Some(RehearsedState::of(newest).await?),
            None => None,
        };
        let backup_status = backup.cluster.source.status().await?;
        let newest_status = match &newest {
            Some(newest) => Some(newest.cluster.source.status().await?),
            None => None,
        };
        let (mut differing, mut is_of_one_cluster) = (Vec::new(), None);
        if let (Some(newest), Some(status)) = (&newest, &newest_status) {
            differing = compare(&backup, newest, asked.max_held_bytes).await?.ok_or_else(|| too_much(&backup_status, status, asked))?;
            let uids = [uid_of_cluster(&backup).await?, uid_of_cluster(newest).await?];
            is_of_one_cluster = if let [Some(one), Some(other)] = uids { Some(one == other) } else { None };
        }
        Ok(Self { backup, newest, differing, is_of_one_cluster, asked, backup_status, newest_status, not_known: Mutex::default() })
    }

    /// The command line of ketcd on the newest state; on the backup where none is left.
    pub(super) fn of_newest(&self, words: &str) -> String {
        format!("ketcd{} {words}", flags_of(self.newest_status.as_ref().unwrap_or(&self.backup_status)))
    }

    /// The command line of ketcd on the backup.
    pub(super) fn of_backup(&self, words: &str) -> String {
        format!("ketcd{} {words}", flags_of(&self.backup_status))
    }

    /// The keys that differ below a path such as `/pods/`.
    pub(super) fn differing_below<'s>(&'s self, path: &'s str) -> impl Iterator<Item = &'s Differing> {
        let begin = self.differing.partition_point(|differing| *differing.path < *path.as_bytes());
        self.differing[begin..].iter().take_while(move |differing| differing.path.starts_with(path.as_bytes()))
    }

    /// Notes what cannot be said, and what evidence is missing.
    pub(super) fn note(&self, phrase: impl Into<String>) {
        let phrase = phrase.into();
        let mut not_known = self.not_known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !not_known.contains(&phrase) {
            not_known.push(phrase);
        }
    }

    /// What was noted so far.
    pub(super) fn not_known(&self) -> Vec<String> {
        self.not_known.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

/// Compares the keys of two states; `None` where more would have to be held of a running etcd than these bytes.
async fn compare(backup: &RehearsedState<'_>, newest: &RehearsedState<'_>, max_held_bytes: usize) -> Result<Option<Vec<Differing>>> {
    let mut found = DifferenceFound { differing: Vec::new(), left_bytes: newest.cluster.source.is_shared().then_some(max_held_bytes) };
    if !found.compare(backup, newest, "/").await? {
        return Ok(None);
    }
    if backup.cluster.has_openshift().await? || newest.cluster.has_openshift().await? {
        if !found.compare(backup, newest, OPENSHIFT_OWN_PATH).await? {
            return Ok(None);
        }
        found.differing.sort_by(|one, other| one.path.cmp(&other.path));
    }
    Ok(Some(found.differing))
}

/// What differs, while it is found.
struct DifferenceFound {
    differing: Vec<Differing>,
    /// How many bytes more may be held; `None` without a bound.
    left_bytes: Option<usize>,
}

impl DifferenceFound {
    /// Merges the keys of two states below a path, both ascending. Returns whether all could be held.
    async fn compare(&mut self, backup: &RehearsedState<'_>, newest: &RehearsedState<'_>, path: &str) -> Result<bool> {
        let (mut old, mut new) = (backup.below(path).await?, newest.below(path).await?);
        let (mut before, mut after) = (old.try_next().await?, new.try_next().await?);
        let path = |state: &RehearsedState<'_>, entry: &KeyValue| state.path(&entry.key).unwrap_or_else(|| entry.key.clone());
        loop {
            let paths = (before.as_ref().map(|entry| path(backup, entry)), after.as_ref().map(|entry| path(newest, entry)));
            let (path, is_before, is_after) = match paths {
                (None, None) => return Ok(true),
                (Some(path), None) => (path, true, false),
                (None, Some(path)) => (path, false, true),
                (Some(one), Some(other)) => {
                    let order = one.cmp(&other);
                    (if order.is_le() { one } else { other }, order.is_le(), order.is_ge())
                }
            };
            let (one, other) = (if is_before { before.take() } else { None }, if is_after { after.take() } else { None });
            if is_before {
                before = old.try_next().await?;
            }
            if is_after {
                after = new.try_next().await?;
            }
            let is_same = matches!((&one, &other), (Some(one), Some(other)) if one.value == other.value);
            if !is_same && !self.hold(Differing { path, before: one, after: other }) {
                return Ok(false);
            }
        }
    }

    /// Holds a key that differs; returns whether that is within the bound.
    fn hold(&mut self, mut differing: Differing) -> bool {
        if differing.path.starts_with(EVENT_PATH) {
            [&mut differing.before, &mut differing.after].into_iter().flatten().for_each(|entry| entry.value = Bytes::new());
        }
        if let (Some(left), Some(after)) = (&mut self.left_bytes, &differing.after) {
            match left.checked_sub(after.key.len() + after.value.len()) {
                Some(still_left) => *left = still_left,
                None => return false,
            }
        }
        self.differing.push(differing);
        true
    }
}

/// That more differs than can be held, and how the answer is had all the same.
fn too_much(backup: &SourceStatus, newest: &SourceStatus, asked: &RehearseAsked) -> Error {
    let [backup, newest] = [backup, newest].map(|status| names_of(status).join(" "));
    Error::Invalid {
        problem: format!(
            "more than {} bytes of {newest} differ from {backup}, and are not held in memory: nothing was compared",
            grouped(asked.max_held_bytes)
        ),
        hint: Some(format!(
            "take a snapshot, whose values stay in its file: etcdctl --endpoints {newest} snapshot save newest.db; then ketcd rehearse {backup} --over \
             newest.db"
        )),
    }
}

/// The uid of the namespace kube-system; `None` where it is not there.
pub(super) async fn uid_of_cluster(state: &RehearsedState<'_>) -> Result<Option<String>> {
    let key = KeyRange::key(format!("{}/namespaces/kube-system", state.prefix));
    let found = state.cluster.source.first(key, At::Revision(state.revision), Want::Values, 1).await?;
    let object = found.first().and_then(|entry| state.object(entry));
    Ok(object.and_then(|object| object["metadata"]["uid"].as_str().map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::made_up::{MadeUp, object};
    use super::*;

    fn differing(value: &'static str) -> Differing {
        let entry = KeyValue {
            key: Bytes::from_static(b"/registry/pods/lab/web"),
            value: Bytes::from_static(value.as_bytes()),
            create_revision: Revision(2),
            mod_revision: Revision(2),
            version: 1,
            replaced: Revision(0),
            lease: 0,
        };
        Differing { path: Bytes::from_static(b"/pods/lab/web"), before: None, after: Some(entry) }
    }

    #[test]
    fn no_more_is_held_than_may_be() {
        let bytes_held = "/registry/pods/lab/web".len() + "value".len();
        let mut found = DifferenceFound { differing: Vec::new(), left_bytes: Some(2 * bytes_held) };
        let held: Vec<bool> = (0..3).map(|_| found.hold(differing("value"))).collect();
        assert_eq!((held, found.differing.len()), (vec![true, true, false], 2));
        assert!(found.hold(Differing { after: None, ..differing("") }), "what is gone is in the backup's file");
        let mut file = DifferenceFound { differing: Vec::new(), left_bytes: None };
        assert!((0..100).all(|_| file.hold(differing("value"))));
        assert!(file.hold(Differing { path: Bytes::from_static(b"/events/lab/web.1"), ..differing("value") }));
        assert!(file.differing.last().unwrap().after.as_ref().unwrap().value.is_empty(), "Events are counted");
    }

    #[test]
    fn too_much_is_refused_with_the_way_round_it() {
        let [backup, live] = [("b.db", ketcd_store::SourceKind::Db), ("http://a:2379", ketcd_store::SourceKind::Live)]
            .map(|(name, kind)| SourceStatus::new(kind, name.to_owned()));
        let Error::Invalid { problem, hint } = too_much(&backup, &live, &RehearseAsked::default()) else { panic!("another error") };
        assert!(problem.starts_with("more than 268,435,456 bytes of http://a:2379 differ from b.db"), "{problem}");
        let hint = hint.unwrap();
        assert!(
            hint.contains("etcdctl --endpoints http://a:2379 snapshot save newest.db")
                && hint.ends_with("ketcd rehearse b.db --over newest.db"),
            "{hint}"
        );
    }

    #[tokio::test]
    async fn what_openshifts_own_api_servers_keep_is_compared_too() {
        let of = |key: &str, kind: &str, uid: &str| json!({"key": key, "object": object(kind, "shop", "a", uid)});
        let both = of("/kubernetes.io/namespaces/default", "Namespace", "n");
        let backup = [both.clone(), of("/openshift.io/routes/shop/old", "Route", "o"), of("/kubernetes.io/pods/shop/old", "Pod", "p")];
        let newest = [both, of("/openshift.io/routes/shop/new", "Route", "r"), of("/kubernetes.io/configmaps/shop/new", "ConfigMap", "c")];
        let made_up = MadeUp::two(&backup, &newest).await;
        let states = made_up.states().await;
        let paths: Vec<&[u8]> = states.differing.iter().map(|differing| &*differing.path).collect();
        let wanted: [&[u8]; 4] =
            [b"/configmaps/shop/new", b"/openshift.io/routes/shop/new", b"/openshift.io/routes/shop/old", b"/pods/shop/old"];
        assert_eq!(paths, wanted, "ascending");
        assert_eq!(states.differing_below("/openshift.io/routes/").count(), 2);
        assert_eq!(states.backup.entries("/openshift.io/routes/").await.unwrap().len(), 1);
    }
}
