//! The objects of addresses, one by one, each decoded no further than it is needed: on all cores, in the order of their keys.

use std::future::ready;
use std::pin::pin;
use std::sync::Arc;

use async_stream::try_stream;
use futures_util::{Stream, StreamExt, TryStreamExt};

use super::body::{ReadBody, Row, decoder, decoder_of, fits_stored, kind_of};
use crate::cluster::Cluster;
use crate::cores::in_order_ahead_by;
use crate::error::{Error, Result};
use crate::selection::Selection;
use ketcd_history::Problems;
use ketcd_kube::{
    Address, Body, Decoded, Decoder, FieldSelector, FieldSet, KeyResource, Kind, Kinds, LabelSelector, ObjectPath, RegistryKey,
    UnknownField,
};
use ketcd_store::{At, KeyRange, KeyValue, Want};

/// Fewer values are not worth a thread.
const MIN_DECODED_ON_THREADS: usize = 64;

/// How much of an object is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// The key alone.
    Key,
    /// Its JSON as text.
    Text,
    /// As much of the object as the row of a table shows.
    Row,
    /// The object.
    Object,
}

/// Makes the row of a stored object of a kind, and returns it with the object's unknown fields; `None` where that needs the object.
pub type RowMaker = Arc<dyn Fn(&Kind, &Decoder, &KeyValue) -> Option<(Row, Vec<UnknownField>)> + Send + Sync>;

/// An object on its way to the caller.
pub struct Item<'c> {
    /// Its kind, where it is known.
    pub kind: Option<Arc<Kind>>,
    /// The stored key and value.
    pub entry: KeyValue,
    /// As much of the object as is needed.
    pub body: ReadBody,
    prefix: &'c str,
    /// The kinds by which the key is read, where its kind was not asked for.
    kinds: Option<&'c Kinds>,
}

impl Item<'_> {
    /// Returns what the key says; `None` for keys that belong to no resource.
    pub fn path(&self) -> Option<ObjectPath<'_>> {
        match (self.kinds, &self.kind) {
            (Some(kinds), _) => RegistryKey::parse(self.prefix, &self.entry.key, kinds).object(),
            (None, Some(kind)) => own_key(kind, self.prefix, &self.entry.key),
            (None, None) => None,
        }
    }
}

/// Which keys are asked for.
pub struct KeyFilter<'c> {
    prefix: &'c str,
    /// The kind, where all keys are of one.
    kind: Option<Arc<Kind>>,
    /// The kinds by which that of each key is found, where they differ.
    kinds: Option<&'c Kinds>,
    /// Whether keys that do not belong to an object count.
    counts_others: bool,
    namespace: Option<&'c str>,
}

impl<'c> KeyFilter<'c> {
    /// The keys of an address: below a kind's prefix, a key of another shape is not one of its objects. Without an address, those of all objects (in one
    /// namespace if one is given).
    ///
    /// # Errors
    /// The kinds cannot be read.
    pub async fn of(cluster: &'c Cluster, address: Option<&Address>) -> Result<Self> {
        let (prefix, kind) = (cluster.prefix().await?, address.and_then(Address::kind).cloned());
        let kinds = if kind.is_some() { None } else { Some(cluster.kinds().await?) };
        let namespace = cluster.options.namespace.as_deref().filter(|_| address.is_none());
        Ok(Self { prefix, counts_others: address.is_some() && kind.is_none(), kind, kinds, namespace })
    }

    /// Any key, of the kinds given.
    pub fn any(prefix: &'c str, kinds: &'c Kinds) -> Self {
        Self { prefix, kind: None, kinds: Some(kinds), counts_others: true, namespace: None }
    }

    /// Returns what is stored under a key as an item, not decoded; `None` if the key was not asked for.
    pub fn pick(&self, entry: KeyValue) -> Option<Item<'c>> {
        let mut item = Item { kind: self.kind.clone(), entry, body: ReadBody::None, prefix: self.prefix, kinds: self.kinds };
        let path = item.path();
        let is_asked_for = match path {
            Some(path) => self.namespace.is_none_or(|wanted| path.namespace == Some(wanted)),
            None => self.counts_others,
        };
        if self.kinds.is_some() {
            item.kind = kind_of(path).cloned();
        }
        is_asked_for.then_some(item)
    }
}

/// Reads, filters, decodes.
pub struct Fetch<'c> {
    cluster: &'c Cluster,
    at: At,
    decoder: Decoder,
    /// The same, which reports nothing.
    quiet: Decoder,
    selection: Selection,
    /// What the selectors look at.
    selected_by: FieldSet,
    need: Extent,
    /// What of an object of a kind the row of a table shows, where that is known.
    row_fields: fn(&Kind) -> Option<&'static FieldSet>,
    /// What makes rows, where nothing else of their objects is needed.
    make_row: Option<RowMaker>,
}

