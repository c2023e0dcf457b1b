//! The JSON of `verify`.

use schemars::JsonSchema;
use serde::Serialize;

use super::common::Time;
use super::status::{Member, SourceKind};
use ketcd_cluster::verify as answer;

/// What `verify` prints: the verification of one source, or a ranking of several.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Verify<'a> {
    /// One source.
    One(Box<Verification<'a>>),
    /// Several sources.
    Several(Ranking<'a>),
}

/// Several sources, the best to restore from first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ranking<'a> {
    /// Always `Ranking`.
    pub kind: &'static str,
    /// The sources: what can be restored first, in that the newest first.
    pub sources: Vec<Ranked<'a>>,
    /// The worst of their verdicts, with which the exit code goes.
    pub verdict: VerificationVerdict,
}

/// One of several sources.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ranked<'a> {
    /// What it lacks of the first, in words; empty where it lacks nothing. The words are not part of the contract.
    pub lacks: String,
    /// What was found.
    pub verification: Verification<'a>,
}

/// Whether a source is good, with what was found, what holds, and what was not looked at.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verification<'a> {
    /// How many seconds before now the newest revision was written; null where nothing in the data shows when that was.
    pub age_seconds: Option<f64>,
    /// The API server's release; null where its objects do not show it.
    pub apiserver: Option<String>,
    /// Bytes of the database file.
    pub bytes: u64,
    /// What holds, one phrase per item. For people: the words are not part of the contract.
    pub checked: &'a [String],
    /// etcd's cluster id in hexadecimal; null where it is not known.
    pub cluster_id: Option<&'a str>,
    /// What is wrong, the weightiest first.
    pub findings: Vec<VerifyFinding<'a>>,
    /// etcd's HashKV of all that it holds, which a running member at the same revision and compaction gives too; null where it cannot be computed.
    pub hash_kv: Option<HashKv>,
    /// Keys that are alive at the newest revision.
    pub keys: u64,
    /// How far a member's log reaches; null for anything but a data dir with a log.
    pub log: Option<Log>,
    /// The members of the etcd, as far as the data name them.
    pub members: Vec<Member<'a>>,
    /// The path or the endpoints, as they were given.
    pub name: &'a str,
    /// What was not checked and why, one phrase per item. For people: the words are not part of the contract.
    pub not_checked: &'a [String],
    /// The readable revisions.
    pub revisions: VerifiedRevisions,
    /// What it is.
    pub source: SourceKind,
    /// The verdict, with which the exit code goes.
    pub verdict: VerificationVerdict,
    /// When the newest revision that can be dated was written; null where nothing dates it.
    pub written: Option<Time>,
}

/// A verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum VerificationVerdict {
    /// Nothing is wrong, as far as it was checked. Findings that weigh little may be there. Exit code 0.
    Good,
    /// It can be used, and something in it needs a look. Exit code 1.
    Findings,
    /// It cannot be restored as it is. Exit code 2.
    Bad,
}

/// One thing that is wrong, or may be: evidence, not an accusation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VerifyFinding<'a> {
    /// What shows it, one fact per item. For people: the words are not part of the contract.
    pub evidence: &'a [String],
    /// The key; null where it is not about one.
    pub key: Option<&'a str>,
    /// What it is about: `checksum`, `damage`, `log`, `tampering`, `unreadable`, `schema`, `reference`, `namespace`, `quota`, `allocator`, `upgrade`,
    /// `age`, `comparison`, `compaction`, `member` or `encryption`. There may be more in time.
    pub kind: &'static str,
    /// The revision that shows it; null where it is not about one.
    pub revision: Option<i64>,
    /// What is wrong. For people: the words are not part of the contract.
    pub says: &'a str,
    /// How much it weighs.
    pub weight: Weight,
}

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Weight {
    /// Healthy clusters have it too, or a known recipe makes it.
    Low,
    /// It needs an explanation.
    Medium,
    /// There is hardly a lawful way to it; of damage: the file cannot be restored as it is.
    High,
}

