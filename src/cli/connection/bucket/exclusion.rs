//! Snapshots of Gardener's that somebody excluded from restores (etcd-backup-restore debd95b, `pkg/types/snapstore.go`): by a tag of the object in S3 and
//! Azure, by its metadata in GCS.

use std::time::Duration;

use object_store::aws::{AmazonS3, AwsAuthorizer};
use object_store::azure::{AzureAuthorizer, MicrosoftAzure};
use object_store::client::{HttpRequest, HttpRequestBody};
use object_store::path::Path as Key;
use object_store::signer::Signer;
use object_store::{Attribute, Attributes};
use reqwest::Url;

use super::limits::LONGEST_TAGS;

/// What excludes a snapshot, with this value.
const EXCLUDE_KEY: &str = "x-etcd-snapshot-exclude";
const EXCLUDE_VALUE: &str = "true";

const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Whether an object's own metadata excludes it.
pub(super) fn is_in_metadata(attributes: &Attributes) -> bool {
    attributes.get(&Attribute::Metadata(EXCLUDE_KEY.into())).is_some_and(|value| value.as_ref() == EXCLUDE_VALUE)
}

/// The tags of objects in S3 and Azure, which `object_store` does not read.
pub(super) struct Tags {
    server: Server,
    client: reqwest::Client,
}

/// Where they are read.
enum Server {
    /// S3; `region` is the one that requests are signed for.
    S3 { store: AmazonS3, region: String },
    /// Azure, the account and the URL of the container.
    Azure { store: MicrosoftAzure, account: String, container: Url },
}

impl Tags {
    /// Those of a bucket of S3; `region` is the one that requests are signed for.
    pub(super) fn of_s3(store: AmazonS3, region: Option<String>) -> Self {
        let region = region.unwrap_or_else(|| "us-east-1".to_owned());
        Self { server: Server::S3 { store, region }, client: reqwest::Client::new() }
    }

    pub(super) fn of_azure(store: MicrosoftAzure, account: String, container: Url) -> Self {
        Self { server: Server::Azure { store, account, container }, client: reqwest::Client::new() }
    }

    /// Whether an object's tags exclude it.
    ///
    /// # Errors
    /// A fragment: why they cannot be read.
    pub(super) async fn exclude(&self, key: &Key) -> Result<bool, String> {
        let request = match &self.server {
            Server::S3 { store, region } => s3_request(store, region, key).await,
            Server::Azure { store, account, container } => azure_request(store, account, container.clone(), key).await,
        }?;
        let (url, headers) = (request.uri().to_string(), request.headers().clone());
        let asked = self.client.get(url).headers(headers).timeout(ANSWER_TIMEOUT).send().await;
        let mut answer = asked.map_err(|error| error.without_url().to_string())?;
        if !answer.status().is_success() {
            return Err(format!("the server answers {}", answer.status()));
        }
        let mut text = Vec::new();
        while let Some(bytes) = answer.chunk().await.map_err(|error| error.without_url().to_string())? {
            if text.len() + bytes.len() > LONGEST_TAGS {
                return Err(format!("the server sends more than the {LONGEST_TAGS} bytes that tags may have"));
            }
            text.extend_from_slice(&bytes);
        }
        Ok(has_tag(&String::from_utf8_lossy(&text)))
    }
}

/// `GetObjectTagging` of S3.
async fn s3_request(store: &AmazonS3, region: &str, key: &Key) -> Result<HttpRequest, String> {
    const REQUEST_VALIDITY: Duration = Duration::from_secs(60);
    // Signed anew below: this says where the object is.
    let mut url = store.signed_url(reqwest::Method::GET, key, REQUEST_VALIDITY).await.map_err(|error| error.to_string())?;
    url.set_query(Some("tagging="));
    let credential = store.credentials().get_credential().await.map_err(|error| error.to_string())?;
    let mut request = unsigned(&url)?;
    AwsAuthorizer::new(&credential, "s3", region).try_authorize(&mut request, None).map_err(|error| error.to_string())?;
    Ok(request)
}

