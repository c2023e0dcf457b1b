//! No circle of files: where one file uses another, that one does not use the first, by whatever way.
//!
//! Paths are followed through `use` to the file that defines what they name; a file that calls a method which another file adds to a type uses
//! that file. Tests inside a file do not count.

use std::collections::{BTreeMap, BTreeSet};

use ketcd_testing::layers::{Seen, SourceFile, Used};

use super::files;

/// A folder whose files are in order.
struct Room {
    /// The sources of its crate.
    sources: &'static str,
    /// The folder below them; empty for the whole crate.
    folder: &'static str,
    /// The circles it may have, each with its files in order: a type and its parser, or methods of it in a file of their own.
    circles: &'static [&'static [&'static str]],
}

/// The folders that are held to it.
const CHECKED_ROOMS: &[Room] = &[
    Room {
        sources: "crates/store/src",
        folder: "etcd/",
        circles: &[&["etcd/connector.rs", "etcd/probe.rs"], &["etcd/watch/reconnect.rs", "etcd/watch/stream.rs"]],
    },
    Room {
        sources: "crates/store/src",
        folder: "recording/",
        circles: &[&["recording/file.rs", "recording/segment.rs"], &["recording/recorder/mod.rs", "recording/recorder/states.rs"]],
    },
    Room { sources: "crates/store/src", folder: "load/", circles: &[&["load/bolt/database.rs", "load/bolt/live.rs"]] },
    Room { sources: "crates/cluster/src", folder: "", circles: &[] },
    Room { sources: "crates/what-if/src", folder: "", circles: &[] },
    Room { sources: "crates/redact/src", folder: "", circles: &[] },
    Room { sources: "crates/python/src", folder: "", circles: &[] },
    Room {
        sources: "crates/scheduler/src",
        folder: "cluster/",
        circles: &[&["cluster/pod/request_sums.rs", "cluster/pod/resize.rs"], &["cluster/state.rs", "cluster/undo.rs"]],
    },
    Room { sources: "crates/scheduler/src", folder: "config/", circles: &[] },
    Room { sources: "crates/serve/src", folder: "", circles: &[] },
    Room { sources: "crates/api-server/src", folder: "", circles: &[] },
    Room { sources: "src", folder: "cli/", circles: &[] },
];

#[test]
fn no_circle_is_larger_than_a_type_and_its_parser() {
    let mut faults = String::new();
    for Room { sources: folder_of_crate, folder, circles: allowed } in CHECKED_ROOMS {
        let files = files(folder_of_crate);
        let found = files.circles(folder);
        if found != *allowed {
            faults.push_str(&format!(
                "\n{folder_of_crate}/{folder} has {found:?}, where {allowed:?} are allowed:{}",
                files.arrows_of(&found)
            ));
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

type Module = Vec<String>;

/// The files of a crate and which others each uses.
pub(super) struct Files {
    uses: BTreeMap<String, BTreeSet<String>>,
}

impl Files {
    pub(super) fn new(sources: Vec<SourceFile>) -> Self {
        let no_names = BTreeMap::new();
        let seen: Vec<(String, Module, Seen<'_>)> = sources
            .iter()
            .map(|source| {
                let module = if matches!(&*source.name, "lib.rs" | "main.rs") { Vec::new() } else { source.module.clone() };
                (source.name.clone(), module, source.seen_without_tests(&no_names))
            })
            .collect();
        let names = Names::new(&seen);
        let lent = lent(&seen);
        let uses = seen.iter().map(|(file, module, seen)| {
            let own = |within: &Module| if module.is_empty() { Vec::new() } else { within.clone() };
            let by_path = seen.paths.iter().filter_map(|(within, path)| names.file(&own(within), path, 0));
            let by_call = seen.calls.iter().filter_map(|method| lent.get(method).cloned());
            (file.clone(), by_path.chain(by_call).filter(|used| used != file).collect())
        });
        Self { uses: uses.collect() }
    }

    /// The names of the files.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.uses.keys().map(String::as_str)
    }

    /// The files that a file uses itself.
    pub(super) fn used(&self, file: &str) -> impl Iterator<Item = &str> {
        self.uses[file].iter().map(String::as_str)
    }

    /// All that a file uses, by whatever way.
    pub(super) fn reach<'a>(&'a self, file: &'a str) -> BTreeSet<&'a str> {
        let (mut reached, mut next) = (BTreeSet::new(), vec![file]);
        while let Some(file) = next.pop() {
            next.extend(self.uses.get(file).into_iter().flatten().map(String::as_str).filter(|used| reached.insert(*used)));
        }
        reached
    }

    /// Each file of some circles with those that it uses in its own.
    fn arrows_of(&self, circles: &[Vec<&str>]) -> String {
        let line = |circle: &[&str], file: &str| {
            let used: Vec<&str> = self.uses[file].iter().map(String::as_str).filter(|used| circle.contains(used)).collect();
            format!("\n{file} uses {}", used.join(", "))
        };
        circles.iter().flat_map(|circle| circle.iter().map(move |file| line(circle, file))).collect()
    }

    /// The circles with two or more files of a folder.
    fn circles(&self, folder: &str) -> Vec<Vec<&str>> {
        let reach: BTreeMap<&str, BTreeSet<&str>> = self.uses.keys().map(|file| (&**file, self.reach(file))).collect();
        let mut circles: BTreeSet<Vec<&str>> = BTreeSet::new();
        for file in reach.keys().filter(|file| file.starts_with(folder) && reach[*file].contains(*file)) {
            let circle: Vec<&str> = reach[file].iter().copied().filter(|other| reach[other].contains(file)).collect();
            if circle.iter().filter(|file| file.starts_with(folder)).count() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }
}

/// The names of a crate's modules.
struct Names<'s> {
    /// The file that each module is in.
    files: BTreeMap<Module, &'s str>,
    /// What is brought into each module.
    brought: BTreeMap<Module, Vec<&'s Used>>,
    /// The types that each file defines.
    types: BTreeMap<&'s str, &'s BTreeSet<String>>,
}

impl<'s> Names<'s> {
    fn new(seen: &'s [(String, Module, Seen<'_>)]) -> Self {
        let (mut files, mut brought, mut types) = (BTreeMap::new(), BTreeMap::<Module, Vec<&Used>>::new(), BTreeMap::new());
        for (file, module, seen) in seen {
            files.insert(module.clone(), &**file);
            types.insert(&**file, &seen.types);
            files.extend(seen.modules.iter().map(|inner| (inner.clone(), &**file)));
            for (within, used) in &seen.brought {
                let within = if module.is_empty() { Vec::new() } else { within.clone() };
                brought.entry(within).or_default().push(used);
            }
        }
        Self { files, brought, types }
    }

    /// The file that defines what a path in a module names; `None` where another crate does.
    fn file(&self, module: &[String], path: &[String], depth: usize) -> Option<String> {
        /// A name is brought in through no more modules.
        const MAX_IMPORT_DEPTH: usize = 8;
        let (first, rest) = path.split_first().filter(|_| depth < MAX_IMPORT_DEPTH)?;
        let mut at = match first.as_str() {
            "crate" => Vec::new(),
            "self" => module.to_vec(),
            "super" => module[..module.len().saturating_sub(1)].to_vec(),
            name => {
                let child = [module, std::slice::from_ref(first)].concat();
                if !self.files.contains_key(&child) {
                    let used = self.brought.get(module)?.iter().find(|used| used.name == name && used.path != path)?;
                    return self.file(module, &[&used.path, rest].concat(), depth + 1);
                }
                child
            }
        };
        let mut rest = rest;
        while let [next, more @ ..] = rest {
            let child = [&at[..], std::slice::from_ref(next)].concat();
            match next.as_str() {
                "super" => drop(at.pop()),
                "self" => {}
                _ if self.files.contains_key(&child) => at = child,
                _ => break,
            }
            rest = more;
        }
        let own = (*self.files.get(&at)?).to_owned();
        let Some(name) = rest.first() else { return Some(own) };
        for used in self.brought.get(&at).into_iter().flatten() {
            if used.name == *name {
                // A name of another crate has no file here.
                return self.file(&at, &[&used.path, &rest[1..]].concat(), depth + 1);
            }
            let of_all = if used.name == "*" { self.file(&at, &[&used.path, rest].concat(), depth + 1) } else { None };
            let of_all = of_all.filter(|file| self.types.get(&**file).is_some_and(|types| types.contains(name)));
            if of_all.is_some() {
                return of_all;
            }
        }
        Some(own)
    }
}

/// The methods that only one file has, for a type of another one.
fn lent(seen: &[(String, Module, Seen<'_>)]) -> BTreeMap<String, String> {
    let mut lent = BTreeMap::new();
    for (file, _, own) in seen {
        for (of, method) in own.methods.iter().filter(|(of, method)| !own.types.contains(of) && own.open_methods.contains(method)) {
            let is_of_the_crate = seen.iter().any(|(_, _, other)| other.types.contains(of));
            let is_only_here = seen.iter().all(|(other, _, seen)| other == file || !seen.defines.contains(method));
            if is_of_the_crate && is_only_here {
                lent.insert(method.clone(), file.clone());
            }
        }
    }
    lent
}

/// The circles of a crate whose `a.rs` and `b.rs` hold these texts.
fn circles(a: &str, b: &str) -> usize {
    let root = "mod a;\nmod b;\npub use a::A;\npub use b::{B as Bee};";
    let files = [("lib.rs", root), ("a.rs", a), ("b.rs", b)].map(|(name, text)| SourceFile::new(name, text));
    Files::new(files.into()).circles("").len()
}

#[test]
fn a_planted_circle_of_each_form_is_found() {
    let to_b = [
        "use crate::b::B;",
        "use crate::Bee;",
        "use super::b;",
        "use super::{b::B as X};",
        "fn f() { crate::b::g(); }",
        "fn f() { println!(\"{}\", crate::b::NAME); }",
        "mod x { use super::super::b::B; }",
        "mod x { fn f(_: crate::Bee) {} }",
        "fn f(a: &A) { a.climb(); }",
    ];
    for text in to_b {
        let b = "pub struct B;\nuse crate::A;\nimpl A { pub fn climb(&self) {} }\npub fn g() {}";
        assert_eq!(circles(&format!("pub struct A;\n{text}"), b), 1, "{text}");
        assert_eq!(circles(&format!("pub struct A;\n{text}"), "pub struct B;\npub fn g() {}"), 0, "{text}");
        assert_eq!(circles(&format!("pub struct A;\n#[cfg(test)]\nmod tests {{\n{text}\n}}"), b), 0, "{text}");
    }
}
