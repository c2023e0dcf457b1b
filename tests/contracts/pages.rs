//! Pages and manuals: their flags are those of `--help`, and every example, of README.md too, prints what the page shows.
//! `KETCD_BLESS=1 cargo test --test contracts` writes what ketcd prints now.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use clap::{Arg, Command as CommandLine};
use clap_mangen::roff::{Roff, roman};
use ketcd_render::columns::columns;
use ketcd_render::contract;
use regex::Regex;

use super::root;

/// The lines between which a page is made from the help.
const BEGIN_MARK: &str = "<!-- The following is written by `KETCD_BLESS=1 cargo test --test contracts` from the help texts in src/cli. -->";
const END_MARK: &str = "<!-- End of what is written from the help texts. -->";

/// The recorded cluster that examples read.
const EXAMPLE_CAPTURE: &str = "testdata/captures/k120-story";

/// The command line, with what clap adds to each command.
fn command_line() -> CommandLine {
    let mut command = ketcd::command().disable_help_subcommand(true);
    command.build();
    command
}

/// The commands with a page, by name.
fn commands(command: &CommandLine) -> Vec<&CommandLine> {
    let mut commands: Vec<&CommandLine> = command.get_subcommands().filter(|command| !command.is_hide_set()).collect();
    commands.sort_by_key(|command| command.get_name());
    commands
}

/// Holds a file against what it must be, or writes it when blessed; returns what is wrong with it.
pub(super) fn hold(path: &Path, wanted: &str) -> Option<String> {
    let found = fs::read_to_string(path).unwrap_or_default();
    if found == wanted {
        return None;
    }
    if std::env::var_os("KETCD_BLESS").is_some() {
        fs::write(path, wanted).unwrap();
        return None;
    }
    Some(format!("{} is stale: look at what KETCD_BLESS=1 cargo test --test contracts changes", path.display()))
}

