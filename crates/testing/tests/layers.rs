//! Violations of the order of a crate's modules are found in whatever form they are written, and nothing else is taken for one.

#![cfg(feature = "layers")]

use std::collections::BTreeMap;

use ketcd_testing::layers::{Crate, SourceFile};

/// The faults of a crate of two layers, `low` and `high`, one of whose files holds `text`.
fn faults(file: &str, text: &str) -> Vec<String> {
    let mut files = BTreeMap::from([
        ("lib.rs", "mod low;\nmod high;\npub use high::{Tall, deep::Deep as Deeper};\npub use low::Base;"),
        ("low/mod.rs", "pub mod inner;\npub struct Base;"),
        ("low/inner.rs", ""),
        ("high/mod.rs", "pub mod deep;\nuse crate::low::Base;\npub struct Tall;\nimpl Base { pub fn climb(&self) {} }"),
        ("high/deep.rs", "pub struct Deep;"),
    ]);
    files.insert(file, text);
    let sources = files.into_iter().map(|(name, text)| SourceFile::new(name, text)).collect();
    Crate::new(sources).faults(&["low", "high"])
}

#[test]
fn a_planted_violation_of_each_form_is_caught() {
    let planted = [
        ("low/mod.rs", "use crate::high::Tall;"),
        ("low/mod.rs", "use crate::{low::inner, high::Tall};"),
        ("low/mod.rs", "use crate::high;"),
        ("low/mod.rs", "use crate::high as below;"),
        ("low/mod.rs", "use crate::Tall;"),
        ("low/mod.rs", "use crate::Deeper as Flat;"),
        ("low/mod.rs", "use super::high::Tall;"),
        ("low/mod.rs", "use super::{inner as x, high};"),
        ("low/mod.rs", "use self::super::high::Tall;"),
        ("low/mod.rs", "use super::*;"),
        ("low/mod.rs", "use crate::*;"),
        ("low/mod.rs", "use crate as root;"),
        ("low/mod.rs", "use crate::{self as root};"),
        ("low/inner.rs", "use super::super::high::deep::Deep;"),
        ("low/inner.rs", "use super::super as root;"),
        ("low/inner.rs", "fn f(_: crate::high::Tall) {}"),
        ("low/inner.rs", "fn f() { super::super::high::deep::g(); }"),
        ("low/inner.rs", "fn f() { println!(\"{}\", crate::high::NAME); }"),
        ("low/inner.rs", "macro_rules! m { () => { $crate::high::NAME }; }"),
        ("low/inner.rs", "mod x { use super::super::super::high; }"),
        ("low/inner.rs", "mod x { fn f() { use crate::high::Tall; } }"),
        ("low/inner.rs", "impl crate::high::Trait for X {}"),
        ("low/inner.rs", "extern crate self as root;"),
        ("low/inner.rs", "#[path = \"../high/deep.rs\"] mod deep;"),
        ("low/inner.rs", "include!(\"../high/deep.rs\");"),
        ("low/inner.rs", "fn f(base: &super::Base) { base.climb(); }"),
        ("low/inner.rs", "use crate::unknown::X;"),
        ("third.rs", "struct X;"),
    ];
    for (file, text) in planted {
        assert!(!faults(file, text).is_empty(), "{file}: {text}");
    }
}

#[test]
fn arrows_downwards_are_no_faults() {
    let clean = [
        (
            "high/deep.rs",
            "use crate::low::{Base, inner};\nuse super::super::low;\nfn f(base: &Base) { base.climb(); self::g(); }\nfn g() {}",
        ),
        (
            "low/inner.rs",
            "use super::Base;\nuse crate::Base as Own;\nmod x { use super::super::Base; }\nfn f() { super::inner::g(); }\nfn g() {}",
        ),
        ("low/mod.rs", "pub mod inner;\npub struct Base;\nimpl Base { fn own(&self) { self.own() } }\n// crate::high is only mentioned"),
    ];
    for (file, text) in clean {
        assert_eq!(faults(file, text), Vec::<String>::new(), "{file}: {text}");
    }
}
