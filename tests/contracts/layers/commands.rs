//! A command is thin: flags, one question to the cluster, output. And a new one touches two files: its own, and the table of commands.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use syn::visit::{self, Visit};

/// A command has no more lines of code than this, without flags, imports and comments.
const MAX_COMMAND_LINES: usize = 70;

/// The text of each file in `src/cli/commands`, by its name.
fn files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/commands");
    let mut files: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).expect("a file, as each command is one"))
        })
        .collect();
    files.sort();
    files
}

/// The lines of a file that are code: no comment, no import, no table of constants, and no type that clap reads flags into. rustfmt ends each item at the margin.
fn code_lines(text: &str) -> usize {
    let (mut lines, mut item): (usize, Vec<&str>) = (0, Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//")) {
        item.push(line);
        let is_last = line.starts_with(['}', ')', ']']) || !line.starts_with([' ', '#']) && line.ends_with([';', '}']);
        if is_last {
            let begins = |text: &str| item.iter().any(|line| line.starts_with(text));
            let is_flags =
                item.iter().any(|line| line.starts_with("#[derive(") && ["Args", "ValueEnum"].iter().any(|of| line.contains(of)));
            if !is_flags && !["use ", "mod ", "const "].iter().any(|begin| begins(begin)) {
                lines += item.len();
            }
            item.clear();
        }
    }
    assert!(item.is_empty(), "{item:?}");
    lines
}

#[test]
fn lines_are_counted_as_they_read() {
    let text = "//! What it is.\n\nuse a::{\n    b,\n};\nuse c;\n\n/// Flags.\n#[derive(Args, Debug)]\n#[command(before_help = \"\\\n# An example\")]\nstruct \
                Flags {\n    a: bool,\n}\n\n/// Runs.\nfn run() {\n    // Why.\n    go();\n}\n\nconst A: [u8; 1] = [\n    1,\n];\n";
    assert_eq!(code_lines(text), 3);
}

#[test]
fn commands_are_thin() {
    let long: Vec<String> = files()
        .iter()
        .map(|(name, text)| (name, code_lines(text)))
        .filter(|(name, lines)| *name != "mod.rs" && *lines > MAX_COMMAND_LINES)
        .map(|(name, lines)| format!("{name} has {lines} lines of code"))
        .collect();
    assert!(long.is_empty(), "more than {MAX_COMMAND_LINES}: what answers is the cluster's, what writes is render's: {long:?}");
}

/// The names in a file that lie in modules of commands.
#[derive(Default)]
struct Named(BTreeSet<String>);

impl<'t> Visit<'t> for Named {
    fn visit_ident(&mut self, ident: &'t proc_macro2::Ident) {
        self.0.insert(ident.to_string());
    }

    fn visit_macro(&mut self, mac: &'t syn::Macro) {
        self.0.extend(mac.tokens.to_string().split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned));
        visit::visit_macro(self, mac);
    }
}

/// A new command is its file, its module in `mod.rs` and its row in the table there: nothing else names one.
#[test]
fn a_new_command_touches_two_files() {
    let files = files();
    let (_, table) = files.iter().find(|(name, _)| name == "mod.rs").expect("the table");
    let module_of = |line: &str| line.strip_prefix("mod ")?.strip_suffix(';').map(str::to_owned);
    let modules: BTreeSet<String> = table.lines().filter_map(module_of).collect();
    let own: BTreeSet<String> =
        files.iter().filter_map(|(name, _)| name.strip_suffix(".rs")).filter(|name| *name != "mod").map(str::to_owned).collect();
    assert_eq!(modules, own, "a module is one file, with one line");
    let rows: Vec<(&str, String)> = table
        .lines()
        .filter_map(|line| line.trim().strip_suffix("),")?.split_once('('))
        .filter_map(|(command, args)| Some((command, args.split_once("::")?.0.to_owned())))
        .collect();
    assert_eq!(rows.iter().map(|(_, module)| module.clone()).collect::<BTreeSet<_>>(), own, "a command is one row");
    assert_eq!(rows.len(), own.len());
    // The rest of the program names no command's arguments, so that it need not change.
    let arguments: BTreeSet<String> = rows.iter().map(|(command, _)| format!("{command}Args")).collect();
    for (source, text) in super::texts("src") {
        let mut named = Named::default();
        named.visit_file(&syn::parse_file(&text).unwrap());
        let foreign: Vec<&String> = arguments.intersection(&named.0).collect();
        let is_own = |args: &&String| {
            source.strip_prefix("cli/commands/").is_some_and(|name| {
                name == "mod.rs" || format!("{}args", name.trim_end_matches(".rs").replace('_', "")) == args.to_lowercase()
            })
        };
        assert!(foreign.iter().all(is_own), "{source} names {foreign:?}");
    }
}