#[test]
fn every_command_has_a_page_and_its_examples_print_what_it_says() {
    let command = command_line();
    let mut problems = Vec::new();
    let mut examples = 0;
    for command in commands(&command) {
        let path = root().join("docs/commands").join(format!("{}.md", command.get_name()));
        let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (page, found) = with_examples(&with_help(&page, &help(command)), &run);
        assert!(found > 0, "{} has no example", path.display());
        assert!(page.contains("\n## Exit codes\n"), "{} does not say how the command exits", path.display());
        examples += found;
        problems.extend(hold(&path, &page));
    }
    let path = root().join("docs/commands/README.md");
    let page = fs::read_to_string(&path).unwrap();
    problems.extend(hold(&path, &with_help(&page, &overview(&command))));
    assert!(examples >= 20, "there are only {examples} examples");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn examples_of_the_readme_print_what_it_shows() {
    let path = root().join("README.md");
    let (page, examples) = with_examples(&fs::read_to_string(&path).unwrap(), &run);
    assert!(examples >= 3, "README.md has only {examples} examples");
    assert_eq!(hold(&path, &page), None);
}

#[test]
fn columns_of_the_exported_tables_are_documented() {
    let mut page = String::from(
        "# Tables of `ketcd export`\n\n<!-- Written by `KETCD_BLESS=1 cargo test --test contracts` from the rows' types in crates/render/src/contract/export. -->\n\nColumns may be added; a column keeps its name, its type and its meaning.\nLines of JSON have the same fields, with times as RFC 3339 and documents as they are.\nFiles are in `table=TABLE/cluster=NAME/day=DAY/`.\nThe day is that of `time`; if `time` is null, it is the day of the row before (`__HIVE_DEFAULT_PARTITION__` if nothing is dated).\n\n`cluster` and `day` belong to the folders, as Hive has it: readers of a table's folder see them as columns, but the files do not contain them.\nRead a table with `pandas.read_parquet('DIR/table=objects')`, `pyarrow.parquet.read_table('DIR/table=objects')`, `polars.scan_parquet('DIR/table=objects')` or, in DuckDB, `read_parquet('DIR/table=objects/*/*/*.parquet', hive_partitioning = true)`.\nDocuments have Parquet's type JSON, which pandas, pyarrow, Spark and DuckDB read as text or JSON.\nPolars reads them as Binary: `pl.col('object').cast(pl.String)` converts them to text.\n",
    );
    for table in contract::export::Table::ALL {
        writeln!(page, "\n## {}\n\n{}\n\n| column | type | null | holds |\n|---|---|---|---|", table.name(), table.description()).unwrap();
        for column in columns(table) {
            let null = if column.nullable { "yes" } else { "no" };
            writeln!(page, "| `{}` | {} | {null} | {} |", column.name, column.kind.parquet(), column.description.replace('|', "\\|"))
                .unwrap();
        }
    }
    assert_eq!(hold(&root().join("docs/tables.md"), &page), None);
}

#[test]
fn manuals_are_current() {
    let command = command_line();
    let mut problems = Vec::new();
    let mut wanted: Vec<String> = vec!["ketcd.1".to_owned()];
    let folder = root().join("docs/man");
    problems.extend(hold(&folder.join("ketcd.1"), &manual(command.clone())));
    for of in commands(&command) {
        let name = format!("ketcd-{}", of.get_name());
        let of = of.clone().name(name.clone()).display_name(name.clone()).bin_name(format!("ketcd {}", of.get_name()));
        problems.extend(hold(&folder.join(format!("{name}.1")), &manual(of)));
        wanted.push(format!("{name}.1"));
    }
    let mut found: Vec<String> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The manual of a command: what clap_mangen makes of it, with the examples of its help before the options.
fn manual(command: CommandLine) -> String {
    let examples = command.get_before_help().map(ToString::to_string);
    let mut manual = Vec::new();
    clap_mangen::Man::new(command).date("").render(&mut manual).unwrap();
    let manual = String::from_utf8(manual).unwrap();
    let Some(examples) = examples else { return manual };
    let (before, options) = manual.split_once("\n.SH OPTIONS\n").unwrap_or_else(|| panic!("there are no options in {manual}"));
    let mut section = Roff::default();
    section.control("SH", ["EXAMPLES"]).control("nf", []);
    for line in examples.lines() {
        section.text([roman(line)]);
    }
    section.control("fi", []);
    format!("{before}\n{}.SH OPTIONS\n{options}", section.to_roff())
}

/// The page with what stands between the marks replaced.
fn with_help(page: &str, help: &str) -> String {
    let (before, rest) = page.split_once(BEGIN_MARK).unwrap_or_else(|| panic!("there is no mark {BEGIN_MARK:?} in {page}"));
    let (_, after) = rest.split_once(END_MARK).unwrap_or_else(|| panic!("there is no mark {END_MARK:?} in {page}"));
    format!("{before}{BEGIN_MARK}\n\n{}\n{END_MARK}{after}", help.trim_end())
}

/// What the help of one command says, as Markdown.
fn help(command: &CommandLine) -> String {
    let mut text = String::new();
    let about = command.get_long_about().or(command.get_about()).unwrap().to_string();
    writeln!(text, "{}\n\n## Synopsis\n\n```text\n{}\n```", sentences(&about), usage(command)).unwrap();
    let own = |arg: &&Arg| !arg.is_global_set() && !["help", "version"].contains(&arg.get_id().as_str());
    section(&mut text, "Arguments", command.get_positionals().filter(|arg| !arg.is_hide_set()));
    section(&mut text, "Flags", command.get_opts_and_flags(own));
    text.push_str("\nFlags of every command, such as `-f`, `-n`, `-o` and `--rev`: [Commands](README.md).\n\n## JSON\n\n");
    match contract::find(command.get_name()) {
        Some(contract) => writeln!(
            text,
            "The schema is [`{}`](../schema/{}.json); `ketcd schema {1}` prints it. Fields, words and documents may be added; anything else is a new version.",
            contract.name(),
            command.get_name()
        ),
        None => writeln!(text, "The command prints no JSON that has a schema."),
    }
    .unwrap();
    text
}

/// Paragraphs with each sentence on a line of its own.
fn sentences(text: &str) -> String {
    static SENTENCE_END: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"([.!?]) +([A-Z`-])").unwrap());
    text.lines().map(|paragraph| SENTENCE_END.replace_all(paragraph, "$1\n$2").into_owned()).collect::<Vec<_>>().join("\n")
}

