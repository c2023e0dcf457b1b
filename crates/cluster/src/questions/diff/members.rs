//! Whether the members of a cluster, or their files, hold the same at one revision.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::TryStreamExt;
use sha2::{Digest, Sha256};

use ketcd_kube::{Body, Decoder, Kinds, RegistryKey, find_prefixes};
use ketcd_store::{At, Error as StoreError, KeyRange, KeyValue, Revision, RevisionSpan, Source, Want};

use super::incomparable::Incomparable;
use crate::cluster::CRD_PATH;
use crate::error::Result;
use crate::kinds::KeySubject;

/// The members of a cluster that could be read, with what was found out meanwhile.
pub struct Members {
    members: Vec<ComparedMember>,
    /// What was found out, in the order of the members.
    pub problems: Vec<MemberProblem>,
}

/// A member, or a file of one.
struct ComparedMember {
    name: String,
    source: Box<dyn Source>,
    span: RevisionSpan,
}

/// What was found out while members were opened.
#[derive(Debug)]
pub enum MemberProblem {
    /// A member's data are damaged.
    Damaged(String),
    /// Something was left out, which does no damage to the data.
    LeftOut(String),
    /// A member cannot be read, so it is not compared.
    Unread {
        /// Its name.
        name: String,
        /// Why.
        error: StoreError,
    },
}

/// The members compared, and where they differ.
pub struct Comparison {
    /// The revision at which they were compared.
    pub revision: Revision,
    /// The members.
    pub members: Vec<MemberSpan>,
    /// How many keys there are, in one of them at least.
    pub keys: usize,
    /// The keys that differ, ascending.
    pub differences: Vec<DifferingKey>,
}

/// A member, and the revisions that it can be read at.
pub struct MemberSpan {
    /// Its endpoint, or its file.
    pub name: String,
    /// Its revisions.
    pub span: RevisionSpan,
}

/// A key that is not the same in all members.
pub struct DifferingKey {
    /// The key.
    pub key: String,
    /// The object that it belongs to, where the keys show under which prefix a cluster's objects lie; empty where it belongs to none.
    pub subject: KeySubject,
    /// What the members have of it, what most of them have first.
    pub holders: Vec<Holders>,
}

/// Members that have the same of a key.
pub struct Holders {
    /// What they have; `None` where it is nothing.
    pub version: Option<KeyVersion>,
    /// The members, by their places.
    pub members: Vec<usize>,
}

/// What a member has of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyVersion {
    /// The revision that wrote it.
    pub mod_revision: Revision,
    /// The revision that created the key.
    pub create_revision: Revision,
    /// etcd's number of the version.
    pub version: i64,
    /// The SHA-256 of its value.
    pub sha256: [u8; 32],
}

impl Comparison {
    /// Returns the member that differs from all others where these agree, in every key that differs.
    pub fn alone(&self) -> Option<&str> {
        let alone = |key: &DifferingKey| match &key.holders[..] {
            [others, Holders { members, .. }] if others.members.len() > 1 && members.len() == 1 => members.first().copied(),
            _ => None,
        };
        let first = alone(self.differences.first()?)?;
        self.differences.iter().all(|key| alone(key) == Some(first)).then(|| &*self.members[first].name)
    }
}

impl From<&KeyValue> for KeyVersion {
    fn from(entry: &KeyValue) -> Self {
        Self {
            mod_revision: entry.mod_revision,
            create_revision: entry.create_revision,
            version: entry.version,
            sha256: Sha256::digest(&entry.value).into(),
        }
    }
}

impl Members {
    /// Reads which revisions members have, each named by its endpoint or its file.
    ///
    /// # Errors
    /// One of them holds no keys of a member. What cannot be read is a [`MemberProblem`].
    pub async fn read(sources: Vec<(String, Box<dyn Source>)>) -> Result<Self> {
        if let Some((name, _)) = sources.iter().find(|(_, source)| source.is_one_moment()) {
            return Err(Incomparable::Objects { name: name.clone() }.into());
        }
        let (mut members, mut problems) = (Vec::new(), Vec::new());
        for (name, source) in sources {
            problems.extend(source.damage().iter().cloned().map(MemberProblem::Damaged));
            problems.extend(source.left_out().iter().cloned().map(MemberProblem::LeftOut));
            match source.span().await {
                Ok(span) => members.push(ComparedMember { name, source, span }),
                Err(error) => problems.push(MemberProblem::Unread { name, error }),
            }
        }
        Ok(Self { members, problems })
    }

    /// Whether data are damaged or could not be read.
    pub fn are_damaged(&self) -> bool {
        self.problems.iter().any(|problem| !matches!(problem, MemberProblem::LeftOut(_)))
    }

