//! Reading the keys of an address and handing over each object that is selected, decoded no further than it is needed.

use std::sync::Arc;

use futures_util::{Stream, StreamExt};

use super::body::{ReadBody, decoder, decoder_of, fits_stored, kind_of};
use super::texts::{Picked, Text, texts};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::selection::Selection;
use ketcd_kube::{Address, Decoder, FieldSelector, FieldSet, KeyResource, Kind, Kinds, LabelSelector, ObjectPath, RegistryKey};
use ketcd_store::{KeyRange, KeyValue, Want};

/// How many available entries are taken at once.
const AT_ONCE: usize = 256;

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

/// An object on its way to whoever asked.
pub struct Item<'a> {
    /// Its kind, where it is known.
    pub kind: Option<&'a Arc<Kind>>,
    /// What its key says; `None` for keys that belong to no resource.
    pub key: Option<ObjectPath<'a>>,
    /// The stored key and value.
    pub entry: &'a KeyValue,
    /// As much of the object as is needed.
    pub body: ReadBody,
}

/// Which keys are asked for.
struct KeyFilter<'p> {
    prefix: &'p str,
    /// The kind, where all keys are of one.
    kind: Option<&'p Arc<Kind>>,
    /// The kinds by which that of each key is found, where they differ.
    kinds: Option<&'p Kinds>,
    /// Whether keys that do not belong to an object count.
    counts_others: bool,
    /// The only namespace.
    namespace: Option<&'p str>,
}

impl KeyFilter<'_> {
    /// Returns what a key says, `Some(None)` where it says nothing of an object; `None` where it is not asked for.
    #[allow(clippy::option_option)]
    fn pick<'e>(&'e self, key: &'e [u8]) -> Option<Option<ObjectPath<'e>>> {
        let object = match (self.kind, self.kinds) {
            (Some(kind), _) => own_key(kind, self.prefix, key),
            (None, Some(kinds)) => RegistryKey::parse(self.prefix, key, kinds).object(),
            (None, None) => None,
        };
        let is_asked_for = match object {
            Some(object) => self.namespace.is_none_or(|wanted| object.namespace == Some(wanted)),
            None => self.counts_others,
        };
        is_asked_for.then_some(object)
    }
}

/// Reads, filters, decodes.
pub struct Fetch<'a> {
    cluster: &'a Cluster,
    decoder: Decoder,
    selection: Selection,
    /// What the selectors look at.
    selected_by: FieldSet,
    need: Extent,
    /// What of an object of a kind the row of a table shows, where that is known.
    row_fields: fn(&Kind) -> Option<&'static FieldSet>,
    /// How many objects are still wanted.
    wanted: usize,
    /// How many there were.
    found: usize,
}

impl<'a> Fetch<'a> {
    /// Reads objects that the selectors select.
    pub fn new(cluster: &'a Cluster, labels: LabelSelector, fields: FieldSelector, need: Extent) -> Self {
        let selection = Selection { labels, fields, ever: false };
        let selected_by = selection.looks_at();
        Self { cluster, decoder: decoder(cluster), selection, selected_by, need, row_fields: |_| None, wanted: usize::MAX, found: 0 }
    }

    /// Says what of an object of a kind the row of a table shows; without it, the row needs the object.
    #[must_use]
    pub fn with_row_fields(self, row_fields: fn(&Kind) -> Option<&'static FieldSet>) -> Self {
        Self { row_fields, ..self }
    }

    /// No more than `limit` objects.
    #[must_use]
    pub fn up_to(self, limit: usize) -> Self {
        Self { wanted: limit, ..self }
    }

    /// How many objects were handed over.
    pub fn found(&self) -> usize {
        self.found
    }

    /// Whether a selector may have left something out.
    pub fn is_filtered(&self) -> bool {
        !self.selection.takes_all()
    }