trait OwnFlags {
    fn get_opts_and_flags<'a>(&'a self, own: impl Fn(&&Arg) -> bool + 'a) -> impl Iterator<Item = &'a Arg>;
}

impl OwnFlags for CommandLine {
    fn get_opts_and_flags<'a>(&'a self, own: impl Fn(&&Arg) -> bool + 'a) -> impl Iterator<Item = &'a Arg> {
        self.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set()).filter(own)
    }
}

fn usage(command: &CommandLine) -> String {
    let usage = command.clone().render_usage().to_string();
    usage.trim_start_matches("Usage: ").to_owned()
}

/// A list of arguments under a heading, if there are any.
fn section<'a>(text: &mut String, heading: &str, args: impl Iterator<Item = &'a Arg>) {
    let args: Vec<&Arg> = args.collect();
    if args.is_empty() {
        return;
    }
    writeln!(text, "\n## {heading}\n").unwrap();
    args.into_iter().for_each(|arg| item(text, arg));
}

/// One argument: how it is written, and what it does.
fn item(text: &mut String, arg: &Arg) {
    let value = arg.get_value_names().map(|names| names.join(" ")).filter(|_| arg.get_action().takes_values());
    let mut written: Vec<String> = Vec::new();
    written.extend(arg.get_short().map(|short| format!("-{short}")));
    written.extend(arg.get_long().map(|long| format!("--{long}")));
    let mut spelled = match (written.is_empty(), value) {
        (true, value) => value.unwrap_or_default(),
        (false, Some(value)) => format!("{} {value}", written.join(", ")),
        (false, None) => written.join(", "),
    };
    if arg.is_positional() && arg.get_num_args().is_some_and(|count| count.max_values() > 1) {
        spelled.push('…');
    }
    let says = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let says = says.split_whitespace().collect::<Vec<_>>().join(" ");
    let default: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let default = if default.is_empty() || arg.is_hide_default_value_set() || !arg.get_action().takes_values() {
        String::new()
    } else {
        format!(" Default: `{}`.", default.join(","))
    };
    let stop = if says.ends_with(['.', ':', '…']) { "" } else { "." };
    writeln!(text, "- `{spelled}`: {says}{stop}{default}").unwrap();
}

/// Every command in a line, and the flags of all of them.
fn overview(command: &CommandLine) -> String {
    let mut text = String::from("| command | does |\n|---|---|\n");
    for of in commands(command) {
        writeln!(text, "| [`{0}`]({0}.md) | {1} |", of.get_name(), of.get_about().unwrap()).unwrap();
    }
    let mut headings: Vec<&str> = Vec::new();
    let global: Vec<&Arg> = command.get_arguments().filter(|arg| arg.is_global_set()).collect();
    for heading in global.iter().filter_map(|arg| arg.get_help_heading()) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for heading in headings {
        section(&mut text, heading, global.iter().copied().filter(|arg| arg.get_help_heading() == Some(heading)));
    }
    text
}

/// The page with what its examples print now, as `run` says, and their number.
pub(super) fn with_examples(page: &str, run: &dyn Fn(&str) -> String) -> (String, usize) {
    let mut printed = String::new();
    let mut examples = 0;
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        printed.push_str(line);
        printed.push('\n');
        if line != "```console" {
            continue;
        }
        while lines.peek().is_some_and(|line| *line != "```") {
            let Some(command) = lines.next().unwrap().strip_prefix("$ ") else { continue };
            let text = run(command);
            let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            write!(printed, "$ {command}\n{text}{end}").unwrap();
            examples += 1;
        }
    }
    (printed, examples)
}

/// Runs a line of an example in a shell, in the folder of the recorded cluster; returns all that it writes.
fn run(line: &str) -> String {
    assert!(line.starts_with("ketcd "), "{line}");
    let binary = Path::new(env!("CARGO_BIN_EXE_ketcd"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let scratch = tempfile::tempdir().unwrap();
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {line}; }} 2>&1")])
        .current_dir(root().join(EXAMPLE_CAPTURE))
        .env("PATH", path)
        .env("TMPDIR", scratch.path())
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}
