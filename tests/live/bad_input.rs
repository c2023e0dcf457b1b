//! What goes wrong on the way to etcd: one sentence that says what, where and what to do next, and exit code 2.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;

use ketcd_testing::{loopback, on_each_release};

use crate::cluster::three;
use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{flags, ketcd, nobody, run, stderr};
use crate::pki::{Pair, Pki, expired};

/// Runs a command that must fail: exit code 2, nothing on standard output, one error that holds all of `expected`.
fn refused(command: &mut Command, expected: &[&str]) {
    let output = run(command);
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{command:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{command:?} printed {}", String::from_utf8_lossy(&output.stdout));
    let errors: Vec<&str> = stderr.lines().filter(|line| line.contains("error:")).collect();
    assert_eq!(errors.len(), 1, "{command:?}: {stderr}");
    for part in expected {
        assert!(errors[0].contains(part), "{command:?} does not say {part:?}: {stderr}");
    }
}

/// `ketcd status` on an endpoint, with certificates.
fn status(endpoint: &str, ca: PathBuf, client: &Pair) -> Command {
    let mut command = ketcd();
    flags(&mut command, endpoint, &ca, client).arg("status");
    command
}

fn testdata(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "testdata/tls", name].iter().collect()
}

#[test]
fn endpoints_that_do_not_answer() {
    let nobody = nobody("");
    refused(
        ketcd().args(["status", "--endpoints", &nobody]),
        &[&format!("no etcd answers at http://{nobody}"), "connection refused", "check --endpoints"],
    );
    refused(
        ketcd().args(["status", "--endpoints", &format!("{nobody},no-such-host.invalid:2379")]),
        &["none of 2 endpoints answers", "connection refused", "cannot resolve no-such-host.invalid"],
    );
    refused(ketcd().args(["status", "--endpoints", "ftp://127.0.0.1"]), &["invalid endpoint", "write https://HOST:PORT"]);
}

#[test]
fn a_port_that_never_speaks() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let pki = Pki::new();
    let endpoint = format!("https://{}", silent.local_addr().unwrap());
    let mut command = status(&endpoint, pki.ca(), &pki.client());
    refused(command.args(["--dial-timeout", "300ms"]), &["no etcd answers at https://127.0.0.1:", "within 300ms", "--dial-timeout"]);
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    refused(
        ketcd().args(["status", "--endpoints", &endpoint, "--dial-timeout", "300ms", "--command-timeout", "300ms"]),
        &["did not answer within 300ms", "--command-timeout"],
    );
}

#[test]
fn a_server_that_is_no_etcd() {
    let web = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", web.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in web.incoming() {
            let Ok(mut stream) = stream else { continue };
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            // Closed with bytes unread, the connection would be reset before the answer is read.
            let _ = stream.shutdown(Shutdown::Write);
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
    });
    refused(
        ketcd().args(["status", "--endpoints", &endpoint]),
        &[&endpoint, "is not etcd: another server answers there (HTTP/1.1 400 Bad Request)", "2379"],
    );
}

/// A port that closes every connection: at once, or, where there is a server behind it, once the client has sent its part of the handshake.
fn closing(server: Option<SocketAddrV4>) -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("https://{}", port.local_addr().unwrap());
    std::thread::spawn(move || {
        for client in port.incoming() {
            let (Ok(client), Some(server)) = (client, server) else { continue };
            // Each for itself: a client may open its next connection before it ends this one.
            std::thread::spawn(move || close_in_handshake(client, TcpStream::connect(server).unwrap()));
        }
    });
    endpoint
}