impl<'c> Fetch<'c> {
    /// Reads objects that have these labels and fields.
    pub fn new(cluster: &'c Cluster, labels: LabelSelector, fields: FieldSelector, need: Extent) -> Self {
        Self::of(cluster, Selection { labels, fields, ever: false }, need)
    }

    /// Reads objects that are selected.
    pub fn of(cluster: &'c Cluster, selection: Selection, need: Extent) -> Self {
        let (decoder, selected_by) = (decoder(cluster), selection.looks_at());
        let quiet = cluster.decoder.clone();
        let quiet = if cluster.options.show_managed_fields { quiet } else { quiet.without_managed_fields() };
        Self { cluster, at: cluster.at, decoder, quiet, selection, selected_by, need, row_fields: |_| None, make_row: None }
    }

    /// Says what makes the row of an object of a kind, and what of the object other rows show; without it, a row needs the object.
    #[must_use]
    pub fn with_rows(self, make_row: Option<RowMaker>, row_fields: fn(&Kind) -> Option<&'static FieldSet>) -> Self {
        Self { row_fields, make_row, ..self }
    }

    /// Reads at another revision than the one looked at.
    #[must_use]
    pub fn at(self, at: At) -> Self {
        Self { at, ..self }
    }

    /// Whether a selector may leave something out.
    pub fn is_filtered(&self) -> bool {
        !self.selection.takes_all()
    }

    /// Hands each object of an address to `take`, which may end the reading with an error of its own.
    ///
    /// # Errors
    /// The source cannot be read, or `take` ends it.
    pub async fn address<E: From<Error>>(&self, address: &Address, take: &mut dyn FnMut(Item<'c>) -> Result<(), E>) -> Result<(), E> {
        let mut items = pin!(self.items(Some(address), usize::MAX));
        while let Some(item) = items.try_next().await? {
            take(item)?;
        }
        Ok(())
    }

    /// Returns the objects of an address, or every object of every kind (of the one namespace, where one is given): at most `limit`.
    pub fn items(&self, address: Option<&Address>, limit: usize) -> impl Stream<Item = Result<Item<'c>>> + Send {
        try_stream! {
            let asked = KeyFilter::of(self.cluster, address).await?;
            let (key, is_whole) = address.map_or_else(|| (format!("{}/", asked.prefix), false), |address| address.key(asked.prefix));
            let mut ranges = vec![if is_whole { KeyRange::key(key.as_bytes()) } else { KeyRange::prefix(key.as_bytes()) }];
            if is_whole && asked.kind.is_none() {
                // A raw key may be meant as the directory it looks like.
                ranges.push(KeyRange::prefix(format!("{key}/")));
            }
            let mut found = 0;
            for range in ranges {
                let entries = match self.cluster.source.range(range, self.at, self.want()).await.map_err(Error::from) {
                    // The key itself was it.
                    Err(error) if error.refusal().is_some() && found > 0 => break,
                    listing => listing?.entries,
                };
                let mut items = pin!(self.picked(entries, &asked, limit - found));
                while let Some(item) = items.try_next().await? {
                    found += 1;
                    yield item;
                }
            }
        }
    }

    /// Those of `entries` that are asked for and selected. While some are handed over, the next are decoded.
    fn picked<'s>(
        &'s self,
        entries: impl Stream<Item = ketcd_store::Result<KeyValue>> + Send + Unpin + 's,
        asked: &'s KeyFilter<'c>,
        limit: usize,
    ) -> impl Stream<Item = Result<Item<'c>>> + Send + 's {
        let picked =
            entries.map_err(Error::from).try_filter_map(move |entry| ready(Ok(asked.pick(entry).filter(|item| self.selects(item)))));
        let picked = picked.map_ok(|item| (item.kind, item.entry));
        let (decoder, make_row) = (self.quiet.clone(), self.make_row.clone());
        let depth = Decoding { decoder, need: self.need, row_fields: self.row_fields, make_row };
        // Keys alone make nothing.
        let least = if self.need == Extent::Key { usize::MAX } else { MIN_DECODED_ON_THREADS };
        let decode = move |(kind, entry): (Option<Arc<Kind>>, KeyValue)| {
            let (body, problems) = depth.body(kind.as_ref(), &entry);
            (kind, entry, body, problems)
        };
        let bytes = |(_, entry): &(Option<Arc<Kind>>, KeyValue)| entry.value.len();
        in_order_ahead_by(least, picked.take(limit), bytes, decode).map_ok(move |(kind, entry, body, problems)| {
            // Now that it is its turn.
            self.decoder.report(&entry.key, entry.mod_revision.0, &problems);
            Item { kind, entry, body, prefix: asked.prefix, kinds: asked.kinds }
        })
    }

    fn want(&self) -> Want {
        if self.need == Extent::Key && !self.filters_objects() { Want::Keys } else { Want::Values }
    }

    fn filters_objects(&self) -> bool {
        !self.selection.labels.is_empty() || !self.selection.fields.is_decided_by_key()
    }

    fn selects(&self, item: &Item<'_>) -> bool {
        if self.selection.takes_all() {
            return true;
        }
        let path = item.path();
        !path.is_some_and(|path| self.selection.fields.rules_out(path.namespace, path.name))
            && (!self.filters_objects() || fits_stored((&self.selection, &self.selected_by), &self.decoder, path, &item.entry))
    }
}

