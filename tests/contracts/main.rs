//! What users and contributors rely on: the machine output and its schemas, the pages of the commands, the manuals, and their text; the order of
//! the source files, the code that is generated, and that no bytes make a parser panic. The committed schemas are those of the types, a version
//! keeps its promises, and what every command really prints is what its schema says.
//! `KETCD_BLESS=1 cargo test --test contracts` writes schemas, pages, manuals and generated code.

mod codegen;
mod compatibility;
mod deploy;
mod examples;
mod first_steps;
mod guides;
mod help;
mod layers;
mod libraries;
mod limits;
mod mutants;
mod offline;
mod page;
mod pages;
mod pictures;
mod prose;
mod rights;
mod schema;
mod stability;
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ketcd_render::contract::{Contract, JSON_CONTRACTS};
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn path(contract: &Contract) -> PathBuf {
    root().join("docs/schema").join(format!("{}.json", contract.command))
}

fn written(schema: &Value) -> String {
    format!("{schema:#}\n")
}

/// What is wrong with the committed schema of a contract, after writing it where that is asked for and breaks nothing.
fn problem(contract: &Contract, bless: bool) -> Option<String> {
    let (path, schema) = (path(contract), contract.schema());
    let committed = fs::read_to_string(&path).ok();
    if committed.as_deref() == Some(&written(&schema)) {
        return None;
    }
    let old: Option<Value> = committed.map(|text| serde_json::from_str(&text).unwrap());
    let breaks = old.filter(|old| old["title"] == schema["title"]).map_or(Vec::new(), |old| compatibility::breaks(&old, &schema));
    if !breaks.is_empty() {
        let version = contract.version + 1;
        return Some(format!(
            "{} no longer holds what it promised: raise its version to {version} in crates/render/src/contract/registry.rs, or take the change back\n  {}",
            contract.name(),
            breaks.join("\n  ")
        ));
    }
    if bless {
        fs::write(&path, written(&schema)).unwrap();
        return None;
    }
    Some(format!("{} is stale: run `KETCD_BLESS=1 cargo test --test contracts` and commit it", path.display()))
}

#[test]
fn committed_schemas_are_current() {
    let bless = std::env::var_os("KETCD_BLESS").is_some();
    let problems: Vec<String> = JSON_CONTRACTS.iter().filter_map(|contract| problem(contract, bless)).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let mut files: Vec<_> = fs::read_dir(root().join("docs/schema")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let wanted: Vec<PathBuf> = JSON_CONTRACTS.iter().map(path).collect();
    assert_eq!(files, wanted, "docs/schema has one schema for each command, in the order of their names");
}

#[test]
fn schemas_are_valid_and_closed() {
    for contract in JSON_CONTRACTS {
        let schema = contract.schema();
        schema::know(&schema, &schema);
        let root = (contract.name(), schema.clone());
        let types = schema["$defs"].as_object().cloned().unwrap_or_default().into_iter().chain([root]);
        for (name, of) in types {
            if of.get("properties").is_some() && name != "KubernetesObject" {
                assert_eq!(of["additionalProperties"], false, "{}: {name}", contract.name());
                for (field, property) in of["properties"].as_object().unwrap() {
                    let described = property.get("description").is_some() || property.get("const").is_some() || name == "PatchOperation";
                    assert!(described, "{}: {name}.{field} has no description", contract.name());
                }
            }
        }
    }
}

#[test]
fn schema_prints_what_is_committed() {
    let ketcd = |arguments: &[&str]| Command::new(env!("CARGO_BIN_EXE_ketcd")).args(arguments).output().unwrap();
    let list = String::from_utf8(ketcd(&["schema"]).stdout).unwrap();
    for contract in JSON_CONTRACTS {
        let printed = String::from_utf8(ketcd(&["schema", contract.command]).stdout).unwrap();
        assert!(printed == written(&contract.schema()), "{}", contract.command);
        assert!(list.lines().any(|line| line.split_whitespace().eq([contract.command, &contract.name()])), "{list}");
    }
    let unknown = ketcd(&["schema", "completion"]);
    assert_eq!((unknown.status.code(), unknown.stdout.len()), (Some(2), 0));
    assert!(
        String::from_utf8(unknown.stderr).unwrap().starts_with("ketcd: error: no command \"completion\" prints JSON; use one of blame, ")
    );
}