    /// Hands over the objects of an address and returns how many they were.
    ///
    /// # Errors
    /// The source cannot be read, or those of `take`.
    pub async fn address<E: From<Error>>(
        &mut self,
        address: &Address,
        take: &mut dyn FnMut(Item<'_>) -> Result<(), E>,
    ) -> Result<usize, E> {
        let prefix = self.cluster.prefix().await?;
        let (key, is_whole) = address.key(prefix);
        let kinds = match address.kind() {
            Some(_) => None,
            None => Some(self.cluster.kinds().await?),
        };
        let mut ranges = vec![if is_whole { KeyRange::key(key.as_bytes()) } else { KeyRange::prefix(key.as_bytes()) }];
        if is_whole && address.kind().is_none() {
            // A raw key may be meant as the directory it looks like.
            ranges.push(KeyRange::prefix(format!("{key}/")));
        }
        // Below a kind's prefix, a key of another shape is none of its objects.
        let asked = KeyFilter { prefix, kind: address.kind(), kinds, counts_others: address.kind().is_none(), namespace: None };
        let mut found = 0;
        for range in ranges {
            let entries = match self.cluster.range(range, self.want()).await {
                // The key itself was it.
                Err(error) if error.refusal().is_some() && found > 0 => break,
                listing => listing?.entries,
            };
            found += self.picked(entries, &asked, take).await?;
        }
        Ok(found)
    }

    /// Hands over every object of every kind (of the one namespace, where one is given) and returns how many they were.
    ///
    /// # Errors
    /// The source cannot be read, or those of `take`.
    pub async fn everything<E: From<Error>>(&mut self, take: &mut dyn FnMut(Item<'_>) -> Result<(), E>) -> Result<usize, E> {
        let prefix = self.cluster.prefix().await?;
        let kinds = self.cluster.kinds().await?;
        let entries = self.cluster.range(KeyRange::prefix(format!("{prefix}/")), self.want()).await?.entries;
        let namespace = self.cluster.options.namespace.as_deref();
        let asked = KeyFilter { prefix, kind: None, kinds: Some(kinds), counts_others: false, namespace };
        self.picked(entries, &asked, take).await
    }

    /// Hands over those of `entries` that are asked for, and returns how many they were.
    async fn picked<E: From<Error>>(
        &mut self,
        entries: impl Stream<Item = ketcd_store::Result<KeyValue>> + Unpin,
        asked: &KeyFilter<'_>,
        take: &mut dyn FnMut(Item<'_>) -> Result<(), E>,
    ) -> Result<usize, E> {
        let mut batches = entries.ready_chunks(AT_ONCE);
        let mut found = 0;
        while self.wanted > 0
            && let Some(batch) = batches.next().await
        {
            let failed = batch.iter().position(|read| read.is_err()).unwrap_or(batch.len());
            let read = batch[..failed].iter().flatten();
            let picked: Vec<Picked<'_>> = read.filter_map(|entry| Some((entry, asked.pick(&entry.key)?))).collect();
            let mut texts =
                if self.need == Extent::Text && !self.filters_objects() { texts(&self.decoder, &picked) } else { Vec::new() }.into_iter();
            for (entry, object) in picked {
                let text = texts.next();
                if self.wanted > 0 {
                    found += self.entry(entry, object, text, take)?;
                }
            }
            if let Some(failure) = batch.into_iter().nth(failed) {
                failure.map_err(Error::from)?;
            }
        }
        Ok(found)
    }

    fn want(&self) -> Want {
        if self.need == Extent::Key && !self.filters_objects() { Want::Keys } else { Want::Values }
    }

    fn filters_objects(&self) -> bool {
        !self.selection.labels.is_empty() || !self.selection.fields.is_decided_by_key()
    }

    fn entry<E>(
        &mut self,
        entry: &KeyValue,
        key: Option<ObjectPath<'_>>,
        text: Option<Text>,
        take: &mut dyn FnMut(Item<'_>) -> Result<(), E>,
    ) -> Result<usize, E> {
        if key.is_some_and(|key| self.selection.fields.rules_out(key.namespace, key.name)) {
            return Ok(0);
        }
        let kind = kind_of(key);
        if self.filters_objects() && !fits_stored((&self.selection, &self.selected_by), &self.decoder, key, entry) {
            return Ok(0);
        }
        let body = match text {
            Some(text) => text.reported(&self.decoder, entry),
            None => self.body(kind, entry),
        };
        take(Item { kind, key, entry, body })?;
        self.wanted -= 1;
        self.found += 1;
        Ok(1)
    }

    /// Decodes as far as is needed.
    fn body(&self, kind: Option<&Arc<Kind>>, entry: &KeyValue) -> ReadBody {
        let (key, value, revision) = (&entry.key, &entry.value, entry.mod_revision.0);
        let decoder = &*decoder_of(&self.decoder, kind);
        match self.need {
            Extent::Row => match kind.and_then(|kind| (self.row_fields)(kind)) {
                Some(fields) => decoder.decode_only(key, value, revision, fields).body.into(),
                None => ReadBody::object(decoder, entry),
            },
            Extent::Key => ReadBody::None,
            Extent::Text => {
                let mut text = Vec::with_capacity(value.len() * 2);
                match decoder.decode_text(key, value, revision, &mut text) {
                    Ok(_) => ReadBody::Text(text),
                    Err(opaque) => ReadBody::Opaque(opaque),
                }
            }
            Extent::Object => ReadBody::object(decoder, entry),
        }
    }
}

/// What the key says of an object of a kind whose prefix it has.
pub fn own_key<'a>(kind: &'a Arc<Kind>, prefix: &str, key: &'a [u8]) -> Option<ObjectPath<'a>> {
    let rest = key.get(kind.key_prefix(prefix, None).len()..)?;
    let (namespace, name) = name_below(kind, rest)?;
    Some(ObjectPath { resource: KeyResource::Known(kind), namespace, name })
}

/// The namespace and name of an object, of a kind, whose key goes on with `rest` behind the kind's prefix; `None` where that is no object's key.
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
            let mut fetch = Fetch::new(&cluster, LabelSelector::default(), FieldSelector::default(), need);
            let mut found = 0;
            for address in &addresses {
                found += fetch.address::<Error>(address, &mut |_| Ok(())).await.unwrap();
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
