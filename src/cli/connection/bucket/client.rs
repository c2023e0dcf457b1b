//! A bucket, or what lies below a path in it, with the credentials that the environment has.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use futures_util::TryStreamExt;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as Key;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, PutPayload, WriteMultipart};
use reqwest::Url;
use tokio::time::timeout;

use super::bounded::Bounded;
use super::exclusion::Tags;
use super::limits::Limits;
use crate::cli::outcome::{Error, Result};

/// Bytes of one part of an upload; smaller files are put at once.
const PART_BYTES: usize = 8 << 20;
/// How many parts are in flight at once.
const PARTS_AT_ONCE: usize = 2;

/// A bucket, or what lies below a path in it.
pub(in crate::cli) struct Bucket {
    pub(super) url: String,
    pub(super) store: Box<dyn ObjectStore>,
    pub(super) below: Key,
    /// The tags of its objects, in S3 and Azure.
    pub(super) tags: Option<Tags>,
    pub(super) limits: Limits,
}

impl Bucket {
    /// The bucket and the path that a URL names; nothing is asked yet.
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
        let mut tags = None;
        let store: object_store::Result<Box<dyn ObjectStore>> = match scheme {
            "s3" => {
                let builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_http_connector(Bounded);
                let region = builder.get_config_value(&AmazonS3ConfigKey::Region);
                builder.build().map(|store| {
                    tags = Some(Tags::of_s3(store.clone(), region));
                    Box::new(store) as _
                })
            }
            "gs" => GoogleCloudStorageBuilder::from_env()
                .with_bucket_name(bucket)
                .with_http_connector(Bounded)
                .build()
                .map(|store| Box::new(store) as _),
            _ => {
                let builder = MicrosoftAzureBuilder::from_env().with_container_name(bucket).with_http_connector(Bounded);
                let place = azure_container(&builder, bucket);
                builder.build().map(|store| {
                    tags = place.map(|(account, container)| Tags::of_azure(store.clone(), account, container));
                    Box::new(store) as _
                })
            }
        };
        let below = Key::parse(path.trim_end_matches('/')).map_err(|error| failed(url, &error.into()))?;
        let store = store.map_err(|error| failed(url, &error))?;
        Ok(Self { url: url.to_owned(), store, below, tags, limits: Limits::default() })
    }

    /// The file names of all objects below a folder.
    pub(in crate::cli) async fn names_below(&self, folder: &str) -> Result<Vec<String>> {
        let objects = self.list(&self.key(folder)).await?;
        Ok(objects.into_iter().map(|object| object.location.filename().unwrap_or_default().to_owned()).collect())
    }

    /// All objects below a key.
    ///
    /// # Errors
    /// They cannot be listed, or are too many.
    pub(super) async fn list(&self, below: &Key) -> Result<Vec<ObjectMeta>> {
        let Limits { objects: most, .. } = self.limits;
        let (mut listed, mut found) = (self.store.list(Some(below)), Vec::new());
        while let Some(object) = self.in_time(listed.try_next()).await? {
            if found.len() >= most {
                return Err(
                    Error::new(format!("{}: more than {most} objects lie below it", self.url)).hint("name the prefix of the backups")
                );
            }
            found.push(object);
        }
        Ok(found)
    }

    /// What the server answers, if it does so in time.
    ///
    /// # Errors
    /// It does not, or what it answers is an error.
    pub(super) async fn in_time<T>(&self, answer: impl Future<Output = object_store::Result<T>>) -> Result<T> {
        let patience = self.limits.patience;
        let answer = timeout(patience, answer).await.map_err(|_| {
            let silent = format!("{}: the server sent nothing for {} s", self.url, patience.as_secs());
            Error::new(silent).hint("check the endpoint and what stands between it and ketcd")
        })?;
        answer.map_err(|error| failed(&self.url, &error))
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
        if part.len() < PART_BYTES {
            return self.store.put(key, PutPayload::from(part)).await.map(drop).map_err(failed);
        }
        let mut upload = WriteMultipart::new_with_chunk_size(self.store.put_multipart(key).await.map_err(failed)?, PART_BYTES);
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

/// The account and the URL of a container of Azure, where `object_store` asks for it.
fn azure_container(builder: &MicrosoftAzureBuilder, name: &str) -> Option<(String, Url)> {
    let said = |key: AzureConfigKey| builder.get_config_value(&key);
    let is = |key: AzureConfigKey| said(key).is_some_and(|value| ["1", "true", "on", "yes", "y"].contains(&&*value.to_ascii_lowercase()));
    let account = said(AzureConfigKey::AccountName);
    if is(AzureConfigKey::UseEmulator) {
        let account = account.unwrap_or_else(|| "devstoreaccount1".to_owned());
        let server = std::env::var("AZURITE_BLOB_STORAGE_URL").unwrap_or_else(|_| "http://127.0.0.1:10000".to_owned());
        let url = format!("{}/{account}/{name}", server.trim_end_matches('/')).parse().ok()?;
        return Some((account, url));
    }
    let account = account?;
    // OneLake has no tags.
    let server = said(AzureConfigKey::Endpoint).unwrap_or_else(|| format!("https://{account}.blob.core.windows.net"));
    let url = format!("{}/{name}", server.trim_end_matches('/')).parse().ok()?;
    (!is(AzureConfigKey::UseFabricEndpoint)).then_some((account, url))
}

/// The next bytes of a file, fewer than a part only at its end.
fn read_part(file: &mut File) -> Result<Vec<u8>> {
    let mut part = Vec::with_capacity(PART_BYTES);
    file.take(PART_BYTES as u64).read_to_end(&mut part)?;
    Ok(part)
}

pub(super) fn failed(url: &str, error: &object_store::Error) -> Error {
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
            format!("{variables} variables in the environment, or the machine's own role, say where it is and which credentials to use")
        }
    };
    Error::new(format!("{url}: {message}")).hint(hint)
}