/// How values are decoded on the way.
struct Decoding {
    decoder: Decoder,
    need: Extent,
    row_fields: fn(&Kind) -> Option<&'static FieldSet>,
    make_row: Option<RowMaker>,
}

impl Decoding {
    /// Decodes as far as is needed. Returns what is to be reported of it, too.
    fn body(&self, kind: Option<&Arc<Kind>>, entry: &KeyValue) -> (ReadBody, Problems) {
        let KeyValue { key, value, mod_revision, .. } = entry;
        if self.need == Extent::Key {
            return (ReadBody::None, Ok(Vec::new()));
        }
        let decoder = &*decoder_of(&self.decoder, kind);
        if self.need == Extent::Text {
            let mut text = Vec::with_capacity(value.len() * 2);
            return match decoder.decode_text(key, value, mod_revision.0, &mut text) {
                Ok(unknown) => (ReadBody::Text(text), Ok(unknown)),
                Err(opaque) => (ReadBody::Opaque(opaque.clone()), Err(opaque)),
            };
        }
        let of_row = kind.filter(|_| self.need == Extent::Row);
        let row = of_row.zip(self.make_row.as_ref()).and_then(|(kind, make_row)| make_row(kind, decoder, entry));
        if let Some((row, unknown_fields)) = row {
            return (ReadBody::Row(row), Ok(unknown_fields));
        }
        let fields = of_row.and_then(|kind| (self.row_fields)(kind));
        let Decoded { body, unknown_fields, .. } = match fields {
            Some(fields) => decoder.only(fields).decode(key, value, mod_revision.0),
            None => decoder.decode(key, value, mod_revision.0),
        };
        let problems = if let Body::Opaque(opaque) = &body { Err(opaque.clone()) } else { Ok(unknown_fields) };
        (body.into(), problems)
    }
}

pub(crate) fn own_key<'a>(kind: &'a Arc<Kind>, prefix: &str, key: &'a [u8]) -> Option<ObjectPath<'a>> {
    let rest = key.get(kind.key_prefix(prefix, None).len()..)?;
    let (namespace, name) = name_below(kind, rest)?;
    Some(ObjectPath { resource: KeyResource::Known(kind), namespace, name })
}

/// The namespace and name of an object, of a kind, whose key continues with `rest` behind the kind's prefix; `None` where that is no object's key.
pub fn name_below<'a>(kind: &Kind, rest: &'a [u8]) -> Option<(Option<&'a str>, &'a str)> {
    let rest = std::str::from_utf8(rest).ok()?;
    let (namespace, name) =
        if kind.namespaced { rest.split_once('/').map(|(namespace, name)| (Some(namespace), name))? } else { (None, rest) };
    (!name.is_empty() && !name.contains('/')).then_some((namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Options, ReleaseChoice};
    use ketcd_kube::decodes;
    use ketcd_store::load::Limits;

    /// Lists `word` and holds how many objects were found against how many values were decoded meanwhile.
    fn check(word: &str, namespace: Option<&str>, need: Extent, decoded_per_object: usize) {
        let file = ketcd_testing::testdata::path("captures/k120-story/snapshot.db.zst").to_str().unwrap().to_owned();
        let (all_namespaces, namespace) = (namespace.is_none(), namespace.map(str::to_owned));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let before = decodes();
            let source = crate::files::open(&[file], &Limits::default()).unwrap().source;
            let options = Options { release: ReleaseChoice::Any, all_namespaces, namespace, ..Options::default() };
            let cluster = Cluster::open(source, options).await.unwrap();
            let addresses = cluster.address(word).await.unwrap();
            let fetch = Fetch::of(&cluster, Selection::default(), need);
            let mut found = 0;
            for address in &addresses {
                found += fetch.items(Some(address), usize::MAX).try_collect::<Vec<_>>().await.unwrap().len();
            }
            assert!(found > 0, "{word}: nothing found");
            assert_eq!(decodes() - before, found * decoded_per_object, "{word}");
            // The moment that ages are counted to costs one value more.
            let before = decodes();
            cluster.moment().await.unwrap();
            assert!(decodes() - before <= 1);
        });
    }

    #[test]
    fn decodes_what_it_prints_and_nothing_else() {
        check("pods", None, Extent::Object, 1);
        check("pods", None, Extent::Text, 1);
        check("pods", None, Extent::Key, 0);
        check("po,svc,no", None, Extent::Object, 1);
        check("pods", Some("lab"), Extent::Object, 1);
    }
}