    /// Returns what was found to be damaged while values were read.
    pub fn late_damage(&self) -> Vec<String> {
        self.members.iter().flat_map(|member| member.source.late_damage()).collect()
    }

    /// Compares what the members hold at a revision; the newest is that which all have.
    ///
    /// # Errors
    /// They cannot be compared ([`Incomparable`]), or a source cannot be read.
    pub async fn compare(&self, at: At) -> Result<Comparison> {
        self.are_of_one_cluster().await?;
        let revision = self.common_revision(at)?;
        let mut keys: BTreeMap<Bytes, Vec<Option<KeyVersion>>> = BTreeMap::new();
        let mut kinds = Kinds::builtin();
        for (place, member) in self.members.iter().enumerate() {
            let mut entries = member.source.range(KeyRange::all(), At::Revision(revision), Want::Values).await?.entries;
            while let Some(entry) = entries.try_next().await? {
                define(&mut kinds, &entry);
                // A key that lies in a mapped file is not kept.
                let key = Bytes::copy_from_slice(&entry.key);
                keys.entry(key).or_insert_with(|| vec![None; self.members.len()])[place] = Some(KeyVersion::from(&entry));
            }
        }
        let (count, prefixes) = (keys.len(), find_prefixes(keys.keys().map(AsRef::as_ref)));
        let subject = |key: &[u8]| {
            let path = prefixes.iter().find_map(|prefix| RegistryKey::parse(prefix, key, &kinds).object());
            path.map(KeySubject::of).unwrap_or_default()
        };
        let differences = keys.into_iter().filter(|(_, versions)| versions.iter().any(|version| *version != versions[0]));
        let differences = differences.map(|(key, versions)| differing(&key, subject(&key), versions));
        let members = self.members.iter().map(|member| MemberSpan { name: member.name.clone(), span: member.span }).collect();
        Ok(Comparison { revision, members, keys: count, differences: differences.collect() })
    }

    /// Refuses members that say they are of different clusters. A file's status waits for its checksum, which is not asked for that.
    async fn are_of_one_cluster(&self) -> Result<()> {
        let mut first: Option<(String, String)> = None;
        for member in self.members.iter().filter(|member| member.source.is_shared() || member.source.member().is_some()) {
            let Some(id) = member.source.status().await?.cluster_id else { continue };
            match &first {
                Some((_, known)) if *known == id => {}
                Some(first) => {
                    return Err(Incomparable::DifferentClusters { first: first.clone(), other: (member.name.clone(), id) }.into());
                }
                None => first = Some((member.name.clone(), id)),
            }
        }
        Ok(())
    }

    /// The revision that is asked for, or the newest that all members have.
    fn common_revision(&self, at: At) -> Result<Revision, Incomparable> {
        let [first, _, ..] = &self.members[..] else { return Err(Incomparable::TooFew) };
        let newest = self.members.iter().min_by_key(|member| member.span.newest).unwrap_or(first);
        let revision = match at {
            At::Newest => newest.span.newest,
            At::Revision(asked) if asked > newest.span.newest => {
                return Err(Incomparable::NotYet { name: newest.name.clone(), asked, newest: newest.span.newest });
            }
            At::Revision(asked) => asked,
        };
        match self.members.iter().max_by_key(|member| member.span.oldest).filter(|member| member.span.oldest > revision) {
            None => Ok(revision),
            Some(oldest) => Err(Incomparable::NothingInCommon {
                ends: (newest.name.clone(), revision),
                begins: (oldest.name.clone(), oldest.span.oldest),
            }),
        }
    }
}

/// The versions of a key, each with the members that hold it, those of most members first.
fn differing(key: &[u8], subject: KeySubject, versions: Vec<Option<KeyVersion>>) -> DifferingKey {
    let mut holders: Vec<Holders> = Vec::new();
    for (member, version) in versions.into_iter().enumerate() {
        match holders.iter_mut().find(|known| known.version == version) {
            Some(known) => known.members.push(member),
            None => holders.push(Holders { version, members: vec![member] }),
        }
    }
    holders.sort_by_key(|known| std::cmp::Reverse(known.members.len()));
    DifferingKey { key: String::from_utf8_lossy(key).into_owned(), subject, holders }
}

/// Adds the custom kind that an entry defines, if it defines one.
fn define(kinds: &mut Kinds, entry: &KeyValue) {
    let part = format!("/{CRD_PATH}/");
    if memchr::memmem::find(&entry.key, part.as_bytes()).is_some()
        && let Body::Object(definition) = Decoder::new().decode(&entry.key, &entry.value, entry.mod_revision.0).body
    {
        kinds.add_crd(&definition);
    }
}
