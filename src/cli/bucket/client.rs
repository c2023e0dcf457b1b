//! A bucket, or what lies below a path in it, with the credentials that the environment has.

use std::fs::{self, File};
use std::future::ready;
use std::io::{Read, Write};
use std::path::Path;

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as Key;
use object_store::{GetResult, ObjectMeta, ObjectStore, ObjectStoreExt, PutPayload, WriteMultipart};

use crate::cli::{Error, Result};

/// Bytes of one part of an upload; smaller files are put at once.
const PART: usize = 8 << 20;
/// How many parts are in flight at once.
const PARTS_AT_ONCE: usize = 2;
/// How many objects are copied at once.
const COPIES_AT_ONCE: usize = 8;
/// More objects are not copied: a prefix that has as many is not one of backups.
const MOST: usize = 200_000;
/// How Gardener's sidecar calls the parts of an upload that was broken off.
const CHUNK: &str = "Chunk-";

/// A bucket, or what lies below a path in it.
pub(in crate::cli) struct Bucket {
    url: String,
    store: Box<dyn ObjectStore>,
    below: Key,
}

impl Bucket {
    /// The bucket and the path that a URL names; nothing is asked yet.
    ///
    /// # Errors
    /// A URL or an environment that cannot be used.
    pub(in crate::cli) fn open(url: &str) -> Result<Self> {
        // Who installed one already keeps it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(
                Error::new(format!("{url} names no bucket")).hint("write s3://BUCKET/PATH, gs://BUCKET/PATH or az://CONTAINER/PATH")
            );
        }
        let store: object_store::Result<Box<dyn ObjectStore>> = match scheme {
            "s3" => AmazonS3Builder::from_env().with_bucket_name(bucket).build().map(|store| Box::new(store) as _),
            "gs" => GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket).build().map(|store| Box::new(store) as _),
            _ => MicrosoftAzureBuilder::from_env().with_container_name(bucket).build().map(|store| Box::new(store) as _),
        };
        let below = Key::parse(path.trim_end_matches('/')).map_err(|error| failed(url, &error.into()))?;
        Ok(Self { url: url.to_owned(), store: store.map_err(|error| failed(url, &error))?, below })
    }

    /// Copies the object that the URL names to a file, as it comes; or all objects below it into a folder, where it names none.
    ///
    /// # Errors
    /// It is not there, is larger than `most` bytes, or the file cannot be written.
    pub(in crate::cli) async fn fetch(&self, to: &Path, most: u64) -> Result<()> {
        let is_folder = self.url.ends_with('/') || self.below.as_ref().is_empty();
        let found = if is_folder { None } else { Some(self.store.get(&self.below).await) };
        let missing = match found {
            None => None,
            Some(Ok(found)) => {
                self.refuse_more_than(most, "has", found.meta.size)?;
                return self.write(found, to).await;
            }
            Some(Err(error @ object_store::Error::NotFound { .. })) => Some(failed(&self.url, &error)),
            Some(Err(error)) => return Err(failed(&self.url, &error)),
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
            (Ok(objects), _) => self.fetch_all(objects, to, most).await,
        }
    }

    /// The objects below the URL that may be a part of a backup.
    async fn objects(&self) -> Result<Vec<ObjectMeta>> {
        let is_chunk = |object: &ObjectMeta| object.location.filename().is_some_and(|name| name.starts_with(CHUNK));
        // A name that ends with a slash stands for a folder, where a console made one.
        let objects = self.store.list(Some(&self.below)).try_filter(|object| ready(!is_chunk(object) && object.location != self.below));
        let objects: Vec<ObjectMeta> = objects.take(MOST + 1).try_collect().await.map_err(|error| failed(&self.url, &error))?;
        if objects.len() > MOST {
            return Err(Error::new(format!("{}: more than {MOST} objects lie below it", self.url)).hint("name the prefix of the backups"));
        }
        Ok(objects)
    }

    /// Copies objects into a folder, each with its name below the URL.
    async fn fetch_all(&self, objects: Vec<ObjectMeta>, to: &Path, most: u64) -> Result<()> {
        let what = format!("holds {} objects, which together have", objects.len());
        self.refuse_more_than(most, &what, objects.iter().map(|object| object.size).sum())?;
        let copies = objects.into_iter().map(|object| async move {
            let Some(parts) = object.location.prefix_match(&self.below) else { return Ok(()) };
            // The parts of a name are neither empty nor lead upwards: `object_store` takes no others.
            let path = parts.fold(to.to_owned(), |path, part| path.join(part.as_ref()));
            let found = self.store.get(&object.location).await.map_err(|error| failed(&self.url, &error))?;
            self.write(found, &path).await
        });
        stream::iter(copies).buffer_unordered(COPIES_AT_ONCE).try_collect().await
    }

    fn refuse_more_than(&self, most: u64, what: &str, bytes: u64) -> Result<()> {
        if bytes <= most {
            return Ok(());
        }
        Err(Error::new(format!("{} {what} {bytes} bytes, more than the {most} that are unpacked", self.url))
            .hint("allow more with --max-unpacked-size"))
    }

    /// Writes an object to a file, as it comes.
    async fn write(&self, found: GetResult, to: &Path) -> Result<()> {
        to.parent().map_or(Ok(()), fs::create_dir_all)?;
        let mut file = File::create_new(to)?;
        let mut chunks = found.into_stream();
        while let Some(chunk) = chunks.try_next().await.map_err(|error| failed(&self.url, &error))? {
            file.write_all(&chunk)
                .map_err(|error| Error::new(format!("cannot write {}: {error}", to.display())).hint("choose another TMPDIR"))?;
        }
        Ok(())
    }

    /// The file names of all objects below a folder.
    ///
    /// # Errors
    /// The bucket cannot be listed.
    pub(in crate::cli) async fn names_below(&self, folder: &str) -> Result<Vec<String>> {
        let objects = self.store.list(Some(&self.key(folder)));
        let names = objects.map_ok(|object| object.location.filename().unwrap_or_default().to_owned());
        names.try_collect().await.map_err(|error| failed(&self.url, &error))
    }

    /// Puts a file at a path, where a reader sees it whole or not at all. Must be called on a tokio runtime of several threads.
    ///
    /// # Errors
    /// The file cannot be read, or the bucket not be written.
    pub(in crate::cli) fn put(&self, path: &str, file: &Path) -> Result<()> {
        let runtime = tokio::runtime::Handle::current();
        tokio::task::block_in_place(|| runtime.block_on(self.upload(&self.key(path), File::open(file)?)))
    }

    async fn upload(&self, key: &Key, mut file: File) -> Result<()> {
        let failed = |error| failed(&self.url, &error);
        let part = read_part(&mut file)?;
        if part.len() < PART {
            return self.store.put(key, PutPayload::from(part)).await.map(drop).map_err(failed);
        }
        let mut upload = WriteMultipart::new_with_chunk_size(self.store.put_multipart(key).await.map_err(failed)?, PART);
        if let Err(error) = self.write_parts(&mut upload, part, file).await {
            // Parts of an upload that never ends are kept, and paid for. What went wrong first is the error that helps.
            let _ = upload.abort().await;
            return Err(error);
        }
        upload.finish().await.map(drop).map_err(failed)
    }

    async fn write_parts(&self, upload: &mut WriteMultipart, mut part: Vec<u8>, mut file: File) -> Result<()> {
        while !part.is_empty() {
            upload.wait_for_capacity(PARTS_AT_ONCE).await.map_err(|error| failed(&self.url, &error))?;
            upload.write(&part);
            part = read_part(&mut file)?;
        }
        Ok(())
    }

    fn key(&self, path: &str) -> Key {
        // The parts are ours, and plain: `Key::from` would escape the `=` of Hive's folders.
        Key::parse(format!("{}/{path}", self.below).trim_start_matches('/')).unwrap_or_default()
    }
}

