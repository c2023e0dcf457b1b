//! What each source file of a crate uses and defines, and the order in which the modules of its root may use each other.
//!
//! Every source file is parsed, and every path that starts with `crate`, `self` or `super` is resolved to a module of the crate's root, names
//! that `lib.rs` re-exports included. Methods that a layer adds to a type of a lower one may not be called from below.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path as FilePath;

use syn::visit::{self, Visit};
use syn::{Attribute, ExprMethodCall, Item, ItemExternCrate, ItemImpl, ItemMod, ItemUse, Macro, Path, Type, UseTree, VisRestricted};

/// A source file: its name below `src` and what it holds.
pub struct SourceFile {
    /// Its path below `src`.
    pub name: String,
    /// Its module's path from the crate's root.
    pub module: Vec<String>,
    file: syn::File,
}

impl SourceFile {
    /// Parses a file.
    ///
    /// # Panics
    /// It is not Rust.
    pub fn new(name: &str, text: &str) -> Self {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut module: Vec<String> = name.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        module.pop_if(|last| last == "mod");
        Self { name: name.to_owned(), module, file }
    }

    /// Returns what it uses and defines outside its tests.
    pub fn seen_without_tests<'c>(&self, names: &'c BTreeMap<String, String>) -> Seen<'c> {
        let mut seen = Seen { module: self.module.clone(), skips_tests: true, ..Seen::new(names) };
        seen.visit_file(&self.file);
        seen
    }

    fn layer(&self) -> &str {
        &self.module[0]
    }
}

/// A crate.
pub struct Crate {
    sources: Vec<SourceFile>,
    modules: BTreeSet<String>,
    /// The root's modules, and by each name the root re-exports the module it is from.
    names: BTreeMap<String, String>,
}

impl Crate {
    /// Takes the files of a crate, `lib.rs` among them.
    pub fn new(mut sources: Vec<SourceFile>) -> Self {
        let at = sources.iter().position(|source| source.name == "lib.rs").expect("lib.rs");
        let root = sources.remove(at);
        let (mut names, mut modules) = (BTreeMap::new(), BTreeSet::new());
        for item in &root.file.items {
            match item {
                Item::Mod(module) => {
                    names.insert(module.ident.to_string(), module.ident.to_string());
                    modules.insert(module.ident.to_string());
                }
                Item::Use(item) => {
                    for used in leaves(&item.tree) {
                        names.insert(used.name.clone(), used.path[0].clone());
                    }
                }
                _ => {}
            }
        }
        Self { sources, modules, names }
    }

    /// Returns the violations of an order of all modules of the root, one sentence each: each may use only those listed before it.
    pub fn faults(&self, layers: &[&str]) -> Vec<String> {
        let rank = |layer: &str| layers.iter().position(|known| *known == layer);
        let mut faults = BTreeSet::new();
        let seen: Vec<(&SourceFile, Seen)> = self.sources.iter().map(|source| (source, self.seen(source))).collect();
        let lent = lent(&seen, &rank);
        for (source, seen) in &seen {
            let Some(own) = rank(source.layer()) else {
                faults.insert(format!("{}: {} is not among the layers", source.name, source.layer()));
                continue;
            };
            faults.extend(seen.faults.iter().map(|fault| format!("{}: {fault}", source.name)));
            for used in &seen.uses {
                match rank(used) {
                    // A name of another crate that the root re-exports.
                    None if !self.modules.contains(used) => {}
                    Some(rank) if rank <= own => {}
                    _ => drop(faults.insert(format!("{}: {} uses {used}, which is not below it", source.name, source.layer()))),
                }
            }
            for (method, lender) in &lent {
                if seen.calls.contains(method) && *lender > own {
                    faults.insert(format!("{}: {method}() is a method that {} adds", source.name, layers[*lender]));
                }
            }
        }
        faults.into_iter().collect()
    }

