//! Who asks for versions that an upgrade's target does not serve, by the requests of audit logs.
//!
//! Requests that were refused, or whose version was not served, are left out: their clients have nothing that the upgrade could take away.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ketcd_audit::{FileReport, Reader, Request};
use ketcd_kube::api::{Versions, api_version};
use ketcd_kube::{Kind, Release};

use super::finding::{Finding, FindingKind, Weight};
use super::part::Part;
use crate::audit::rotation;
use crate::audit::targets::TargetKinds;
use crate::cluster::Cluster;
use crate::error::Result;

/// More clients of a version are counted and not named.
const MAX_CLIENTS_NAMED: usize = 10;

/// More clients of a version are not told apart: a log may be forged.
const MAX_CLIENTS_HELD: usize = 10_000;

/// Refused, or of a version that was not served.
const FRUITLESS_CODES: [u16; 3] = [401, 403, 404];

/// A user and the program that the user ran.
type Client = (Arc<str>, Arc<str>);

/// Requests of one client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ClientRequests {
    writes: u64,
    reads: u64,
}

/// A version of a kind that the target does not serve, by its `apiVersion` and kind.
type Gone = (String, String);

/// Requests for versions that the target does not serve.
struct Clients<'v> {
    target: &'v Versions,
    running: &'v Versions,
    of_kinds: TargetKinds,
    /// By group, version and resource; nothing for what the target serves.
    known: HashMap<[Arc<str>; 3], Option<Gone>>,
    found: BTreeMap<Gone, BTreeMap<Client, ClientRequests>>,
}

/// Returns the clients that an upgrade would break, as far as audit logs show them.
///
/// # Errors
/// A log cannot be opened.
pub(super) async fn check(cluster: &Cluster, target: &Versions, running: &Versions, release: Release) -> Result<Part> {
    let mut part = Part::default();
    if !cluster.has_audit_logs() {
        part.not_checked
            .push(format!("clients that only read versions which {release} does not serve (-f BACKUP -f AUDIT_LOG names them)"));
        return Ok(part);
    }
    let (kinds, mut reader) = (cluster.kinds().await?, Reader::default());
    let mut clients = Clients { target, running, of_kinds: TargetKinds::default(), known: HashMap::new(), found: BTreeMap::new() };
    let mut requests = 0;
    rotation::read(&cluster.audit.logs, &mut |_, from| {
        // What is wrong with a log was said when its requests were joined to changes.
        let (FileReport { requests: read, .. }, _) = reader.read(from, &mut |request| clients.see(&request, kinds.iter()));
        requests += read;
    })?;
    if clients.found.is_empty() {
        part.checked.push(format!("{requests} requests of the audit log ask for nothing that {release} does not serve"));
    }
    part.not_checked.push("clients of whose requests the audit log has none".to_owned());
    part.findings.extend(clients.found.iter().map(|(gone, clients)| finding(gone, clients, release)));
    Ok(part)
}

impl Clients<'_> {
    fn see<'k>(&mut self, request: &Request, kinds: impl IntoIterator<Item = &'k Arc<Kind>>) {
        let target = &request.target;
        if target.resource.is_empty() || target.version.is_empty() || FRUITLESS_CODES.contains(&request.code) {
            return;
        }
        let asked = [&target.group, &target.version, &target.resource].map(Arc::clone);
        let gone = match self.known.get(&asked) {
            Some(known) => known.clone(),
            None => {
                let kind = self.of_kinds.of(target, kinds);
                let gone = kind.and_then(|kind| self.gone(&kind, &target.group, &target.version));
                if self.known.len() < MAX_CLIENTS_HELD {
                    self.known.insert(asked, gone.clone());
                }
                gone
            }
        };
        let Some(gone) = gone else { return };
        let clients = self.found.entry(gone).or_default();
        let client = (Arc::clone(&request.user), Arc::clone(&request.user_agent));
        if clients.len() < MAX_CLIENTS_HELD || clients.contains_key(&client) {
            let requests = clients.entry(client).or_default();
            *(if request.verb.writes() { &mut requests.writes } else { &mut requests.reads }) += 1;
        }
    }

    /// The version of a kind, where the target does not serve it and the cluster does, or a release before the target did.
    fn gone(&self, kind: &Kind, group: &str, version: &str) -> Option<Gone> {
        let (api_version, name) = (api_version(group, version), &kind.kind);
        if kind.is_custom() || self.target.serves(&api_version, name) {
            return None;
        }
        (self.running.serves(&api_version, name) || is_removed(kind, self.target)).then(|| (api_version, name.to_string()))
    }
}

