//! Libraries are called with values: they keep nothing for the whole process and read neither its arguments nor its environment. What JSON says
//! does not come from a page of text.

use std::fs;
use std::sync::LazyLock;

use regex::Regex;

use super::{files, texts};
use crate::root;

/// What is kept all the same: the file, the name, and why.
const KEPT_STATE: &[(&str, &str, &str)] = &[
    ("store/src/load/mapped.rs", "MAPPED_REGIONS", "a handler of signals is called with nothing"),
    ("store/src/load/bolt/step.rs", "STEP_HOOK", "only in tests"),
    ("store/src/recording/faults.rs", "INJECTED_FAULT", "only in tests"),
    ("kube/src/decoder/decode_count.rs", "DECODED", "counts for tests"),
    ("kube/src/decoder/typed.rs", "ROWS_BY_TYPE", "answers of a function of constants"),
];

/// The crates that others use.
fn libraries() -> Vec<String> {
    let folders = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    folders.filter(|name| name != "testing").collect()
}

/// What a text keeps for the whole process or reads of it.
fn faults(name: &str, text: &str) -> Vec<String> {
    static KEPT_ITEM: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"static (?:mut )?(\w+): (\[?[^=;]*)").unwrap());
    static READ_CALL: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\benv::(var|var_os|vars|vars_os|args|args_os)\b").unwrap());
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let changes = |of: &str| ["Cell<", "OnceLock<", "Mutex<", "RwLock<", "Atomic", "[Region"].iter().any(|sign| of.contains(sign));
    let is_kept = |item: &str| KEPT_STATE.iter().any(|(file, kept, _)| name.ends_with(file) && *kept == item);
    let statics = KEPT_ITEM.captures_iter(text).filter(|found| changes(&found[2]) || found[0].starts_with("static mut"));
    let statics = statics.filter(|found| !is_kept(&found[1])).map(|found| format!("{name}: static {}", &found[1]));
    statics.chain(READ_CALL.find_iter(text).map(|found| format!("{name}: {}", found.as_str()))).collect()
}

#[test]
fn libraries_hold_no_state_of_the_process() {
    let libraries = libraries();
    assert!(libraries.len() > 8, "{libraries:?}");
    let mut found = Vec::new();
    for library in libraries {
        let below = format!("crates/{library}/src");
        for (name, text) in texts(&below) {
            found.extend(faults(&format!("{below}/{name}"), &text));
        }
    }
    assert!(found.is_empty(), "make a value of it that callers pass: {found:#?}");
}

#[test]
fn what_changes_is_found() {
    for text in [
        "static SOURCE: OnceLock<String> = OnceLock::new();",
        "thread_local! {\n    static MET: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };\n}",
        "pub static mut COUNT: usize = 0;",
        "static COUNT: AtomicUsize = AtomicUsize::new(0);",
        "let first = std::env::args_os().next();",
        "env::var(\"HOME\")",
    ] {
        assert_eq!(faults("a.rs", text).len(), 1, "{text}");
    }
    for text in
        ["static KINDS: LazyLock<Kinds> = LazyLock::new(Kinds::builtin);", "static NAMES: [&str; 2] = [\"a\", \"b\"];", "env::temp_dir()"]
    {
        assert!(faults("a.rs", text).is_empty(), "{text}");
    }
}

#[test]
fn json_is_made_without_text() {
    let files = files("crates/render/src");
    let of_json = |file: &&str| file.starts_with("contract/") || file.starts_with("words/") || file.starts_with("page/");
    let made: Vec<&str> = files.names().filter(of_json).collect();
    assert!(made.len() > 25, "{made:?}");
    let marked: Vec<&&str> = made.iter().filter(|file| files.reach(file).iter().any(|used| used.starts_with("style/"))).collect();
    assert!(marked.is_empty(), "they use what writes text: {marked:?}");
}
