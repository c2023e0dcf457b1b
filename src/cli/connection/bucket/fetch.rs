//! Copies what is needed of a bucket: one object, or those below a prefix that a backup is made of.
//!
//! Objects are listed first. A large one is recognised by its beginning, and the rest is copied only where it can be opened.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path as Key;
use object_store::{GetResult, ObjectMeta, ObjectStoreExt};

use ketcd_store::load;

use super::client::{Bucket, failed};
use super::exclusion;
use crate::cli::input::source_names::ENTRY_SEPARATOR;
use crate::cli::outcome::{Error, Result};

/// How many objects are copied at once.
const COPIES_AT_ONCE: usize = 8;
/// How Gardener's sidecar calls the parts of an upload that was broken off.
const CHUNK_PREFIX: &str = "Chunk-";
/// Larger objects are recognised by this many bytes first.
const PROBED_BYTES: u64 = 256 << 10;

pub(in crate::cli) struct Wanted<'w> {
    /// What lies below the URL; all where it is empty.
    pub within: &'w str,
    /// The most bytes that are copied; when it is, what is left of them.
    pub most: u64,
}

/// An object below the URL.
struct BucketObject {
    meta: ObjectMeta,
    /// Its name below the URL.
    name: String,
}

impl BucketObject {
    /// Where it is copied to.
    fn path(&self, folder: &Path) -> PathBuf {
        // The parts of a name are neither empty nor lead upwards: `object_store` takes no others.
        self.name.split('/').fold(folder.to_owned(), |path, part| path.join(part))
    }

    /// Whether it is called as Gardener's snapshots are.
    fn is_gardeners(&self) -> bool {
        load::is_gardeners(self.meta.location.filename().unwrap_or_default())
    }
}

impl Bucket {
    /// Copies the object that the URL names to a file, as it comes; or what is wanted of the objects below it into a folder, where it names none.
    /// Returns what is not copied, each a sentence.
    ///
    /// # Errors
    /// It is not there, is larger than what is wanted, or the file cannot be written.
    pub(in crate::cli) async fn fetch(&self, to: &Path, wanted: &mut Wanted<'_>) -> Result<Vec<String>> {
        let is_folder = self.url.ends_with('/') || self.below.as_ref().is_empty();
        let is_missing = |error: object_store::Error| match error {
            object_store::Error::NotFound { .. } => Ok(Err(failed(&self.url, &error))),
            error => Err(error),
        };
        let asked = async { self.store.get(&self.below).await.map(Ok).or_else(is_missing) };
        let missing = match if is_folder { None } else { Some(self.in_time(asked).await?) } {
            None => None,
            Some(Ok(found)) => {
                let size = found.meta.size;
                self.refuse_more_than(wanted.most, "has", size)?;
                wanted.most -= size;
                return self.write(found, size, to).await.map(|()| Vec::new());
            }
            Some(Err(missing)) => Some(missing),
        };
        let objects = self.objects().await;
        match (objects, missing) {
            // Who may read one object may not list the others.
            (Err(_), Some(missing)) => Err(missing),
            (Err(error), None) => Err(error),
            (Ok(objects), missing) if objects.is_empty() => {
                let none = || Error::new(format!("{}: no object lies below it", self.url)).hint("check the bucket and the path");
                Err(missing.unwrap_or_else(none))
            }
            (Ok(objects), _) => self.fetch_all(objects, to, wanted).await,
        }
    }

    /// The objects below the URL that may be a part of a backup.
    async fn objects(&self) -> Result<Vec<ObjectMeta>> {
        let is_chunk = |object: &ObjectMeta| object.location.filename().is_some_and(|name| name.starts_with(CHUNK_PREFIX));
        // A name that ends with a slash stands for a folder, where a console made one.
        let objects = self.list(&self.below).await?;
        Ok(objects.into_iter().filter(|object| !is_chunk(object) && object.location != self.below).collect())
    }