    fn seen(&self, source: &SourceFile) -> Seen<'_> {
        let mut seen = Seen { names: &self.names, module: source.module.clone(), ..Seen::new(&self.names) };
        seen.visit_file(&source.file);
        seen
    }
}

/// Parses the source files below a folder.
///
/// # Panics
/// One cannot be read, or is not Rust.
pub fn sources(folder: &FilePath) -> Vec<SourceFile> {
    texts(folder).iter().map(|(name, text)| SourceFile::new(name, text)).collect()
}

/// Reads the source files below a folder: the name and the text of each.
///
/// # Panics
/// One cannot be read.
pub fn texts(folder: &FilePath) -> Vec<(String, String)> {
    let mut found = Vec::new();
    read(folder, folder, &mut found);
    found
}

fn read(folder: &FilePath, root: &FilePath, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, root, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The methods that a layer adds to a type of a lower one, unless the lower layers have one of that name as well.
fn lent(seen: &[(&SourceFile, Seen)], rank: &dyn Fn(&str) -> Option<usize>) -> BTreeMap<String, usize> {
    let ranked = || seen.iter().filter_map(|(source, seen)| Some((rank(source.layer())?, seen)));
    // Among types of one name, a layer's own is meant, then the highest below it.
    let home =
        |name: &String, own: usize| ranked().filter(|(rank, seen)| *rank <= own && seen.types.contains(name)).map(|(rank, _)| rank).max();
    let mut lent = BTreeMap::new();
    for (own, seen) in ranked() {
        for (of, method) in &seen.methods {
            if home(of, own).is_some_and(|home| home < own) {
                lent.insert(method.clone(), own);
            }
        }
    }
    lent.retain(|method, own| !ranked().any(|(rank, seen)| rank < *own && seen.defines.contains(method)));
    lent
}

/// What one file uses and defines.
pub struct Seen<'c> {
    names: &'c BTreeMap<String, String>,
    module: Vec<String>,
    skips_tests: bool,
    uses: BTreeSet<String>,
    /// All paths, each with the module it is in.
    pub paths: Vec<(Vec<String>, Vec<String>)>,
    /// What `use` brings in, with the module that it is brought into; `*` is all.
    pub brought: Vec<(Vec<String>, Used)>,
    /// Methods that are called.
    pub calls: BTreeSet<String>,
    /// Methods of inherent implementations, each with the type's name.
    pub methods: Vec<(String, String)>,
    /// Those of them that other files may call.
    pub open_methods: BTreeSet<String>,
    /// Modules whose text is in the file.
    pub modules: Vec<Vec<String>>,
    /// The names of its items.
    pub defines: BTreeSet<String>,
    /// The names of its types.
    pub types: BTreeSet<String>,
    faults: Vec<String>,
}

impl<'c> Seen<'c> {
    fn new(names: &'c BTreeMap<String, String>) -> Self {
        Self {
            names,
            module: Vec::new(),
            skips_tests: false,
            uses: BTreeSet::new(),
            paths: Vec::new(),
            brought: Vec::new(),
            calls: BTreeSet::new(),
            methods: Vec::new(),
            open_methods: BTreeSet::new(),
            modules: Vec::new(),
            defines: BTreeSet::new(),
            types: BTreeSet::new(),
            faults: Vec::new(),
        }
    }

