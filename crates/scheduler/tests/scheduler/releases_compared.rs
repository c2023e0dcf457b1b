//! Holds comparisons with a release to `release/`, whose rules name every difference between two of them.

#![allow(clippy::disallowed_methods, reason = "the test reads the source files")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::Item;

/// The mentions of a release in code that is not a test: `release.0`, `Release(30)`, and `release` or `minor` compared with a number.
fn compared(items: &[Item]) -> usize {
    let is_test = |item: &Item| matches!(item, Item::Mod(item) if item.attrs.iter().any(|attribute| attribute.path().is_ident("cfg")));
    items.iter().filter(|item| !is_test(item)).map(|item| in_tokens(item.to_token_stream())).sum()
}

fn in_tokens(tokens: TokenStream) -> usize {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    let mut count = 0;
    for (at, token) in all.iter().enumerate() {
        count += match token {
            TokenTree::Group(group) => in_tokens(group.stream()),
            TokenTree::Ident(ident) if ident == "release" || ident == "minor" => usize::from(is_compared(&all[at + 1..])),
            TokenTree::Ident(ident) if ident == "Release" => usize::from(is_made(&all[at + 1..])),
            _ => 0,
        };
    }
    count
}

fn is_made(rest: &[TokenTree]) -> bool {
    let Some(TokenTree::Group(group)) = rest.first() else { return false };
    matches!(group.stream().into_iter().next(), Some(TokenTree::Literal(_)))
}

/// Whether `.0` follows, or a comparison with a number.
fn is_compared(rest: &[TokenTree]) -> bool {
    let operator: String =
        rest.iter().map_while(|token| if let TokenTree::Punct(punct) = token { Some(punct.as_char()) } else { None }).collect();
    let number = matches!(rest.get(operator.len()), Some(TokenTree::Literal(_)));
    number && matches!(operator.as_str(), "." | "<" | ">" | "<=" | ">=" | "==" | "!=")
}

fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn only_release_compares_releases() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    files(&root, &mut found);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for path in found {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        if name.contains("tests") || name.starts_with("release/") {
            continue;
        }
        let file = syn::parse_file(&fs::read_to_string(&path).unwrap()).unwrap();
        counts.insert(name, compared(&file.items));
    }
    assert!(counts.len() > 200, "only {} files were read", counts.len());
    counts.retain(|_, count| *count > 0);
    assert_eq!(counts, BTreeMap::new(), "comparisons by file");
}

#[test]
fn each_form_of_a_comparison_is_seen() {
    let count = |body: &str| compared(&syn::parse_file(&format!("fn f() {{ {body} }}")).unwrap().items);
    let seen = [
        "release.0 >= 30",
        "g(release.0)",
        "cycle.profile.release.0",
        "minor <= 9",
        "rules.release == 26",
        "a(Release(30))",
        "m!(release.0)",
    ];
    for body in seen {
        assert_eq!(count(body), 1, "{body}");
    }
    for body in ["release.rules", "applied_release(release)", "Release(minor)", "release < newest", "let minor = 3;"] {
        assert_eq!(count(body), 0, "{body}");
    }
}
