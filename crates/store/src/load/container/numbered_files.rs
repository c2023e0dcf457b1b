//! Keys and values as numbered pairs of files, `0.key` and `0.data` and so on, as `microk8s dbctl backup` writes them (k8s-dqlite 05f2aa5,
//! `pkg/migrator`): the state of one moment, without revisions.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::super::key_files::Keys;
use super::super::options::Reading;
use super::super::problem::LoadProblem;
use super::entry::Body;
use super::gather::Found;

#[derive(Default)]
struct NumberedPair {
    key: Option<usize>,
    value: Option<usize>,
}

/// The keys, if these are a backup of them, and the places of their files.
///
/// # Errors
///
/// A file cannot be read.
pub(super) fn keys(found: &[Found], reading: &Reading<'_>) -> Result<Option<(Keys, Vec<usize>)>, LoadProblem> {
    let Some(pairs) = pairs(found, reading)? else { return Ok(None) };
    let (mut keys, mut read) = (Keys::default(), Vec::with_capacity(2 * pairs.len()));
    let whole = pairs.last_key_value().map_or(0, |(&last, _)| last.saturating_add(1));
    let missing = whole - pairs.len() as u64;
    if missing > 0 {
        let first = (0..).zip(pairs.keys()).find(|(wanted, number)| wanted != *number).map_or(0, |(wanted, _)| wanted);
        keys.damage.push(format!("{missing} of its {whole} keys are missing, the first of them {first}.key"));
    }
    for (number, pair) in pairs {
        match (pair.key, pair.value) {
            (Some(key), Some(value)) => {
                keys.pairs.push((stored(&found[key], reading)?, stored(&found[value], reading)?));
                read.extend([key, value]);
            }
            (Some(_), None) => keys.damage.push(format!("{number}.data is missing, so the key of {number}.key is left out")),
            _ => keys.damage.push(format!("{number}.key is missing, so the value of {number}.data is left out")),
        }
    }
    Ok(Some((keys, read)))
}

/// The pairs by their numbers, where there is a key of Kubernetes among them; all are in one folder.
fn pairs(found: &[Found], reading: &Reading<'_>) -> Result<Option<BTreeMap<u64, NumberedPair>>, LoadProblem> {
    let numbered = |found: &Found| {
        let (number, kind) = found.entry.file_name().split_once('.').filter(|(_, kind)| matches!(*kind, "key" | "data"))?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit()) && (number == "0" || !number.starts_with('0'));
        Some((number.parse::<u64>().ok().filter(|_| is_number)?, kind == "key"))
    };
    let Some(first) = found.iter().find(|found| numbered(found).is_some_and(|(_, is_key)| is_key)) else { return Ok(None) };
    if !stored(first, reading)?.starts_with(b"/") {
        return Ok(None);
    }
    let mut pairs: BTreeMap<u64, NumberedPair> = BTreeMap::new();
    for (place, found) in found.iter().enumerate().filter(|(_, found)| found.entry.folder() == first.entry.folder()) {
        if let Some((number, is_key)) = numbered(found) {
            let pair = pairs.entry(number).or_default();
            *(if is_key { &mut pair.key } else { &mut pair.value }) = Some(place);
        }
    }
    Ok(Some(pairs))
}

/// The bytes of a file as they were stored, compressed or not, where they lie so.
fn stored(found: &Found, reading: &Reading<'_>) -> Result<Bytes, LoadProblem> {
    match &found.entry.body {
        Body::Bytes(bytes) => Ok(bytes.clone()),
        _ => Ok(found.entry.image(reading)?.bytes),
    }
}
