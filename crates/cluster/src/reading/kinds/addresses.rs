//! Parses addresses as users type them, reading no more of the cluster than they require.

use std::borrow::Cow;

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::not_found::WithoutKind;
use crate::rights::refused::unless_denied;
use ketcd_kube::{Address, AddressError, Kind, Kinds, Scope, UnknownKind};
use ketcd_store::{KeyRange, Want};

impl Cluster {
    /// Reads words as kubectl does: addresses, or one kind and names of it (`pod web-0 web-1`).
    ///
    /// # Errors
    /// A word names no kind, several, or has too many parts.
    pub async fn addresses(&self, words: &[String]) -> Result<Vec<Address>> {
        let mut found = Vec::new();
        let joined = joined(words);
        // Names alone were taken for a kind and names of it.
        let are_joined = joined != words;
        for word in &joined {
            found.extend(self.address_of(word, if are_joined { &words[0] } else { word }).await?);
        }
        Ok(found)
    }

    /// Reads words that are kinds alone (`pods deployments`), in all namespaces where none is looked at; `None` where one is something else.
    pub(crate) async fn kinds_alone(&self, words: &[String]) -> Result<Option<Vec<Address>>> {
        let scope = if self.options.namespace.is_some() { self.scope() } else { Scope::All };
        let is_kind = |word: &String| !word.contains('/') && word != "compact_rev_key";
        let (mut found, mut kinds) = (Vec::new(), Cow::Owned(Kinds::builtin()));
        for word in words {
            if !is_kind(word) {
                return Ok(None);
            }
            let mut parsed = Address::parse(word, &kinds, &scope);
            // Definitions are read only where no built-in kind is meant.
            if parsed.is_err() {
                kinds = Cow::Borrowed(self.kinds().await?);
                parsed = Address::parse(word, &kinds, &scope);
            }
            let Ok(addresses) = parsed else { return Ok(None) };
            found.extend(addresses);
        }
        Ok(Some(found))
    }

    /// Reads one word: an address, kinds joined by commas, a category, or a raw key.
    ///
    /// # Errors
    /// As [`Cluster::addresses`].
    pub async fn address(&self, word: &str) -> Result<Vec<Address>> {
        self.address_of(word, word).await
    }

    /// The same of a word that was made of what was typed.
    async fn address_of(&self, word: &str, typed: &str) -> Result<Vec<Address>> {
        let scope = self.scope();
        // A built-in name wins over a custom one, so definitions are read only where no built-in kind is meant.
        let built_in = Address::parse(word, &Kinds::builtin(), &scope);
        let found = match built_in {
            Err(AddressError::Kind(UnknownKind::Unknown { .. })) => Address::parse(word, self.kinds().await?, &scope),
            other => other,
        };
        match found {
            Err(AddressError::Kind(UnknownKind::Unknown { word: kind, nearest })) => match self.kind_without_definition(&kind).await? {
                Some(unlisted) => {
                    let mut kinds = self.kinds().await?.clone();
                    kinds.push(unlisted);
                    Address::parse(word, &kinds, &scope).map_err(Error::from)
                }
                // A key that begins with no slash, of something other than Kubernetes.
                None if word.contains('/') && self.has_key(word).await? => Ok(vec![Address::Key(word.to_owned())]),
                None => Err(self.without_kind(typed, kind, nearest).await?),
            },
            other => other.map_err(Error::from),
        }
    }

    /// The error of a word in which no kind is named, with what it may mean.
    async fn without_kind(&self, typed: &str, kind: String, nearest: Vec<String>) -> Result<Error> {
        if let Some(undefined) = self.undefined(&kind) {
            return Ok(undefined);
        }
        // Kinds that are joined by commas are looked for one by one.
        let word = if typed.contains(',') { kind.as_str() } else { typed };
        let mut called = self.called(word).await?;
        if called.places.is_empty() && nearest.is_empty() {
            called = self.nearly_called(word).await?;
        }
        Ok(match called.places.is_empty() {
            true => AddressError::Kind(UnknownKind::Unknown { word: kind, nearest }).into(),
            false => Error::WithoutKind(Box::new(WithoutKind { kind, word: typed.to_owned(), called })),
        })
    }

    /// Whether a key, to the letter, is there.
    async fn has_key(&self, key: &str) -> Result<bool> {
        let first = self.source.first(KeyRange::key(key), self.at, Want::Keys, 1).await;
        Ok(unless_denied(first)?.is_some_and(|found| !found.is_empty()))
    }

    /// A resource, `plural.group` or its plural alone, that has objects and no definition.
    async fn kind_without_definition(&self, word: &str) -> Result<Option<Kind>> {
        let Some((plural, group)) = word.split_once('.').filter(|(plural, group)| !plural.is_empty() && group.contains('.')) else {
            let mut called = self.unlisted_kinds(self.at).await?.into_iter().filter(|kind| kind.plural == word);
            return Ok(called.next().filter(|_| called.next().is_none()));
        };
        let below = format!("{}/{group}/{plural}/", self.prefix().await?);
        let first = self.source.first(KeyRange::prefix(below.as_str()), self.at, Want::Keys, 1).await;
        Ok(unless_denied(first)?
            .unwrap_or_default()
            .first()
            .map(|entry| Kind::unlisted(group, plural, entry.key.strip_prefix(below.as_bytes()).is_some_and(|name| name.contains(&b'/')))))
    }
}

/// kubectl takes `pod web-0` for `pod/web-0`, and `po,svc web` for both: bare kinds before bare names.
pub fn joined(words: &[String]) -> Vec<String> {
    match words {
        [kinds, names @ ..] if !names.is_empty() && words.iter().all(|word| !word.contains('/')) => {
            let kinds = kinds.split(',').filter(|kind| !kind.is_empty());
            kinds.flat_map(|kind| names.iter().map(move |name| format!("{kind}/{name}"))).collect()
        }
        _ => words.to_vec(),
    }
}