fn close_in_handshake(mut client: TcpStream, mut server: TcpStream) {
    let mut said = vec![0; 1 << 16];
    let Ok(hello) = client.read(&mut said) else { return };
    let _ = server.write_all(&said[..hello]);
    let (mut from_server, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    std::thread::spawn(move || std::io::copy(&mut from_server, &mut to_client));
    let _ = client.read(&mut said);
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_closed_refuses_no_certificate() {
    let pki = Pki::new();
    let etcd = Etcd::mutual(&pki).await;
    for endpoint in [closing(None), closing(Some(etcd.address()))] {
        refused(
            &mut status(&endpoint, pki.ca(), &pki.client()),
            &[&format!("{endpoint} closed the connection in the TLS handshake or right after it"), "a proxy, a load balancer, a firewall"],
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_of_the_server() {
    let (pki, other) = (Pki::new(), Pki::new());
    let client = pki.client();
    let etcd = Etcd::mutual(&pki).await;
    assert_eq!(run(&mut status(&etcd.endpoint(), pki.ca(), &client)).status.code(), Some(0));
    refused(&mut status(&etcd.endpoint(), other.ca(), &client), &["is not signed by", "ca.crt", "--cacert"]);
    let through_system = run(ketcd().args(["status", "--endpoints", &etcd.endpoint()]));
    assert_eq!(through_system.status.code(), Some(2), "{}", stderr(&through_system));

    let host = loopback::host().to_string();
    let late = pki.issue("late", &[&host], expired);
    let etcd = Etcd::start(Transport::Mutual(late, pki.ca())).await;
    refused(&mut status(&etcd.endpoint(), pki.ca(), &client), &["expired on 2020-01-01", "renew it", "--insecure-skip-tls-verify"]);
    let unchecked = run(status(&etcd.endpoint(), other.ca(), &client).arg("--insecure-skip-tls-verify"));
    assert_eq!(unchecked.status.code(), Some(0), "{}", stderr(&unchecked));

    let nameless = pki.issue("nameless", &[], |_| ());
    let etcd = Etcd::start(Transport::Mutual(nameless, pki.ca())).await;
    refused(
        &mut status(&etcd.endpoint(), pki.ca(), &client),
        &["has no subjectAltName", &format!("issue it again with subjectAltName {host}")],
    );

    let elsewhere = pki.issue("elsewhere", &["etcd-0.lab"], |_| ());
    let etcd = Etcd::start(Transport::Mutual(elsewhere, pki.ca())).await;
    refused(&mut status(&etcd.endpoint(), pki.ca(), &client), &[&format!("is not for {host} but for"), "etcd-0.lab"]);

    let version_1 = Pair { cert: testdata("v1-server.crt"), key: testdata("v1-server.key") };
    let etcd = Etcd::start(Transport::Tls(version_1)).await;
    refused(&mut status(&etcd.endpoint(), testdata("v1-ca.crt"), &client), &["X.509 version 1", "--insecure-skip-tls-verify"]);
    let unchecked = run(ketcd().args(["status", "--insecure-skip-tls-verify", "--endpoints", &etcd.endpoint()]));
    assert_eq!(unchecked.status.code(), Some(0), "{}", stderr(&unchecked));
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_of_ours() {
    let (pki, other) = (Pki::new(), Pki::new());
    let etcd = Etcd::mutual(&pki).await;
    // The refusal races with what we write: it must be reported every time.
    for _ in 0..10 {
        let stranger = other.client();
        refused(
            &mut status(&etcd.endpoint(), pki.ca(), &stranger),
            &["refused the client certificate in", "client.crt", "--trusted-ca-file"],
        );
    }
    let late = pki.issue("late", &[], expired);
    refused(&mut status(&etcd.endpoint(), pki.ca(), &late), &["refused the client certificate in", "be valid today"]);
    refused(
        ketcd().args(["status", "--endpoints", &etcd.endpoint(), "--cacert"]).arg(pki.ca()),
        &["requires a client certificate", "give --cert and --key"],
    );

    let client = pki.client();
    let crossed = Pair { cert: client.cert.clone(), key: pki.issue("another", &[], |_| ()).key };
    refused(&mut status(&etcd.endpoint(), pki.ca(), &crossed), &["another.key is not that of the certificate in", "made together"]);
    let sealed = Pair { cert: client.cert.clone(), key: testdata("encrypted.key") };
    refused(&mut status(&etcd.endpoint(), pki.ca(), &sealed), &["encrypted.key is encrypted", "openssl pkey -in"]);
    let absent = Pair { cert: pki.path("absent.crt"), key: client.key.clone() };
    refused(&mut status(&etcd.endpoint(), pki.ca(), &absent), &["cannot read", "absent.crt", "check the path"]);
    let garbage = pki.path("garbage.crt");
    fs::write(&garbage, "no PEM at all").unwrap();
    refused(&mut status(&etcd.endpoint(), garbage, &client), &["garbage.crt holds no certificate", "BEGIN CERTIFICATE"]);
    let swapped = Pair { cert: client.cert.clone(), key: client.cert.clone() };
    refused(&mut status(&etcd.endpoint(), pki.ca(), &swapped), &["holds no private key", "BEGIN PRIVATE KEY"]);
    refused(
        ketcd().args(["status", "--endpoints", &etcd.endpoint(), "--cert"]).arg(&client.cert),
        &["client.crt comes without its key", "give its private key with --key"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_on_one_side_only() {
    let pki = Pki::new();
    let etcd = Etcd::mutual(&pki).await;
    refused(
        ketcd().args(["status", "--endpoints", &format!("http://{}", etcd.address())]),
        &["expects TLS, but ketcd connected in plain text", "use https://"],
    );
    let plain = Etcd::start(Transport::Plain).await;
    refused(&mut status(&format!("https://{}", plain.address()), pki.ca(), &pki.client()), &["speaks plain text, not TLS", "use http://"]);
}

async fn ports_of_others(release: EtcdRelease) {
    let pki = Pki::new();
    // In plain text the peer port of some releases serves clients too.
    let members = three(release, &pki).await;
    let peer = members[0].peer();
    assert!(peer.starts_with("https://"));
    refused(
        &mut status(&peer, pki.ca(), &pki.client()),
        &[&peer, "is etcd's peer port, which serves other members only", "use its client port (2379"],
    );
}

on_each_release!(ports_of_others);

#[tokio::test(flavor = "multi_thread")]
async fn users_and_revisions() {
    let etcd = Etcd::start(Transport::Plain).await;
    let mut writer = etcd.writer().await;
    for n in 2..=9 {
        writer.put("/registry/x", n.to_string(), None).await.unwrap();
    }
    writer.compact(5, None).await.unwrap();
    let at = |revision: &str| {
        let mut command = ketcd();
        command.args(["status", "--endpoints", &etcd.endpoint(), "--rev", revision]);
        command
    };
    assert_eq!(run(&mut at("5")).status.code(), Some(0));
    refused(&mut at("4"), &["revision 4 was compacted away", "the oldest that can be read is 5", "ask for --rev 5 or newer"]);
    refused(&mut at("10"), &["revision 10 is in the future", "the newest is 9", "ask for --rev 9 or older"]);

    writer.user_add("root", "right", None).await.unwrap();
    writer.user_grant_role("root", "root").await.unwrap();
    writer.auth_enable().await.unwrap();
    let as_user = |user: &str| {
        let mut command = ketcd();
        command.args(["status", "--endpoints", &etcd.endpoint(), "--user", user]);
        command
    };
    let right = run(&mut as_user("root:right"));
    assert_eq!(right.status.code(), Some(0), "{}", stderr(&right));
    refused(&mut as_user("root:wrong"), &["does not accept the password of user \"root\"", "ETCDCTL_PASSWORD"]);
    refused(&mut as_user("root"), &["has no password", "--password"]);
    refused(ketcd().args(["status", "--endpoints", &etcd.endpoint()]), &["requires a user", "--user NAME:PASSWORD"]);
}

#[test]
fn a_file_and_an_endpoint_exclude_each_other() {
    let output = run(ketcd().args(["status", "-f", "x.db", "--endpoints", "127.0.0.1:2379"]));
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cannot be used with"), "{}", stderr(&output));
}