/// `Get Blob Tags` of Azure.
async fn azure_request(store: &MicrosoftAzure, account: &str, container: Url, key: &Key) -> Result<HttpRequest, String> {
    let mut url = container;
    url.path_segments_mut().map_err(|()| "the container has no URL".to_owned())?.pop_if_empty().extend(key.parts());
    url.set_query(Some("comp=tags"));
    let credential = store.credentials().get_credential().await.map_err(|error| error.to_string())?;
    let mut request = unsigned(&url)?;
    AzureAuthorizer::new(&credential, account).try_authorize(&mut request).map_err(|error| error.to_string())?;
    Ok(request)
}

/// A GET that nobody signed.
fn unsigned(url: &Url) -> Result<HttpRequest, String> {
    let mut request = HttpRequest::new(HttpRequestBody::empty());
    *request.uri_mut() = url.as_str().parse().map_err(|_| "the object has no URL".to_owned())?;
    Ok(request)
}

/// Whether a list of tags, as `GetObjectTagging` and `Get Blob Tags` return it, has the one that excludes.
fn has_tag(list: &str) -> bool {
    let member = |tag: &str, name: &str| Some(tag.split_once(&format!("<{name}>"))?.1.split_once("</")?.0.to_owned());
    list.split("<Tag>")
        .skip(1)
        .any(|tag| member(tag, "Key").as_deref() == Some(EXCLUDE_KEY) && member(tag, "Value").as_deref() == Some(EXCLUDE_VALUE))
}

#[cfg(test)]
mod tests {
    use object_store::aws::AmazonS3Builder;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// A server that answers one request with this body; returns its URL.
    async fn answering(body: String) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (mut asked, mut piece) = (Vec::new(), [0; 1 << 12]);
            while !asked.ends_with(b"\r\n\r\n") {
                let read = stream.read(&mut piece).await.unwrap();
                assert!(read > 0, "the request is cut short");
                asked.extend_from_slice(&piece[..read]);
            }
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
            // Who has enough of it goes away.
            let _ = stream.write_all(answer.as_bytes()).await;
        });
        url
    }

    #[tokio::test]
    async fn an_answer_is_no_longer_than_tags_may_be() {
        // Who installed one already keeps it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let excludes = async |length: usize| {
            let tag = format!("<Tag><Key>{EXCLUDE_KEY}</Key><Value>{EXCLUDE_VALUE}</Value></Tag>");
            let endpoint = answering(tag.clone() + &" ".repeat(length - tag.len())).await;
            let region = "us-east-1".to_owned();
            let store = AmazonS3Builder::new().with_bucket_name("b").with_region(&region).with_endpoint(endpoint).with_allow_http(true);
            let store = store.with_access_key_id("id").with_secret_access_key("secret").build().unwrap();
            let client = reqwest::Client::builder().no_proxy().build().unwrap();
            Tags { server: Server::S3 { store, region }, client }.exclude(&Key::from("v2/Full-00000000-00000331-1.gz")).await
        };
        assert_eq!(excludes(LONGEST_TAGS).await, Ok(true));
        let error = excludes(LONGEST_TAGS + 1).await.unwrap_err();
        assert!(error.contains("the server sends more than the 65536 bytes that tags may have"), "{error}");
    }

    #[test]
    fn the_tag_that_excludes_is_found_among_others() {
        let list = |tags: &str| format!("<?xml version=\"1.0\"?><Tagging xmlns=\"x\"><TagSet>{tags}</TagSet></Tagging>");
        let tag = |key: &str, value: &str| format!("<Tag><Key>{key}</Key><Value>{value}</Value></Tag>");
        assert!(has_tag(&list(&(tag("a", "b") + &tag(EXCLUDE_KEY, "true")))));
        assert!(has_tag(&list("<Tag>\n<Value>true</Value>\n<Key>x-etcd-snapshot-exclude</Key>\n</Tag>")));
        for tags in
            [String::new(), tag(EXCLUDE_KEY, "false"), tag("a", "true"), tag(EXCLUDE_KEY, "") + &tag("a", "true"), tag("a", EXCLUDE_KEY)]
        {
            assert!(!has_tag(&list(&tags)), "{tags}");
        }
    }

    #[test]
    fn metadata_excludes_where_it_says_so() {
        let with = |value: &'static str| Attributes::from_iter([(Attribute::Metadata(EXCLUDE_KEY.into()), value)]);
        assert!(is_in_metadata(&with("true")));
        assert!(!is_in_metadata(&with("false")) && !is_in_metadata(&Attributes::default()));
    }
}
