//! Large ranges: one stream where etcd has RangeStream (3.7), pages before that, and pages after a stream that broke.

use std::collections::BTreeSet;
use std::net::{SocketAddr, SocketAddrV4};

use ketcd_testing::on_each_release;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{ketcd, run, stderr};
use crate::load::config_map;

const OBJECT_COUNT: usize = 2000;

/// Passes bytes on to `to`; of the first connection no more than `most` come back before it is cut.
async fn cutting_proxy(to: SocketAddrV4, most: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut left = most;
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(pass_on(client, to, std::mem::replace(&mut left, usize::MAX)));
        }
    });
    address
}

async fn pass_on(client: TcpStream, to: SocketAddrV4, mut left: usize) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_etcd, mut to_etcd) = TcpStream::connect(to).await.unwrap().into_split();
    let upwards = tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_etcd).await });
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from_etcd.read(&mut buffer).await {
        if count > left || to_client.write_all(&buffer[..count]).await.is_err() {
            break;
        }
        left -= count;
    }
    upwards.abort();
}

async fn every_object_comes_once_and_a_broken_stream_loses_none(release: EtcdRelease) {
    let etcd = Etcd::start_with(release, Transport::Plain, &[]).await;
    let mut writer = etcd.writer().await;
    let filler = "x".repeat(8 << 10);
    for object in 0..OBJECT_COUNT {
        let name = format!("large-{object:04}");
        let value = config_map(&name, object).replace("\"data\":{", &format!("\"data\":{{\"filler\":\"{filler}\","));
        writer.put(format!("/registry/configmaps/lab/{name}"), value, None).await.unwrap();
    }
    let mut endpoints = vec![etcd.endpoint()];
    if release == EtcdRelease::V37 {
        endpoints.push(cutting_proxy(etcd.address(), 6 << 20).await.to_string());
    }
    for endpoint in endpoints {
        let output = run(ketcd().args(["get", "configmaps", "-n", "lab", "-o", "ndjson", "--endpoints", &endpoint]));
        assert!(output.status.success(), "{release:?} at {endpoint}: {}", stderr(&output));
        let lines: Vec<serde_json::Value> = output
            .stdout
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        let names: BTreeSet<&str> = lines.iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
        assert_eq!((lines.len(), names.len()), (OBJECT_COUNT, OBJECT_COUNT), "{release:?} at {endpoint}");
        assert!(lines.iter().all(|object| object["data"]["filler"] == filler), "{release:?} at {endpoint}");
    }
    // What the stream is for: far fewer requests than pages.
    let requests = metrics(&etcd).await;
    let has_stream = requests.contains("grpc_method=\"RangeStream\"") && requests.contains("grpc_code=\"OK\",grpc_method=\"RangeStream\"");
    assert_eq!(has_stream, release == EtcdRelease::V37, "{release:?}");
}

on_each_release!(every_object_comes_once_and_a_broken_stream_loses_none);

/// What an etcd counts.
pub(crate) async fn metrics(etcd: &Etcd) -> String {
    let mut stream = TcpStream::connect(etcd.plain_address()).await.unwrap();
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}