/// etcd's hash of a store.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HashKv {
    /// The revision to which it is compacted, as etcd says it: -1 where it never was. Only hashes of one compaction are comparable.
    pub compact_revision: i64,
    /// The hash.
    pub hash: u32,
    /// The revision.
    pub revision: i64,
}

/// How far a member's write-ahead log reaches.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Log {
    /// The last entry that was applied to the database; null without a database.
    pub applied: Option<u64>,
    /// The last entry that the log knows to be committed.
    pub commit: u64,
    /// The first entry that the log has.
    pub first: u64,
    /// The last entry that the log has.
    pub last: u64,
    /// The last entry that a raft snapshot stands for; 0 if there is none.
    pub snapshot: u64,
    /// Raft's term.
    pub term: u64,
}

/// The readable revisions.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedRevisions {
    /// The revision at which etcd compacted; null where it never did.
    pub compacted: Option<i64>,
    /// The newest revision.
    pub newest: i64,
    /// The oldest revision whose whole state is readable.
    pub oldest_readable: i64,
    /// When the oldest revision that can be dated was written; null where nothing dates it.
    pub oldest_time: Option<Time>,
}

impl<'a> Verify<'a> {
    /// The document of some verifications, ranked; one is itself.
    pub fn of(all: &'a [answer::Verification]) -> Self {
        match all {
            [one] => Self::One(Box::new(one.into())),
            all => Self::Several(Ranking {
                kind: "Ranking",
                sources: all
                    .iter()
                    .map(|one| Ranked {
                        lacks: all.first().map_or_else(String::new, |best| answer::lacks(best, one)),
                        verification: one.into(),
                    })
                    .collect(),
                verdict: all.iter().map(answer::Verification::verdict).max().unwrap_or(answer::Verdict::Good).into(),
            }),
        }
    }
}

impl<'a> From<&'a answer::Verification> for Verification<'a> {
    fn from(of: &'a answer::Verification) -> Self {
        Self {
            age_seconds: of.age.map(|age| age.as_secs_f64()),
            apiserver: of.release.map(|release| release.to_string()),
            bytes: of.bytes,
            checked: &of.checked,
            cluster_id: of.cluster_id.as_deref(),
            findings: of.findings.iter().map(VerifyFinding::from).collect(),
            hash_kv: of.hash_kv.map(HashKv::from),
            keys: of.keys,
            log: of.log.map(Log::from),
            members: of.members.iter().map(Member::from).collect(),
            name: &of.name,
            not_checked: &of.not_checked,
            revisions: VerifiedRevisions {
                compacted: of.span.compacted.map(|revision| revision.0),
                newest: of.span.newest.0,
                oldest_readable: of.span.oldest.0,
                oldest_time: of.oldest_written.map(Time),
            },
            source: of.kind.into(),
            verdict: of.verdict().into(),
            written: of.written.map(Time),
        }
    }
}

impl<'a> From<&'a answer::Finding> for VerifyFinding<'a> {
    fn from(of: &'a answer::Finding) -> Self {
        Self {
            evidence: &of.evidence,
            key: of.key.as_deref(),
            kind: of.kind.name(),
            revision: of.revision.map(|revision| revision.0),
            says: &of.says,
            weight: of.weight.into(),
        }
    }
}

mirrored!(answer::Verdict => VerificationVerdict: Good, Findings, Bad);

mirrored!(answer::Weight => Weight: Low, Medium, High);

impl From<ketcd_store::HashKv> for HashKv {
    fn from(of: ketcd_store::HashKv) -> Self {
        Self { compact_revision: of.compacted.map_or(-1, |revision| revision.0), hash: of.hash, revision: of.revision.0 }
    }
}

impl From<ketcd_store::LogState> for Log {
    fn from(of: ketcd_store::LogState) -> Self {
        let ketcd_store::LogState { first, last, term, commit, snapshot, applied, .. } = of;
        Self { applied, commit, first, last, snapshot, term }
    }
}
