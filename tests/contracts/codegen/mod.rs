//! Regenerates the committed code of `crates/*/src/proto` from `proto` and fails where the commit is stale.
//! `KETCD_BLESS=1 cargo test --test contracts codegen` writes it.

mod fields;
mod kinds;
mod kubernetes;
mod release;

use std::fs;
use std::path::{Path, PathBuf};

use super::root;

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
fn compare(path: &str, generated: impl AsRef<[u8]>) {
    let (file, generated) = (root().join(path), generated.as_ref());
    let mut committed = fs::read(&file).unwrap_or_default();
    // A file that is as it was keeps its time: all would be compiled anew.
    if std::env::var_os("KETCD_BLESS").is_some() && committed != generated {
        fs::write(&file, generated).unwrap();
        committed = generated.to_owned();
    }
    assert!(committed == generated, "{path} is stale: run `KETCD_BLESS=1 cargo test --test contracts codegen` and commit it");
}

#[test]
fn etcd_messages_are_current() {
    let dir = root().join("proto/etcd");
    let descriptors = protox::compile(schemas(&dir), [&dir]).unwrap();
    let out = tempfile::tempdir().unwrap();
    let mut config = prost_build::Config::new();
    config.out_dir(out.path()).bytes(["."]).compile_fds(descriptors).unwrap();
    let mut text = String::from(
        "//! etcd's own messages, one module for each of its packages. Generated from `proto/etcd` by `tests/contracts/codegen`; do not edit.\n",
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

/// What `tools/protoc` answers etcd-client's build script with: `proto/etcd-client-VERSION.binpb`, a FileDescriptorSet of the schemas in that crate.
#[test]
fn compiled_schemas_of_etcd_client_are_current() {
    let (version, source) = etcd_client();
    let schemas = source.join("proto");
    let mut compiler = protox::Compiler::new([&schemas]).unwrap();
    compiler.include_imports(true).include_source_info(false);
    compiler
        .open_files([
            "etcd/api/authpb/auth.proto",
            "etcd/api/etcdserverpb/rpc.proto",
            "etcd/api/mvccpb/kv.proto",
            "etcd/server/etcdserver/api/v3election/v3electionpb/v3election.proto",
            "etcd/server/etcdserver/api/v3lock/v3lockpb/v3lock.proto",
        ])
        .unwrap();
    compare(&format!("proto/etcd-client-{version}.binpb"), compiler.encode_file_descriptor_set());
}

/// The version of etcd-client that Cargo.lock names, and where cargo has unpacked it. `cargo metadata` would want every crate of the workspace to be there,
/// and the Python package's are not where it was not built.
fn etcd_client() -> (String, PathBuf) {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let (_, entry) = lock.split_once("name = \"etcd-client\"\nversion = \"").unwrap();
    let version = entry.split('"').next().unwrap().to_owned();
    let home = std::env::var_os("CARGO_HOME").map_or_else(|| std::env::home_dir().unwrap().join(".cargo"), PathBuf::from);
    let registries = fs::read_dir(home.join("registry/src")).unwrap().map(|registry| registry.unwrap().path());
    let source = registries.map(|registry| registry.join(format!("etcd-client-{version}"))).find(|source| source.is_dir());
    (version, source.expect("etcd-client is in no registry of cargo"))
}

#[test]
fn kubernetes_tables_are_current() {
    // OpenShift's schemas import those of Kubernetes.
    let (kubernetes, all) = (root().join("proto/kubernetes"), root().join("proto"));
    let mut compiler = protox::Compiler::new([&kubernetes, &all]).unwrap();
    compiler.open_files(schemas(&kubernetes)).unwrap();
    compiler.open_files(schemas(&all.join("openshift")).iter().map(|path| Path::new("openshift").join(path))).unwrap();
    compare("crates/kube/src/proto/kubernetes.rs", kubernetes::tables(&compiler.descriptor_pool()));
}