/// Whether the target serves the kind in another version, or not at all although it serves others of the group: what a release never served by default is
/// not removed.
pub(super) fn is_removed(kind: &Kind, versions: &Versions) -> bool {
    kind.is_custom() || versions.preferred(&kind.group, &kind.kind).is_some()
}

fn finding((api_version, kind): &Gone, clients: &BTreeMap<Client, ClientRequests>, release: Release) -> Finding {
    let all = |of: fn(&ClientRequests) -> u64| clients.values().map(of).sum();
    let says = format!(
        "{} asked for {api_version} {kind}, which {release} does not serve: their clients must change",
        words(ClientRequests { writes: all(|requests| requests.writes), reads: all(|requests| requests.reads) })
    );
    let mut most: Vec<(&Client, &ClientRequests)> = clients.iter().collect();
    most.sort_by_key(|(_, requests)| std::cmp::Reverse((requests.writes, requests.reads)));
    let named = most.iter().take(MAX_CLIENTS_NAMED).map(|((user, agent), requests)| {
        let agent = if agent.is_empty() { String::new() } else { format!(" with {agent}") };
        format!("user {user}{agent}, {}", words(**requests))
    });
    let finding = named.fold(Finding::new(FindingKind::Upgrade, Weight::Low, says), Finding::because);
    match most.len().saturating_sub(MAX_CLIENTS_NAMED) {
        0 => finding,
        more => finding.because(format!("{more} more clients")),
    }
}

/// `3 writes and 1 read`.
fn words(ClientRequests { writes, reads }: ClientRequests) -> String {
    let counted = |count: u64, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    match (writes, reads) {
        (_, 0) => counted(writes, "write"),
        (0, _) => counted(reads, "read"),
        _ => format!("{} and {}", counted(writes, "write"), counted(reads, "read")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cluster::built_in;

    /// What is said of requests: user, verb, `apiGroup`, version, resource and status of each.
    fn said(target: u16, requests: &[(&str, &str, [&str; 3], u16)]) -> Vec<Finding> {
        let (target_versions, running) = (Versions::new(Release(target), &[]), Versions::new(Release(20), &[]));
        let (of_kinds, known, found) = (TargetKinds::default(), HashMap::new(), BTreeMap::new());
        let mut clients = Clients { target: &target_versions, running: &running, of_kinds, known, found };
        for (number, (user, verb, [group, version, resource], code)) in requests.iter().enumerate() {
            let event = json!({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": number.to_string(),
                "stage": "ResponseComplete", "verb": verb, "user": {"username": user}, "userAgent": "kubectl/v1.20.0",
                "objectRef": {"apiGroup": group, "apiVersion": version, "resource": resource, "namespace": "a", "name": "b"},
                "responseStatus": {"code": code}, "requestReceivedTimestamp": "2026-11-24T18:37:19Z", "stageTimestamp": "2026-11-24T18:37:19Z"});
            let text = event.to_string();
            let (report, _) = Reader::default().read(&mut text.as_bytes(), &mut |request| clients.see(&request, built_in().iter()));
            assert_eq!(report.requests, 1, "{text}");
        }
        clients.found.iter().map(|(gone, clients)| finding(gone, clients, Release(target))).collect()
    }

    #[test]
    fn clients_of_versions_that_go_are_counted() {
        let cron_jobs = ["batch", "v1beta1", "cronjobs"];
        let requests = [
            ("ci", "list", cron_jobs, 200),
            ("ci", "list", cron_jobs, 200),
            ("alice", "patch", cron_jobs, 200),
            ("ci", "list", ["batch", "v1", "jobs"], 200),
            // Refused, not there, and what is no resource.
            ("mallory", "list", cron_jobs, 403),
            ("ci", "list", ["batch", "v2alpha1", "cronjobs"], 404),
            ("ci", "get", ["", "", ""], 200),
            // A kind that goes altogether.
            ("ops", "get", ["policy", "v1beta1", "podsecuritypolicies"], 200),
        ];
        let found = said(25, &requests);
        let says: Vec<&str> = found.iter().map(|finding| finding.says.as_str()).collect();
        let wanted = [
            "1 write and 2 reads asked for batch/v1beta1 CronJob, which 1.25 does not serve: their clients must change",
            "1 read asked for policy/v1beta1 PodSecurityPolicy, which 1.25 does not serve: their clients must change",
        ];
        assert_eq!(says, wanted);
        assert_eq!(found[0].evidence, ["user alice with kubectl/v1.20.0, 1 write", "user ci with kubectl/v1.20.0, 2 reads"]);
        assert_eq!(said(24, &requests), []);
    }
}
