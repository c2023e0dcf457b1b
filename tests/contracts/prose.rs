//! The text of documentation, help and comments: short sentences in the field's words, one to a line in Markdown.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::{Arg, Command as CommandLine};
use regex::Regex;

use super::root;

/// Signs of a sentence to write anew: how it begins, or words in it.
const REWRITE_SIGNS: &[&str] = &[
    r"(?:^|[.:;!?|] )(?:Of (?:a|an|the|all|many|several|these|those)|So (?:many|long|do)) ",
    r"\b[Ww]hoever\b",
    r"\bwhat is none\b",
    r"\bbeside\b",
    r"\b(?:is|are) told\b",
    r"\bjudged\b",
    r"\b(?:is|are) no (?:[a-z]+)\b",
];

/// What a sign may match all the same.
const SOUND_PHRASES: &str = r"\b(?:there|There) (?:is|are) no |\b(?:is|are) no (?:longer|more|fewer|less|better)\b";

/// Directories whose comments begin no such sentence.
const COMMENT_FOLDERS: &[&str] = &["bench", "crates", "fuzz", "src", "tests", "tools"];

/// Directories whose comments have none of the signs.
const SOUND_COMMENTS: &[&str] =
    &["crates/history", "crates/kube", "crates/render", "crates/restore", "crates/scheduler", "crates/store", "crates/testing"];

/// What stands between backticks.
static CODE_SPAN: LazyLock<Regex> = LazyLock::new(|| Regex::new("`[^`]*`").unwrap());

/// The first sign in a text, if there is one.
fn sign(signs: &[Regex], sound: &Regex, text: &str) -> Option<String> {
    let rest = sound.replace_all(text, "");
    signs.iter().find_map(|sign| sign.find(&rest).map(|found| found.as_str().trim().to_owned()))
}

fn signs() -> (Vec<Regex>, Regex) {
    (REWRITE_SIGNS.iter().map(|sign| Regex::new(sign).unwrap()).collect(), Regex::new(SOUND_PHRASES).unwrap())
}

/// Files of the project with an extension, without what is built or fetched.
pub(super) fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() {
            if !name.starts_with('.') && !["target", "dist", "corpus", "artifacts", "node_modules"].contains(&&*name) {
                files(&path, extension, found);
            }
        } else if path.extension().is_some_and(|of| of == extension) {
            found.push(path);
        }
    }
}

/// The sources in a directory, of which there must be some.
fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&root().join(folder), "rs", &mut found);
    assert!(!found.is_empty(), "there are no sources in {folder}");
    found
}

/// The lines of a page that are text, with their numbers; code and what stands before a skill is left out, and what is between backticks is replaced by `x`.
fn text_of(page: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut fenced = false;
    let front = page.strip_prefix("---\n").and_then(|rest| rest.find("\n---\n")).map_or(0, |end| page[..end].lines().count() + 2);
    for (number, line) in page.lines().enumerate().skip(front) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !line.starts_with("<!--") {
            lines.push((number + 1, CODE_SPAN.replace_all(line, "x").into_owned()));
        }
    }
    lines
}

#[test]
fn markdown_has_no_sign_of_a_sentence_to_write_anew() {
    let (signs, sound) = signs();
    let (mut pages, mut problems) = (Vec::new(), Vec::new());
    files(root(), "md", &mut pages);
    assert!(pages.len() > 40, "only {} pages were found", pages.len());
    for page in pages {
        for (number, line) in text_of(&fs::read_to_string(&page).unwrap()) {
            let line = line.trim_start_matches(['-', '*', ' ', '|']);
            problems.extend(sign(&signs, &sound, line).map(|sign| format!("{}:{number}: {sign:?}", page.display())));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_line_of_markdown_ends_with_its_sentence() {
    let item = Regex::new(r"^\s*(?:[-*]|\d+\.) ").unwrap();
    let (mut pages, mut problems) = (Vec::new(), Vec::new());
    files(root(), "md", &mut pages);
    for page in pages {
        let text = text_of(&fs::read_to_string(&page).unwrap());
        for pair in text.windows(2) {
            let [(number, line), (next_number, next)] = pair else { continue };
            let is_text = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with(['|', '#', '<']);
            let ends = line.trim_end_matches([' ', '*', ')']).ends_with(['.', '!', '?', ':', ';']);
            if is_text(line) && is_text(next) && *next_number == number + 1 && !item.is_match(next) && !ends {
                problems.push(format!("{}:{number}: the line is broken within a sentence", page.display()));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn help_has_no_sign_of_a_sentence_to_write_anew() {
    let (signs, sound) = signs();
    let mut problems = Vec::new();
    let mut command = ketcd::command().disable_help_subcommand(true);
    command.build();
    let mut look = |of: &CommandLine| {
        let says = |arg: &Arg| arg.get_long_help().or(arg.get_help()).map(|help| (arg.get_id().to_string(), help.to_string()));
        let about = of.get_long_about().or(of.get_about()).map(|about| ("about".to_owned(), about.to_string()));
        for (what, text) in about.into_iter().chain(of.get_arguments().filter_map(says)) {
            problems.extend(sign(&signs, &sound, &text.replace('\n', " ")).map(|sign| format!("{} {what}: {sign:?}", of.get_name())));
        }
    };
    look(&command);
    command.get_subcommands().for_each(&mut look);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn comments_have_no_sign_of_a_sentence_to_write_anew() {
    let begins = Regex::new(r"^\s*//[/!]? (?:So many|So long|Of )").unwrap();
    let mut problems = Vec::new();
    for folder in COMMENT_FOLDERS {
        for source in sources(folder) {
            let text = fs::read_to_string(&source).unwrap();
            let lines = text.lines().enumerate().filter(|(_, line)| begins.is_match(line));
            problems.extend(lines.map(|(number, line)| format!("{}:{}: {}", source.display(), number + 1, line.trim())));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn comments_of_most_libraries_have_no_sign_at_all() {
    let (signs, sound) = signs();
    let mut problems = Vec::new();
    let comment = Regex::new(r"^\s*//[/!]? (.*)").unwrap();
    for source in SOUND_COMMENTS.iter().flat_map(|folder| sources(folder)) {
        for (number, line) in fs::read_to_string(&source).unwrap().lines().enumerate() {
            let Some(comment) = comment.captures(line) else { continue };
            let found = sign(&signs, &sound, &CODE_SPAN.replace_all(&comment[1], "x"));
            problems.extend(found.map(|sign| format!("{}:{}: {sign:?}", source.display(), number + 1)));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn signs_are_found_and_sound_sentences_are_not() {
    let (signs, sound) = signs();
    for text in ["Of a file this is read.", "It ends. So many are made.", "this is no revision", "whoever asks", "a log beside it"] {
        assert!(sign(&signs, &sound, text).is_some(), "{text}");
    }
    for text in ["There is no leader.", "The pod is no longer there.", "Some of the files are read.", "It costs so many bytes."] {
        assert_eq!(sign(&signs, &sound, text), None, "{text}");
    }
}
