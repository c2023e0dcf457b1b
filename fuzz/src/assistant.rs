//! What assistants ask: the call of a tool, or the address of a resource.

use ketcd_mcp::{Question, object_of, read_call};
use serde_json::{Map, Value};

/// The commands that answer.
const COMMANDS: [&str; 12] =
    ["triage", "timeline", "explain", "history", "diff", "get", "ls", "grep", "what-if", "status", "usage", "verify"];

/// The flags that a question can have. None names a file: `--fit` and `--add` take an address and a number of nodes.
const FLAGS: [&str; 18] = [
    "since", "around", "node", "diff", "regexp", "fit", "each", "add", "cordon", "delete", "drain", "fail", "label", "restart", "scale",
    "taint", "uncordon", "",
];

/// A tool and its arguments, on two lines, or an address: the same question each time, made of known commands and flags alone; a refusal is short.
pub fn assistant_call(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (name, arguments) = text.split_once('\n').unwrap_or((text, ""));
    let read = || match arguments {
        "" => object_of(name),
        _ => {
            let arguments: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
            read_call(name, arguments)
        }
    };
    let asked = read();
    assert_eq!(asked, read());
    match asked {
        Ok(question) => is_harmless(&question),
        Err(refusal) => assert!(refusal.0.len() < 8 << 10, "{} bytes", refusal.0.len()),
    }
}

fn is_harmless(question: &Question) {
    let mut words = question.words.iter().map(String::as_str);
    let command = words.next().unwrap();
    assert!(COMMANDS.contains(&command), "{question:?}");
    for word in words.by_ref().take_while(|word| *word != "--") {
        let flag = word.strip_prefix("--").unwrap_or_else(|| panic!("{word:?} is not a flag: {question:?}"));
        let (flag, value) = flag.split_once('=').unwrap_or((flag, ""));
        assert!(FLAGS.contains(&flag), "{question:?}");
        assert!(!["fit", "add"].contains(&flag) || !value.trim().starts_with(['/', '.', '~']) && !value.contains("../"), "{question:?}");
    }
    assert!(question.words.iter().all(|word| !word.contains('\0')), "{question:?}");
}
