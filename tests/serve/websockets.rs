//! Watches by WebSocket: what they bring is what a watch by HTTP brings.

use std::io::{BufRead, BufReader, Read, Write};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::server::Server;

const STORY_CAPTURE: &str = "k136-story/snapshot.db.zst";
const WATCH_PATH: &str = "/api/v1/pods?watch=true&resourceVersion=2500";

/// An answered handshake.
struct Socket<S> {
    code: u16,
    head: Vec<String>,
    stream: BufReader<S>,
}

/// Sends a handshake with these headers.
fn handshake(server: &Server, path: &str, headers: &[(&str, &str)]) -> Socket<impl Read + Write + use<>> {
    let mut lines = vec![
        ("Host", server.host()),
        ("Connection", "keep-alive, Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    if !headers.iter().any(|(name, _)| *name == "Sec-WebSocket-Version") {
        lines.push(("Sec-WebSocket-Version", "13"));
    }
    lines.extend(headers);
    let lines: String = lines.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let mut stream = server.connect_tls();
    stream.write_all(format!("GET {path} HTTP/1.1\r\n{lines}\r\n").as_bytes()).unwrap();
    let mut stream = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_owned());
    }
    let code = head[0].split(' ').nth(1).unwrap().parse().unwrap();
    Socket { code, head, stream }
}

impl<S: Read> Socket<S> {
    fn header(&self, name: &str) -> Option<&str> {
        let of = |line: &'_ str| line.split_once(": ").is_some_and(|(own, _)| own.eq_ignore_ascii_case(name));
        self.head.iter().find(|line| of(line)).map(|line| line.split_once(": ").unwrap().1)
    }

    /// The next frame: its opcode and its payload.
    fn frame(&mut self) -> (u8, Vec<u8>) {
        let mut start = [0; 2];
        self.stream.read_exact(&mut start).unwrap();
        assert!(start[0] & 0xf0 == 0x80 && start[1] & 0x80 == 0, "{start:?}");
        let mut more = [0; 8];
        let length = match start[1] {
            126 => {
                self.stream.read_exact(&mut more[6..]).unwrap();
                u64::from_be_bytes(more)
            }
            127 => {
                self.stream.read_exact(&mut more).unwrap();
                u64::from_be_bytes(more)
            }
            length => u64::from(length),
        };
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.stream.read_exact(&mut payload).unwrap();
        (start[0] & 0x0f, payload)
    }

    /// The next messages, which have this opcode.
    fn next(&mut self, opcode: u8, many: usize) -> Vec<Vec<u8>> {
        let mut message = || {
            let (own, payload) = self.frame();
            assert_eq!(own, opcode);
            payload
        };
        (0..many).map(|_| message()).collect()
    }

    /// All messages with this opcode, until the server closes as it should.
    fn messages(&mut self, opcode: u8) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        loop {
            match self.frame() {
                (8, payload) => {
                    assert_eq!(payload, 1000_u16.to_be_bytes());
                    return messages;
                }
                (own, payload) => {
                    assert_eq!(own, opcode);
                    messages.push(payload);
                }
            }
        }
    }
}

#[test]
fn each_event_is_a_message() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let bearer = format!("Bearer {}", server.token());
    let origin = server.address().to_owned();
    let mut socket = handshake(&server, WATCH_PATH, &[("Authorization", &bearer), ("Origin", &origin)]);
    assert_eq!(socket.code, 101, "{:?}", socket.head);
    // RFC 6455, 1.3.
    assert_eq!(socket.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_eq!(socket.header("sec-websocket-protocol"), None);
    let wanted: Vec<Value> = server.changes(WATCH_PATH, "application/json");
    assert!(wanted.len() > 5, "{} frames show little", wanted.len());
    let frames: Vec<Value> = socket.next(1, wanted.len()).iter().map(|text| serde_json::from_slice(text).unwrap()).collect();
    assert_eq!(frames, wanted);
    // In protobuf the message is the event, without the length that stands before it elsewhere.
    let accept = "application/vnd.kubernetes.protobuf;stream=watch";
    let mut socket = handshake(&server, WATCH_PATH, &[("Authorization", &bearer), ("Accept", accept)]);
    let messages = socket.next(2, wanted.len());
    let with_lengths: Vec<u8> =
        messages.iter().flat_map(|own| [&u32::try_from(own.len()).unwrap().to_be_bytes()[..], own].concat()).collect();
    let mut bytes = vec![0; with_lengths.len()];
    server.body(WATCH_PATH, accept).2.read_exact(&mut bytes).unwrap();
    assert_eq!(with_lengths, bytes);
    // A watch that cannot begin says so in a message.
    let mut socket = handshake(&server, "/api/v1/pods?watch=true&resourceVersion=99999", &[("Authorization", &bearer)]);
    let failed: Value = serde_json::from_slice(&socket.messages(1)[0]).unwrap();
    assert_eq!((&failed["type"], failed["object"]["code"].as_u64()), (&Value::from("ERROR"), Some(504)));
}