    /// Copies what is wanted of objects into a folder, each with its name below the URL.
    async fn fetch_all(&self, objects: Vec<ObjectMeta>, to: &Path, wanted: &mut Wanted<'_>) -> Result<Vec<String>> {
        let count = objects.len();
        let objects = objects.into_iter().filter_map(|meta| {
            let parts: Vec<String> = meta.location.prefix_match(&self.below)?.map(|part| part.as_ref().to_owned()).collect();
            Some(BucketObject { name: parts.join("/"), meta })
        });
        let objects: Vec<BucketObject> = objects.filter(|object| is_within(&object.name, wanted.within)).collect();
        if objects.is_empty() {
            return Err(
                Error::new(format!("{}: none of the {count} objects below it is {}", self.url, wanted.within)).hint("check the name")
            );
        }
        let (objects, mut said) = self.without_excluded(objects).await;
        let names: Vec<&str> = objects.iter().map(|object| object.name.as_str()).collect();
        let (mut copied, mut damaged, mut bytes) = (BTreeSet::new(), BTreeSet::new(), 0);
        // What is damaged shows when it is there: then a full snapshot after it is needed.
        let left_out = loop {
            let left_out = load::superfluous_snapshots(&names, &damaged);
            let round: Vec<usize> = (0..objects.len()).filter(|place| !left_out.contains(place) && !copied.contains(place)).collect();
            if round.is_empty() {
                break left_out;
            }
            self.copy(round.iter().map(|&place| &objects[place]), to, wanted.most, &mut bytes, &mut said).await?;
            if !left_out.is_empty() {
                let limits = load::Limits { unpacked: wanted.most, ..load::Limits::default() };
                let is_damaged = |object: &BucketObject| object.is_gardeners() && !load::is_whole_snapshot(&object.path(to), &limits);
                damaged.extend(round.iter().filter(|&&place| is_damaged(&objects[place])));
            }
            copied.extend(round);
        };
        wanted.most = wanted.most.saturating_sub(bytes);
        let sentence = match left_out.difference(&copied).count() {
            0 => return Ok(said),
            1 => "1 full snapshot was not loaded: the deltas before it have every change".to_owned(),
            count => format!("{count} full snapshots were not loaded: the deltas before them have every change"),
        };
        said.push(format!("{}: {sentence}", self.url));
        Ok(said)
    }

    /// Copies objects into a folder: of those that cannot be opened only the beginning. `bytes` were copied before, and `most` may be.
    async fn copy(
        &self,
        objects: impl Iterator<Item = &BucketObject>,
        to: &Path,
        most: u64,
        bytes: &mut u64,
        said: &mut Vec<String>,
    ) -> Result<()> {
        let looked_at = objects.map(|object| async move { Ok::<_, Error>((object, self.is_wanted_whole(object).await?)) });
        let objects: Vec<(&BucketObject, bool)> = stream::iter(looked_at).buffered(COPIES_AT_ONCE).try_collect().await?;
        let sizes = objects.iter().map(|(object, is_whole)| if *is_whole { object.meta.size } else { PROBED_BYTES });
        // A server may say any number.
        *bytes = sizes.fold(*bytes, u64::saturating_add);
        let what = format!("holds {} objects, which together have", objects.len());
        self.refuse_more_than(most, &what, *bytes)?;
        let cut = objects.iter().filter(|(_, is_whole)| !is_whole).map(|(object, _)| object.name.as_str()).collect::<Vec<_>>();
        if let [first, more @ ..] = &cut[..] {
            let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            said.push(format!("{}: {first}{more}: only the beginning was loaded, as it is not in a format that ketcd reads", self.url));
        }
        let copies = objects.iter().map(|&(object, is_whole)| async move {
            if !is_whole {
                return write_all(&object.path(to), &self.beginning(&object.meta.location).await?);
            }
            let found = self.in_time(self.store.get(&object.meta.location)).await?;
            self.write(found, object.meta.size, &object.path(to)).await
        });
        stream::iter(copies).buffer_unordered(COPIES_AT_ONCE).try_collect::<()>().await
    }

