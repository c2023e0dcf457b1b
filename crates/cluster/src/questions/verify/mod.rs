//! `verify`: whether a backup is good, as one verdict with what was checked and what was not.

mod allocation;
mod allocators;
mod asked;
mod comparison;
mod contents;
mod file;
mod finding;
mod part;
mod quotas;
mod ranking;
mod references;
mod schema;
mod store_health;
mod tampering;
pub(crate) mod upgrade;
mod upgrade_clients;
mod verification;

pub use asked::VerifyAsked;
pub use comparison::{Holdings, KEYS_WITHIN};
pub use finding::{Finding, FindingKind, Weight};
pub use part::Part;
pub use ranking::{lacks, rank};
#[doc(hidden)]
pub use tampering::fuzz;
pub use verification::{Verdict, Verification};

use jiff::Timestamp;

use ketcd_store::{At, KeyRange, RevisionSpan};

use crate::cluster::Cluster;
use crate::error::Result;
use contents::ContentsRead;
use store_health::Written;

impl Cluster {
    /// Checks the source from its bytes to its contents.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn verify(&self, asked: &VerifyAsked) -> Result<Verification> {
        let status = self.source.status().await?;
        let span = self.readable_span().await?;
        let mut all = file::check(&*self.source, &status);
        let log = self.source.facts().log;
        log.into_iter().for_each(|log| all.add(file::log::check(log.state(), log.old_api_writes())));
        let log = log.map(|log| log.state());
        let ContentsRead { part, keys, hash_kv } = contents::check(self, asked, &status, span).await?;
        all.add(part);
        let written = Written::of(self, span).await?;
        all.add(store_health::check(&status, span, written, asked));
        all.add(store_health::encryption(self, asked).await?);
        all.add(store_health::members(self, &status).await);
        if asked.sample_every.is_none() {
            all.add(tampering::findings(self, asked).await?);
            all.add(references::check(self, span.newest).await?);
            all.add(quotas::check(self, span.newest).await?);
            let has_no_changes = tampering::unreadable_history(self).await?.is_some();
            all.add(allocators::check(self, span, has_no_changes).await?);
            all.add(schema::check(self, span.newest).await?);
        } else {
            all.not_checked.push("tampering, references, quotas, allocators and schemas: only a part is read".to_owned());
        }
        if let Some(target) = asked.target {
            all.add(upgrade::check(self, span.newest, target).await?);
        }
        if let Some((name, before)) = &asked.against {
            all.add(comparison::check(before, &self.holdings().await?, name, asked.keys_within));
        }
        let verification = Verification {
            kind: status.kind,
            span,
            written: written.newest,
            oldest_written: written.oldest,
            age: written.age(asked.now),
            keys,
            bytes: status.file_bytes,
            cluster_id: status.cluster_id.clone(),
            members: status.members.clone(),
            release: self.release_evidence.release(),
            hash_kv,
            log,
            ..Verification::nothing_found(&status.name)
        };
        Ok(verification.with(all))
    }

    /// Checks the file alone, its bytes and a member's log, at the revision looked at: nothing of its contents is decoded.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(crate) async fn verify_file(&self, now: Option<Timestamp>) -> Result<Verification> {
        let status = self.source.status().await?;
        let span = RevisionSpan { newest: self.revision().await?, ..self.readable_span().await? };
        let keys = self.source.count(KeyRange::all(), At::Revision(span.newest)).await?;
        let written = Written { oldest: None, newest: self.moment_of(self.at).await? };
        let mut all = file::check(&*self.source, &status);
        let log = self.source.facts().log;
        log.into_iter().for_each(|log| all.add(file::log::check(log.state(), log.old_api_writes())));
        let verification = Verification {
            kind: status.kind,
            span,
            written: written.newest,
            age: written.age(now),
            keys,
            bytes: status.file_bytes,
            cluster_id: status.cluster_id.clone(),
            log: log.map(|log| log.state()),
            ..Verification::nothing_found(&status.name)
        };
        Ok(verification.with(all))
    }
}