/// Browsers can put the token in no header.
#[test]
fn the_token_may_be_a_subprotocol() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let token = |text: &str| format!("base64url.bearer.authorization.k8s.io.{}", URL_SAFE_NO_PAD.encode(text));
    let own = token(server.token());
    let mut socket = handshake(&server, WATCH_PATH, &[("Sec-WebSocket-Protocol", &format!("base64.binary.k8s.io, {own}"))]);
    assert_eq!((socket.code, socket.header("sec-websocket-protocol")), (101, Some("base64.binary.k8s.io")));
    socket.next(1, 1);
    for (protocols, wanted) in [(own.clone(), 401), (format!("a, {}", token("wrong")), 401), (format!("a, {own}, {own}"), 401)] {
        assert_eq!(handshake(&server, WATCH_PATH, &[("Sec-WebSocket-Protocol", &protocols)]).code, wanted, "{protocols}");
    }
    // Elsewhere it is none.
    let (code, _) = server.send("GET", "/version", &[("authorization", ""), ("sec-websocket-protocol", &format!("a, {own}"))], "");
    assert_eq!(code, 401);
}

#[test]
fn handshakes_that_are_none_are_refused() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let bearer = format!("Bearer {}", server.token());
    let check = |path: &str, headers: &[(&str, &str)], wanted: u16| {
        let socket = handshake(&server, path, headers);
        assert_eq!(socket.code, wanted, "{path} {headers:?}: {:?}", socket.head);
    };
    check(WATCH_PATH, &[], 401);
    check(WATCH_PATH, &[("Authorization", &bearer), ("Origin", "https://evil.example")], 403);
    check(WATCH_PATH, &[("Authorization", &bearer), ("Origin", "null")], 403);
    check(WATCH_PATH, &[("Authorization", &bearer), ("Sec-WebSocket-Version", "8")], 400);
    check("/api/v1/pods?watch=true&labelSelector=((", &[("Authorization", &bearer)], 400);
    // What is no watch is answered as it is.
    check("/api/v1/namespaces", &[("Authorization", &bearer)], 200);
    check("/api/v1/namespaces/web/pods/db-0/exec?command=sh", &[("Authorization", &bearer)], 405);
}

#[test]
fn pings_are_answered_and_the_client_may_close() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let bearer = format!("Bearer {}", server.token());
    let quiet = "/api/v1/pods?watch=true&resourceVersion=3190";
    let mut socket = handshake(&server, quiet, &[("Authorization", &bearer)]);
    assert_eq!(socket.code, 101);
    socket.stream.get_mut().write_all(b"\x89\x82\x01\x02\x03\x04ij").unwrap();
    assert_eq!(socket.frame(), (10, b"hh".to_vec()));
    socket.stream.get_mut().write_all(b"\x88\x82\0\0\0\0\x03\xe8").unwrap();
    assert!(socket.messages(1).is_empty());
    // So does one that sends what it may not.
    let mut socket = handshake(&server, quiet, &[("Authorization", &bearer)]);
    socket.stream.get_mut().write_all(b"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0").unwrap();
    assert_eq!(socket.frame(), (8, 1009_u16.to_be_bytes().to_vec()));
}
