//! A public type's name means one thing: no library, and no two of them, define it twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::root;

/// What every Rust library calls so.
const IDIOMS: [&str; 3] = ["Error", "Options", "Result"];

/// The paths of the public structs, enums and traits in a listing of docs/api, by name. Shapes of JSON are left out: they are named after what they show.
fn types(listing: &str) -> impl Iterator<Item = (&str, &str)> {
    listing.lines().filter_map(|line| {
        let line = line.trim_start_matches("#[non_exhaustive] ");
        let item = ["pub struct ", "pub enum ", "pub trait "].iter().find_map(|start| line.strip_prefix(start))?;
        let path = item.split(|sign: char| !sign.is_alphanumeric() && sign != '_' && sign != ':').next()?.trim_end_matches(':');
        let is_shape = path.starts_with("ketcd_render::contract::") || path.starts_with("ketcd_render::explanation::");
        let name = path.rsplit("::").next()?;
        (!is_shape && !IDIOMS.contains(&name)).then_some((name, path))
    })
}

/// The names that more than one type has, with the types' paths.
fn ambiguous<'a>(listings: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, path) in listings.flat_map(types) {
        found.entry(name).or_default().insert(path);
    }
    found.retain(|_, paths| paths.len() > 1);
    found
}

#[test]
fn a_name_of_a_public_type_means_one_thing() {
    let folder = fs::read_dir(root().join("docs/api")).unwrap();
    let listings: Vec<String> = folder.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    assert!(listings.iter().map(|listing| types(listing).count()).sum::<usize>() > 300);
    assert_eq!(ambiguous(listings.iter().map(String::as_str)), BTreeMap::new());
}

#[test]
fn a_name_with_two_meanings_is_found() {
    let found =
        ambiguous(["pub struct ketcd_a::Scope", "#[non_exhaustive] pub enum ketcd_b::x::Scope<'a>", "pub enum ketcd_b::Error"].into_iter());
    assert_eq!(found, BTreeMap::from([("Scope", BTreeSet::from(["ketcd_a::Scope", "ketcd_b::x::Scope"]))]));
}
