//! Buckets whose server sends more than it is asked for.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Output;

use crate::ketcd::{all, ketcd};

/// The bytes of one page of a list that are taken.
const MAX_LIST_BYTES: usize = 16 << 20;

/// A server that answers every request with this body; returns its URL.
fn answering(body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut asked, mut piece) = (stream.unwrap(), Vec::new(), [0; 1 << 12]);
            while !asked.ends_with(b"\r\n\r\n") {
                let Ok(read @ 1..) = stream.read(&mut piece) else { break };
                asked.extend_from_slice(&piece[..read]);
            }
            // Who has enough of it goes away.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

/// Lists a bucket of S3 whose server sends a list of this many bytes that names nothing.
fn listed(length: usize) -> Output {
    let list = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
    let endpoint = answering(list.to_owned() + &" ".repeat(length - list.len()));
    let mut command = ketcd();
    command.env("AWS_ENDPOINT", endpoint).env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "id").env("AWS_SECRET_ACCESS_KEY", "secret").env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
    command.args(["-f", "s3://b/p/", "status"]).output().unwrap()
}

#[test]
fn a_list_is_no_longer_than_a_page_may_be() {
    for (length, wanted) in [
        (MAX_LIST_BYTES, "s3://b/p/: no object lies below it"),
        (MAX_LIST_BYTES + 1, "the server sends more than the 16777216 bytes that were asked for"),
    ] {
        let output = listed(length);
        assert_eq!(output.status.code(), Some(2), "{}", all(&output));
        assert!(all(&output).contains(wanted), "{}", all(&output));
    }
}
