//! Answers of a bucket's server, held to what was asked for: lists, errors and the beginnings of objects come into memory whole.

use std::io;
use std::pin::Pin;

use bytes::BytesMut;
use futures_util::TryStreamExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService, ReqwestConnector,
};

use super::limits::{LONGEST_LIST, LONGEST_PART};

/// Makes clients whose answers are bounded.
#[derive(Debug, Default)]
pub(super) struct Bounded;

impl HttpConnector for Bounded {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(BoundedClient(ReqwestConnector::default().connect(options)?)))
    }
}

#[derive(Debug)]
struct BoundedClient(HttpClient);

impl HttpService for BoundedClient {
    fn call<'s, 'f>(&'s self, request: HttpRequest) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            let asked = asked(&request);
            let response = self.0.execute(request).await?;
            let most = if response.status().is_success() { asked } else { Some(LONGEST_LIST) };
            let Some(most) = most else { return Ok(response) };
            let (parts, body) = response.into_parts();
            Ok(HttpResponse::from_parts(parts, whole(body, most).await?))
        })
    }
}

/// How many bytes an answer may have that is taken into memory; `None` where it is written as it comes.
fn asked(request: &HttpRequest) -> Option<u64> {
    let query = request.uri().query().unwrap_or_default();
    if query.split('&').any(|pair| matches!(pair, "list-type=2" | "comp=list")) {
        return Some(LONGEST_LIST);
    }
    let range = request.headers().get("range")?.to_str().ok()?.strip_prefix("bytes=")?;
    let (first, last) = range.split_once('-')?;
    let length = last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)?;
    (length <= LONGEST_PART).then_some(length)
}

/// The whole body, if it is no longer than `most`.
async fn whole(body: HttpResponseBody, most: u64) -> Result<HttpResponseBody, HttpError> {
    let (mut stream, mut whole) = (body.bytes_stream(), BytesMut::new());
    while let Some(bytes) = stream.try_next().await? {
        if (whole.len() + bytes.len()) as u64 > most {
            let why = format!("the server sends more than the {most} bytes that were asked for");
            return Err(HttpError::new(HttpErrorKind::Decode, io::Error::other(why)));
        }
        whole.extend_from_slice(&bytes);
    }
    Ok(whole.freeze().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_are_no_longer_than_what_was_asked_for() {
        let request = |uri: &str, range: &str| {
            let mut request = HttpRequest::new(object_store::client::HttpRequestBody::empty());
            *request.uri_mut() = uri.parse().unwrap();
            if !range.is_empty() {
                request.headers_mut().insert("range", range.parse().unwrap());
            }
            asked(&request)
        };
        assert_eq!(request("http://s/b?list-type=2&prefix=p", ""), Some(LONGEST_LIST));
        assert_eq!(request("http://s/b?restype=container&comp=list", ""), Some(LONGEST_LIST));
        assert_eq!(request("http://s/b/k", "bytes=0-262143"), Some(256 << 10));
        assert_eq!(request("http://s/b/k", "bytes=5-99999999999"), None);
        assert_eq!(request("http://s/b/list-type=2?sig=x", ""), None);
        for (length, is_whole) in [(10, true), (11, false)] {
            assert_eq!(whole(vec![0; length].into(), 10).await.is_ok(), is_whole);
        }
    }
}