    /// Leaves out the snapshots of Gardener's that are excluded from restores.
    async fn without_excluded(&self, objects: Vec<BucketObject>) -> (Vec<BucketObject>, Vec<String>) {
        let asked = objects.into_iter().map(|object| async move {
            let is_excluded = if object.is_gardeners() { self.excludes(&object.meta.location).await } else { Ok(false) };
            (object, is_excluded)
        });
        let answers: Vec<(BucketObject, std::result::Result<bool, String>)> = stream::iter(asked).buffered(COPIES_AT_ONCE).collect().await;
        let (mut kept, mut excluded, mut unknown) = (Vec::new(), Vec::new(), None);
        for (object, is_excluded) in answers {
            match is_excluded {
                Ok(true) => excluded.push(object.name),
                Ok(false) => kept.push(object),
                Err(why) => {
                    kept.push(object);
                    unknown.get_or_insert(why);
                }
            }
        }
        let mut said = Vec::new();
        if let Some(why) = unknown {
            said.push(format!("{}: whether snapshots are excluded from restores is not known: {why}", self.url));
        }
        if !excluded.is_empty() {
            said.push(format!("{}: left out, as they are excluded from restores: {}", self.url, excluded.join(", ")));
        }
        (kept, said)
    }

    /// Whether an object is excluded from restores.
    async fn excludes(&self, key: &Key) -> std::result::Result<bool, String> {
        if let Some(tags) = &self.tags {
            return tags.exclude(key).await;
        }
        let head = object_store::GetOptions { head: true, ..Default::default() };
        let found = self.in_time(self.store.get_opts(key, head)).await.map_err(|error| error.to_string())?;
        Ok(exclusion::is_in_metadata(&found.attributes))
    }

    /// Finds out by its beginning whether an object can be opened, so that all of it is copied.
    async fn is_wanted_whole(&self, object: &BucketObject) -> Result<bool> {
        let name = object.meta.location.filename().unwrap_or_default();
        // A member's database is one even where its beginning is damaged.
        let is_known = object.meta.size <= PROBED_BYTES || object.name.ends_with("snap/db");
        Ok(is_known || load::may_be_read(name, self.beginning(&object.meta.location).await?))
    }

    async fn beginning(&self, key: &Key) -> Result<bytes::Bytes> {
        self.in_time(self.store.get_range(key, 0..PROBED_BYTES)).await
    }

    fn refuse_more_than(&self, most: u64, what: &str, bytes: u64) -> Result<()> {
        if bytes <= most {
            return Ok(());
        }
        Err(Error::new(format!("{} {what} {bytes} bytes, more than the limit of {most}", self.url))
            .hint("allow more with --max-unpacked-size"))
    }

    /// Writes an object of a size to a file, as it comes, and no more than that: as much was counted.
    async fn write(&self, found: GetResult, size: u64, to: &Path) -> Result<()> {
        to.parent().map_or(Ok(()), fs::create_dir_all)?;
        let mut file = File::create_new(to)?;
        let (name, mut chunks, mut left) = (found.meta.location.clone(), found.into_stream(), size);
        while let Some(chunk) = self.in_time(chunks.try_next()).await? {
            left = left.checked_sub(chunk.len() as u64).ok_or_else(|| {
                Error::new(format!("{}: the server sends more of {name} than the {size} bytes that it said", self.url)).hint("list it anew")
            })?;
            file.write_all(&chunk).map_err(|error| unwritten(to, &error))?;
        }
        Ok(())
    }
}

fn write_all(to: &Path, bytes: &[u8]) -> Result<()> {
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    File::create_new(to)?.write_all(bytes).map_err(|error| unwritten(to, &error))
}

fn unwritten(to: &Path, error: &std::io::Error) -> Error {
    Error::new(format!("cannot write {}: {error}", to.display())).hint("choose another TMPDIR")
}

