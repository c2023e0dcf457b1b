//! The stub that type checkers read names what the extension has. Python alone can call it: `tools/python` does.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// The name behind each `mark` that begins a line, whatever it is indented by.
fn names(text: &str, mark: &str) -> BTreeSet<String> {
    let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix(mark));
    lines.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_owned()).collect()
}

/// What stands in `#[pymethods]` of a file; a constructor is called as Python calls it.
fn methods(file: &str) -> BTreeSet<String> {
    let source = read(file);
    let (_, block) = source.split_once("#[pymethods]").unwrap();
    let (block, _) = block.split_once("\n}\n").unwrap();
    names(block, "fn ").into_iter().map(|name| if name == "new" { "__new__".to_owned() } else { name }).collect()
}

#[test]
fn the_stub_names_what_the_extension_has() {
    let stub = read("python/ketcd/_ketcd.pyi");
    let source = read("src/lib.rs");
    assert_eq!(names(&stub, "class "), names(&source, "module.add_class::<").iter().map(|file| class(file)).collect());
    let functions = source.lines().filter_map(|line| line.split_once("wrap_pyfunction!(")?.1.split(',').next()).map(str::to_owned);
    let all = methods("src/open_source.rs").into_iter().chain(methods("src/rows.rs")).chain(functions).collect();
    assert_eq!(names(&stub, "def "), all);
}

/// The class of a module: `open_source` has `OpenSource`.
fn class(module: &str) -> String {
    module.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}