/// The next bytes of a file, fewer than a part only at its end.
fn read_part(file: &mut File) -> Result<Vec<u8>> {
    let mut part = Vec::with_capacity(PART);
    file.take(PART as u64).read_to_end(&mut part)?;
    Ok(part)
}

fn failed(url: &str, error: &object_store::Error) -> Error {
    let message = error.to_string();
    let hint = match error {
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
            "check the credentials in the environment".to_owned()
        }
        object_store::Error::NotFound { .. } => "check the bucket and the path".to_owned(),
        // Listing a bucket that is not there has no variant of its own.
        _ if message.contains("404 Not Found") => "check the bucket and the path".to_owned(),
        _ => {
            let variables = match url.split_once("://") {
                Some(("s3", _)) => "AWS_*",
                Some(("gs", _)) => "GOOGLE_*",
                _ => "AZURE_*",
            };
            format!("{variables} variables in the environment, or the machine's own role, say where it is and who asks")
        }
    };
    Error::new(format!("{url}: {message}")).hint(hint)
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    /// A bucket of these objects, opened by a URL; and what was copied out of it, by its path in the copy.
    async fn fetched(objects: &[(&str, &str)], path: &str, most: u64) -> std::result::Result<Vec<(String, String)>, String> {
        let store = InMemory::new();
        for (name, content) in objects {
            store.put(&Key::parse(name).unwrap(), PutPayload::from((*content).to_owned())).await.unwrap();
        }
        let below = Key::parse(path.trim_end_matches('/')).unwrap();
        let bucket = Bucket { url: format!("s3://b/{path}"), store: Box::new(store), below };
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("copy");
        bucket.fetch(&copy, most).await.map_err(|error| error.to_string())?;
        if copy.is_file() {
            return Ok(vec![(String::new(), fs::read_to_string(&copy).unwrap())]);
        }
        let (mut found, mut folders) = (Vec::new(), vec![copy.clone()]);
        while let Some(at) = folders.pop() {
            for entry in fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    folders.push(entry);
                } else {
                    found.push((entry.strip_prefix(&copy).unwrap().display().to_string(), fs::read_to_string(&entry).unwrap()));
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
        let row = |name: &str, content: &str| (name.to_owned(), content.to_owned());
        let wanted = [row("Full-00000000-00000331-1.gz", "full"), row("Incr-00000332-00000380-2.gz", "incr")];
        for path in ["backup/etcd-main/v2/", "backup/etcd-main/v2"] {
            assert_eq!(fetched(&objects, path, 100).await.unwrap(), wanted, "{path}");
        }
        assert_eq!(fetched(&objects, "backup/night.db", 100).await.unwrap(), [row("", "night")]);
        assert_eq!(fetched(&objects, "", 100).await.unwrap().len(), 4);
        let error = fetched(&objects, "backup/", 12).await.unwrap_err();
        assert!(error.contains("holds 3 objects, which together have 13 bytes, more than the 12 that are unpacked"), "{error}");
        for path in ["none.db", "none/"] {
            let error = fetched(&objects, path, 100).await.unwrap_err();
            assert!(error.contains(&format!("s3://b/{path}")), "{error}");
        }
    }
}