    /// Resolves a path that starts with `crate`, `self` or `super`.
    fn resolve(&mut self, path: &[String]) {
        self.paths.push((self.module.clone(), path.to_vec()));
        let mut at = match path.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("self" | "super") => self.module.clone(),
            _ => return,
        };
        let mut rest = path;
        while let [first, more @ ..] = rest {
            match first.as_str() {
                "crate" | "self" => {}
                "super" => drop(at.pop()),
                _ => break,
            }
            rest = more;
        }
        match (at.first(), rest.first()) {
            (Some(layer), _) => drop(self.uses.insert(layer.clone())),
            (None, Some(name)) => match self.names.get(name) {
                Some(layer) => drop(self.uses.insert(layer.clone())),
                None => self.faults.push(format!("{} is not known to the root", path.join("::"))),
            },
            (None, None) => self.faults.push(format!("{} is the root itself", path.join("::"))),
        }
    }

    fn tokens(&mut self, tokens: proc_macro2::TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut open = false;
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Ident(ident) if path.is_empty() || open => {
                    path.push(ident.to_string());
                    open = false;
                }
                proc_macro2::TokenTree::Punct(punct) if punct.as_char() == ':' => open = !path.is_empty(),
                other => {
                    self.path_of_macro(&std::mem::take(&mut path));
                    open = false;
                    match other {
                        proc_macro2::TokenTree::Ident(ident) => path.push(ident.to_string()),
                        proc_macro2::TokenTree::Group(group) => self.tokens(group.stream()),
                        _ => {}
                    }
                }
            }
        }
        self.path_of_macro(&path);
    }

    fn path_of_macro(&mut self, path: &[String]) {
        if path.len() > 1 {
            self.resolve(path);
        }
    }
}

impl<'ast> Visit<'ast> for Seen<'_> {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        for used in leaves(&item.tree) {
            self.resolve(&used.path);
            self.brought.push((self.module.clone(), used));
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1 {
            self.resolve(&names);
            self.calls.extend(names.last().cloned());
        }
        visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.calls.insert(call.method.to_string());
        visit::visit_expr_method_call(self, call);
    }

    fn visit_item(&mut self, item: &'ast Item) {
        if self.skips_tests && is_test(item) {
            return;
        }
        match item {
            Item::Struct(item) => drop(self.types.insert(item.ident.to_string())),
            Item::Enum(item) => drop(self.types.insert(item.ident.to_string())),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let name = match &*item.self_ty {
            Type::Path(path) if item.trait_.is_none() => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        };
        for function in &item.items {
            let syn::ImplItem::Fn(function) = function else { continue };
            let method = function.sig.ident.to_string();
            self.defines.insert(method.clone());
            if !matches!(function.vis, syn::Visibility::Inherited) {
                self.open_methods.insert(method.clone());
            }
            self.methods.extend(name.clone().map(|name| (name, method)));
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.module.push(item.ident.to_string());
        if item.content.is_some() {
            self.modules.push(self.module.clone());
        }
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_extern_crate(&mut self, item: &'ast ItemExternCrate) {
        self.faults.push(format!("extern crate {}", item.ident));
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if attribute.path().is_ident("path") {
            self.faults.push("#[path] hides whose file it is".to_owned());
        }
        visit::visit_attribute(self, attribute);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        if item.path.is_ident("include") {
            self.faults.push("include! hides whose file it is".to_owned());
        }
        self.tokens(item.tokens.clone());
    }

    /// `pub(in crate::x)` uses nothing.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}
}

/// Whether an item is compiled for tests only.
fn is_test(item: &Item) -> bool {
    let attributes = match item {
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => return false,
    };
    let is_test = |attribute: &Attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "test")
    };
    attributes.iter().any(is_test)
}

/// A name that a `use` brings in.
pub struct Used {
    /// The path, without the name.
    pub path: Vec<String>,
    /// The name that it is brought in under; `*` is all.
    pub name: String,
}

fn leaves(tree: &UseTree) -> Vec<Used> {
    let within = |first: &str, used: Used| Used { path: [vec![first.to_owned()], used.path].concat(), name: used.name };
    match tree {
        UseTree::Path(path) => leaves(&path.tree).into_iter().map(|used| within(&path.ident.to_string(), used)).collect(),
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
        UseTree::Name(name) => vec![Used { path: vec![name.ident.to_string()], name: name.ident.to_string() }],
        UseTree::Rename(name) => vec![Used { path: vec![name.ident.to_string()], name: name.rename.to_string() }],
        UseTree::Glob(_) => vec![Used { path: Vec::new(), name: "*".to_owned() }],
    }
}