/// Whether an object is what is wanted, lies in it, or is an archive that holds it.
fn is_within(name: &str, within: &str) -> bool {
    let within = within.trim_end_matches('/');
    let is_below = name.strip_prefix(within).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    within.is_empty() || is_below || within.strip_prefix(name).is_some_and(|rest| rest.starts_with(ENTRY_SEPARATOR))
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use std::time::Duration;

    use object_store::PutPayload;
    use object_store::throttle::{ThrottleConfig, ThrottledStore};

    use super::*;
    use crate::cli::connection::bucket::limits::Limits;

    /// A bucket of these objects, opened by a URL; and what was copied out of it, by its path in the copy.
    async fn fetched<B: AsRef<[u8]>>(objects: &[(&str, B)], path: &str, most: u64) -> std::result::Result<Vec<(String, Vec<u8>)>, String> {
        let store = InMemory::new();
        for (name, content) in objects {
            store.put(&Key::parse(name).unwrap(), PutPayload::from(content.as_ref().to_owned())).await.unwrap();
        }
        let (path, within) = path.split_once(ENTRY_SEPARATOR).unwrap_or((path, ""));
        let below = Key::parse(path.trim_end_matches('/')).unwrap();
        let bucket = Bucket { url: format!("s3://b/{path}"), store: Box::new(store), below, tags: None, limits: Limits::default() };
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("copy");
        bucket.fetch(&copy, &mut Wanted { within, most }).await.map_err(|error| error.to_string())?;
        if copy.is_file() {
            return Ok(vec![(String::new(), fs::read(&copy).unwrap())]);
        }
        let (mut found, mut folders) = (Vec::new(), vec![copy.clone()]);
        while let Some(at) = folders.pop() {
            for entry in fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    folders.push(entry);
                } else {
                    found.push((entry.strip_prefix(&copy).unwrap().display().to_string(), fs::read(&entry).unwrap()));
                }
            }
        }
        found.sort();
        Ok(found)
    }

    #[tokio::test]
    async fn what_lies_below_a_prefix_is_copied_as_a_folder() {
        let objects = [
            ("backup/etcd-main/v2/Full-00000000-00000331-1.gz", "full"),
            ("backup/etcd-main/v2/Incr-00000332-00000380-2.gz", "incr"),
            ("backup/etcd-main/v2/Chunk-1-2", "chunk"),
            ("backup/night.db", "night"),
            ("backups/other.db", "other"),
        ];
        let row = |name: &str, content: &str| (name.to_owned(), content.as_bytes().to_owned());
        let wanted = [row("Full-00000000-00000331-1.gz", "full"), row("Incr-00000332-00000380-2.gz", "incr")];
        for path in ["backup/etcd-main/v2/", "backup/etcd-main/v2"] {
            assert_eq!(fetched(&objects, path, 100).await.unwrap(), wanted, "{path}");
        }
        assert_eq!(fetched(&objects, "backup/night.db", 100).await.unwrap(), [row("", "night")]);
        assert_eq!(fetched(&objects, "", 100).await.unwrap().len(), 4);
        let error = fetched(&objects, "backup/", 12).await.unwrap_err();
        assert!(error.contains("holds 3 objects, which together have 13 bytes, more than the limit of 12"), "{error}");
        for path in ["none.db", "none/"] {
            let error = fetched(&objects, path, 100).await.unwrap_err();
            assert!(error.contains(&format!("s3://b/{path}")), "{error}");
        }
    }

    /// Only the beginning is copied where nothing can be opened, and nothing else than what is selected.
    #[tokio::test]
    async fn no_more_is_copied_than_is_needed() {
        let (blob, text) = ("x".repeat(300 << 10), format!("kind: List\napiVersion: v1\nitems: []\n{}", "\n".repeat(300 << 10)));
        let objects = [("b/blob.bin", &*blob), ("b/all.yaml", &*text), ("b/c/night.db", "night")];
        let lengths = |found: Vec<(String, Vec<u8>)>| found.into_iter().map(|(name, content)| (name, content.len())).collect::<Vec<_>>();
        let row = |name: &str, length: usize| (name.to_owned(), length);
        let found = fetched(&objects, "b/", 600 << 10).await.unwrap();
        assert_eq!(lengths(found), [row("all.yaml", text.len()), row("blob.bin", 256 << 10), row("c/night.db", 5)]);
        for within in ["c", "c/night.db", "c/night.db::x"] {
            assert_eq!(lengths(fetched(&objects, &format!("b/::{within}"), 100).await.unwrap()), [row("c/night.db", 5)], "{within}");
        }
        let error = fetched(&objects, "b/::d", 100).await.unwrap_err();
        assert!(error.contains("none of the 3 objects below it is d"), "{error}");
    }

    /// A full snapshot that the deltas lead to is not copied. A damaged delta leads nowhere.
    #[tokio::test]
    async fn a_full_snapshot_is_copied_where_no_delta_leads_to_it() {
        let folder = ketcd_testing::testdata::path("containers/gardener/v2");
        let mut objects: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
            .unwrap()
            .map(|found| found.unwrap().path())
            .map(|path| (format!("b/v2/{}", path.file_name().unwrap().display()), fs::read(&path).unwrap()))
            .collect();
        let (reached, unreached) = ("Full-00000000-00000456-1795547368.gz", "Full-00000000-00000530-1795547371.gz");
        objects.extend([reached, unreached].map(|name| (format!("b/v2/{name}"), b"full".to_vec())));
        let names = async |objects: &[(String, Vec<u8>)]| {
            let objects: Vec<(&str, &[u8])> = objects.iter().map(|(name, bytes)| (&**name, &**bytes)).collect();
            let copied = fetched(&objects, "b/", 1 << 20).await.unwrap();
            copied.into_iter().map(|(name, _)| name.trim_start_matches("v2/").to_owned()).collect::<Vec<_>>()
        };
        let all = names(&objects).await;
        assert!(all.len() == 7 && all.iter().any(|name| name == unreached) && !all.iter().any(|name| name == reached), "{all:?}");
        let first = objects.iter().position(|(name, _)| name.contains("Full-00000000-00000331")).unwrap();
        let delta = objects.iter().position(|(name, _)| name.contains("Incr-00000381")).unwrap();
        for damaged in [first, delta] {
            let mut objects = objects.clone();
            let middle = objects[damaged].1.len() / 2;
            objects[damaged].1[middle] ^= 0xff;
            assert_eq!(names(&objects).await.len(), 8, "{}", objects[damaged].0);
        }
    }

    fn bucket_of(store: Box<dyn object_store::ObjectStore>, limits: Limits) -> Bucket {
        Bucket { url: "s3://b/p/".to_owned(), store, below: Key::from("p"), tags: None, limits }
    }

    /// Names without end count, whatever they are, and a server that says nothing is given up when its time is over.
    #[tokio::test]
    async fn a_bucket_without_an_end_is_given_up() {
        let store = InMemory::new();
        for number in 0..30 {
            store.put(&Key::from(format!("p/Chunk-{number}")), PutPayload::from("x")).await.unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let few = Limits { objects: 20, ..Limits::default() };
        let fetch = async |bucket: Bucket| {
            let error = bucket.fetch(&folder.path().join("copy"), &mut Wanted { within: "", most: 1000 }).await.unwrap_err();
            error.to_string()
        };
        let error = fetch(bucket_of(Box::new(store.fork()), few)).await;
        assert!(error.contains("more than 20 objects lie below it"), "{error}");
        store.put(&Key::from("p/a.db"), PutPayload::from("x")).await.unwrap();
        let (hour, impatient) = (Duration::from_secs(3600), Limits { patience: Duration::ZERO, ..Limits::default() });
        let slow = [
            ThrottleConfig { wait_list_per_entry: hour, ..ThrottleConfig::default() },
            ThrottleConfig { wait_get_per_call: hour, ..ThrottleConfig::default() },
        ];
        for config in slow {
            let error = fetch(bucket_of(Box::new(ThrottledStore::new(store.fork(), config)), impatient)).await;
            assert!(error.contains("s3://b/p/: the server sent nothing for 0 s"), "{error}");
        }
    }

    /// Sizes are what a server says: they do not wrap around, and no more is written than was said.
    #[tokio::test]
    async fn sizes_that_are_not_true_are_refused() {
        let store = InMemory::new();
        let key = Key::from("p/a.db");
        store.put(&key, PutPayload::from("twenty bytes of text")).await.unwrap();
        let bucket = bucket_of(Box::new(store), Limits::default());
        let object = |size: u64| {
            let meta = ObjectMeta { location: key.clone(), last_modified: Default::default(), size, e_tag: None, version: None };
            BucketObject { meta, name: "a.db".to_owned() }
        };
        let folder = tempfile::tempdir().unwrap();
        let copy = async |objects: &[BucketObject]| {
            let (mut bytes, mut said) = (0, Vec::new());
            bucket.copy(objects.iter(), folder.path(), 1000, &mut bytes, &mut said).await.unwrap_err().to_string()
        };
        // The larger one would be looked at in its beginning only, and counted whole.
        let db = BucketObject { name: "snap/db".to_owned(), ..object(u64::MAX) };
        let error = copy(&[db, object(20)]).await;
        assert!(error.contains("which together have 18446744073709551615 bytes, more than the 1000"), "{error}");
        let error = copy(&[object(10)]).await;
        assert!(error.contains("the server sends more of p/a.db than the 10 bytes that it said"), "{error}");
    }
}
