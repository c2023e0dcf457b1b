//! Decodes a value that etcd stores for Kubernetes and prints its JSON: `cargo run -p ketcd-kube --example decode -- FILE`.
//!
//! The file holds the value as it is, in hex or in base64; `-` is standard input. For example, from a running etcd:
//! `etcdctl get --print-value-only /registry/pods/default/web-0 | cargo run -p ketcd-kube --example decode -- -`.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "an example is a program: it has arguments, reads a file and prints")]

use std::error::Error;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ketcd_kube::{Body, Decoder};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: decode FILE (- for standard input)")?;
    let bytes = read(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let value = as_text(&bytes).unwrap_or(bytes);

    let decoded = Decoder::new().decode(b"", &value, 0);
    match decoded.body {
        Body::Object(object) => println!("{:#}", *object),
        Body::Opaque(opaque) => return Err(format!("{path}: {}", opaque.reason).into()),
    }
    Ok(())
}

fn read(path: &str) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match path {
        "-" => std::io::stdin().read_to_end(&mut bytes)?,
        _ => std::fs::File::open(path)?.read_to_end(&mut bytes)?,
    };
    Ok(bytes)
}

/// The bytes that hex or base64 stands for; `None` where the text is neither.
fn as_text(bytes: &[u8]) -> Option<Vec<u8>> {
    let text: String = std::str::from_utf8(bytes).ok()?.split_whitespace().collect();
    let hex = |place: usize| u8::from_str_radix(text.get(place..place + 2)?, 16).ok();
    let from_hex = (0..text.len()).step_by(2).map(hex).collect::<Option<Vec<u8>>>();
    from_hex.or_else(|| STANDARD.decode(&text).ok()).filter(|value| !value.is_empty())
}
