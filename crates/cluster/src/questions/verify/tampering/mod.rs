//! What an API server would not have written: evidence with its weight, never an accusation.
//!
//! One pass over every revision shows each change to the rules, a file each, whose doc comment names the upstream source that it follows and what is
//! exempt. Precision goes before recall: what a healthy cluster may show is not evidence. Ways in which a healthy cluster looks tampered with, and where
//! each is exempt:
//!
//! | what | exempt in |
//! |---|---|
//! | the version without its last finalizer is never stored; corrupt objects are deleted unsafely; leases take keys with them, several at once | [`deletion`], [`log`] |
//! | a binding writes `spec.nodeName` past the strategy | [`generation`] |
//! | defaults, dropped gates, pruning and new stored versions enter with the next write by anybody | [`generation`], [`managers`] |
//! | kinds that count no generation, or not yet in a release | [`generation`] |
//! | what managers do not record: bindings, evictions, deletions, allocations, webhooks, resets | [`managers`] |
//! | `ranges/serviceips` is frozen since 1.34; repair loops write ranges anew and free leaks late; updates give ports back ahead of their write | [`node_ports`] |
//! | what a webhook loses on the way to the stored version and back | [`generation`] |
//! | what no manager owns after a reset goes without an entry | [`managers`] |
//! | deletion times move; API servers' clocks differ | [`creations`], [`managers`] |
//! | managers that tools rewrite | [`managers`] |
//! | stale ciphertext is written again, with equal content | [`unchanged`] |
//! | `masterleases` and `peerserverleases` count generations, have leases, and neither name nor uid | [`generation`], [`identity`], [`lease`], [`unchanged`] |
//! | Events and OAuth tokens expire with leases, and so may aggregated kinds | [`lease`] |
//! | compactions compare versions; k3s, RKE2 and `etcdctl check` put as they like | [`log`], [`programs`] |
//! | keys of other programs | [`foreign`], [`programs`] |
//! | keys without a name, and aggregated API servers | [`identity`] |
//! | JSON and CBOR of custom resources, definitions, APIServices and aggregated kinds; a store that changes its encoding | [`encoding`] |
//! | plaintext from before, or while servers take in a configuration | [`plaintext`] |
//! | stores that were copied key by key | [`creations`], and all signs that are `of_copies` |
//! | `--bump-revision` leaves an empty record, and revisions jump | [`unreadable`], [`foreign`] |
//! | changes without a request: expiry, API servers' own keys, policies and lost batches | [`requests`] |
//! | recipes that tell people to call `etcdctl del` | [`log`] |
//! | kine and dqlite have no log and fill gaps with rows | [`programs`], [`log_notes`] |

mod binding;
mod change;
mod creations;
mod deletion;
mod encoding;
mod evidence;
mod foreign;
mod form;
pub mod fuzz;
mod generation;
mod identity;
mod json_form;
mod lease;
mod log;
mod managers;
mod node_ports;
mod pass;
mod plaintext;
mod programs;
mod requests;
mod rule;
mod stored;
#[cfg(test)]
mod tests;
mod unchanged;
mod unreadable;
mod wire;

use super::asked::VerifyAsked;
use super::part::Part;
use crate::cluster::Cluster;
use crate::error::Result;
use pass::Pass;
use rule::{Rule, TamperingFacts};
use stored::Reader;

/// Returns what an API server would not have written.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn findings(cluster: &Cluster, asked: &VerifyAsked) -> Result<Part> {
    let mut part = Part::default();
    if let Some(why) = unreadable_history(cluster).await? {
        part.not_checked.push(why.to_owned());
        return Ok(part);
    }
    let (prefix, kinds, clock) = (cluster.prefix().await?, cluster.kinds().await?, cluster.clock().await?);
    let reader = Reader::new(prefix, &cluster.options.keys);
    let facts = TamperingFacts {
        reader: &reader,
        clock,
        release: cluster.release(),
        newest: cluster.revision().await?,
        is_damaged: !cluster.source.damage().is_empty(),
    };
    let every = asked.sample_every.unwrap_or(1);
    let (rules, is_copied_log) = rules(cluster, prefix, every);
    let mut pass = Pass::new(facts, cluster.source.as_ref(), (prefix, kinds), rules, every);
    pass.run().await?;
    let Pass { mut found, creations, changes, has_served, .. } = pass;
    let copied_until = creations.judge(&mut found);
    let (findings, left) = found.findings(copied_until);
    if findings.is_empty() && changes > 0 {
        let calls = if cluster.source.facts().log.is_some() { "and the calls in the log" } else { "there is no log of calls" };
        part.checked.push(format!("{changes} changes show no write past the API server; {calls}"));
    }
    part.findings = findings;
    if has_served {
        part.not_checked.push("writes past the API server, where values were read through one".to_owned());
    }
    if left > 0 {
        part.not_checked.push(format!("{left} more writes past the API server are not listed"));
    }
    if let Some(revision) = copied_until {
        part.not_checked.push(format!("the store was copied key by key up to revision {revision}, so times and calls before show nothing"));
    }
    if is_copied_log {
        part.not_checked.push("the calls in the log: most are puts by themselves, as of a program that copies".to_owned());
    }
    Ok(part)
}

/// Why the source shows nothing of what API servers wrote.
pub(super) async fn unreadable_history(cluster: &Cluster) -> Result<Option<&'static str>> {
    if cluster.source.is_one_moment() {
        return Ok(Some("writes past the API server: printed objects are not what is stored"));
    }
    if cluster.has_logs_alone() {
        return Ok(Some("writes past the API server: an audit log holds none"));
    }
    if cluster.source.arrivals_are_dates() {
        return Ok(Some("writes past the API server: a bundle does not hold all objects as they are stored"));
    }
    if cluster.source.is_shared() && cluster.is_long().await? {
        return Ok(Some("writes past the API server: the history of a running etcd is too long to be read whole; check a snapshot of it"));
    }
    Ok(None)
}

/// The rules for a source, and whether its log is one of a copy.
fn rules(cluster: &Cluster, prefix: &str, every: usize) -> (Vec<Box<dyn Rule>>, bool) {
    let mut rules: Vec<Box<dyn Rule>> = vec![
        Box::new(form::Form::default()),
        Box::new(identity::Identity::default()),
        Box::new(lease::Lease),
        Box::new(unchanged::Unchanged::default()),
        Box::new(unreadable::UnreadableRule),
        Box::new(generation::Generation::default()),
        Box::new(managers::Managers::default()),
        Box::new(binding::Binding),
        Box::new(deletion::Deletion),
        Box::new(encoding::Encodings::default()),
        Box::new(plaintext::Plaintext::default()),
        Box::new(foreign::Foreign::new(prefix)),
    ];
    if every < 2 {
        rules.push(Box::new(node_ports::NodePorts::default()));
    }
    if let Some(authors) = cluster.known_authors() {
        rules.push(Box::new(requests::Requests::of(authors)));
    }
    let calls = cluster.source.facts().log.map(|log| log::Calls::of(log, prefix, cluster.release()));
    let is_copied_log = calls.as_ref().is_some_and(|calls| calls.is_copy);
    rules.extend(calls.map(|calls| Box::new(calls) as Box<dyn Rule>));
    (rules, is_copied_log)
}
