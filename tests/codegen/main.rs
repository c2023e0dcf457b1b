//! Regenerates the committed code of `crates/*/src/proto` from `proto` and fails where the commit is stale. `KETCD_BLESS=1 cargo test --test codegen` writes it.

mod kinds;
mod kubernetes;

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The `.proto` files below `dir`, relative to it, sorted.
fn schemas(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|e| e == "proto") {
                found.push(path.strip_prefix(dir).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Holds a generated file against the committed one, or writes it when blessed.
fn compare(path: &str, generated: &str) {
    let file = root().join(path);
    if std::env::var_os("KETCD_BLESS").is_some() {
        fs::write(&file, generated).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(committed == generated, "{path} is stale: run `KETCD_BLESS=1 cargo test --test codegen` and commit it");
}

#[test]
fn etcd_messages_are_current() {
    let dir = root().join("proto/etcd");
    let descriptors = protox::compile(schemas(&dir), [&dir]).unwrap();
    let out = tempfile::tempdir().unwrap();
    let mut config = prost_build::Config::new();
    config.out_dir(out.path()).bytes(["."]).compile_fds(descriptors).unwrap();
    let mut text = String::from(
        "//! etcd's own messages, one module for each of its packages. Generated from `proto/etcd` by `tests/codegen.rs`; do not edit.\n",
    );
    for schema in schemas(&dir) {
        let package = schema.file_stem().unwrap().to_str().unwrap();
        let code = fs::read_to_string(out.path().join(format!("{package}.rs"))).unwrap();
        text.push_str(&format!("\n/// The messages of `proto/etcd/{package}.proto`.\npub mod {package} {{\n"));
        for line in code.lines() {
            text.push_str(&if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") });
        }
        text.push_str("}\n");
    }
    compare("crates/store/src/proto.rs", &text);
}

#[test]
fn kubernetes_tables_are_current() {
    let dir = root().join("proto/kubernetes");
    let mut compiler = protox::Compiler::new([&dir]).unwrap();
    compiler.open_files(schemas(&dir)).unwrap();
    compare("crates/kube/src/proto/kubernetes.rs", &kubernetes::tables(&compiler.descriptor_pool()));
}
