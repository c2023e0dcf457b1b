//! Allocators that disagree with the Services that they count: what is used and not taken, and what is taken and not used.
//!
//! A wrong allocator does not show tampering. Node ports are taken in `ranges/servicenodeports`, cluster IPs in IPAddress objects where there are some, and
//! in `ranges/serviceips` and `secondaryserviceips` otherwise. These two stand still from 1.34 on, and differ from the objects in the releases before that
//! write both (kubernetes v1.37.2, `DisableAllocatorDualWrite` in `pkg/features/kube_features.go`). What is taken and not used may be a Service that is
//! being made, and the repair loop lets go of it in the third of its rounds (`numRepairsBeforeLeakCleanup` in
//! `pkg/registry/core/service/{ipallocator,portallocator}/controller/repair.go`), which are three minutes apart (`repairLoopInterval` in
//! `pkg/controlplane/instance.go`): it counts where it lasts longer, as far as the history shows that.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use futures_util::TryStreamExt;
use jiff::SignedDuration;
use serde_json::Value;

use ketcd_kube::{Body, Release};
use ketcd_store::{At, KeyRange, Revision, RevisionSpan, Want};

use super::allocation::{Member, Range, cluster_ips, node_ports};
use super::finding::{Finding, FindingKind, Weight};
use super::part::Part;
use crate::cluster::Cluster;
use crate::error::Result;

/// The first release whose API servers write no address into a range any more.
const WITHOUT_RANGES_OF_ADDRESSES: Release = Release(34);

/// Three rounds of the repair loop, and one for the time until the first.
const REPAIR_MINUTES: i64 = 12;

/// More ports or addresses of one finding are counted and not named.
const MAX_NAMED: usize = 5;

/// The ranges, below `ranges/`.
const RANGE_NAMES: [&str; 3] = ["servicenodeports", "serviceips", "secondaryserviceips"];

/// Returns what disagrees at the newest revision. `with_used_ports` says whether node ports in use may be free without that being found elsewhere.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn check(cluster: &Cluster, span: RevisionSpan, with_used_ports: bool) -> Result<Part> {
    let mut part = Part::default();
    // Printed objects, audit logs and recordings of some keys do not show what is taken and used.
    if cluster.source.is_one_moment() || cluster.has_logs_alone() || !cluster.source.facts().has_all_keys {
        return Ok(part);
    }
    let state = AllocatorState::read(cluster, span.newest).await?;
    let (mut compared, not_followed) = state.compare(cluster.release());
    part.not_checked.extend(not_followed);
    if compared.is_empty() {
        return Ok(part);
    }
    if compared.iter().any(|compared| !compared.unused.is_empty()) {
        let before = earlier(cluster, span).await?;
        let past = match before {
            Some(before) => Some(AllocatorState::read(cluster, before).await?.compare(cluster.release()).0),
            None => None,
        };
        compared.iter_mut().for_each(|compared| compared.lasting(past.as_deref()));
    }
    for compared in compared {
        let reports_used = with_used_ports || compared.what != What::NodePorts;
        part.findings.extend(compared.findings(reports_used));
    }
    if part.findings.is_empty() {
        part.checked.push("allocators agree with the Services".to_owned());
    }
    Ok(part)
}

/// A revision before the repair loop's last rounds; `None` where the history is shorter.
async fn earlier(cluster: &Cluster, span: RevisionSpan) -> Result<Option<Revision>> {
    let clock = cluster.clock().await?;
    let repaired = |time: jiff::Timestamp| time.checked_sub(SignedDuration::from_mins(REPAIR_MINUTES)).ok();
    let before = clock.newest().and_then(|newest| clock.revision_at(repaired(newest.time)?));
    Ok(before.filter(|before| *before >= span.oldest))
}

/// Which allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    NodePorts,
    ClusterIps,
    /// As objects.
    Addresses,
}

impl What {
    fn used(self) -> &'static str {
        match self {
            Self::NodePorts => "node ports that Services use are free in the range that hands them out",
            Self::ClusterIps => "cluster IPs that Services use are free in the range that hands them out",
            Self::Addresses => "cluster IPs that Services use have no IPAddress of these Services",
        }
    }

    fn unused(self) -> &'static str {
        match self {
            Self::NodePorts => "node ports are taken and no Service uses them",
            Self::ClusterIps => "cluster IPs are taken and no Service uses them",
            Self::Addresses => "IPAddress objects are there and no Service uses the addresses",
        }
    }
}

/// Allocators and Services at a revision.
#[derive(Default)]
struct AllocatorState {
    /// By name, with the key and the revision that wrote it.
    ranges: BTreeMap<&'static str, (Range, String, Revision)>,
    /// IPAddress objects that are said to be of a Service: `namespace/name`.
    addresses: BTreeMap<IpAddr, String>,
    /// What is used, each with its Service.
    used: BTreeMap<Member, String>,
}

/// What an allocator and the Services do not agree about.
#[derive(Debug, PartialEq, Eq)]
struct Compared {
    what: What,
    /// The range's key and revision.
    range: Option<(String, Revision)>,
    /// What is used and not taken, each with its Service.
    used: Vec<(Member, String)>,
    /// What is taken and not used.
    unused: BTreeSet<Member>,
    /// Whether the history does not show if that lasts.
    is_new: bool,
}

impl AllocatorState {
    async fn read(cluster: &Cluster, revision: Revision) -> Result<Self> {
        let (prefix, mut state) = (cluster.prefix().await?, Self::default());
        let services = objects(cluster, KeyRange::prefix(format!("{prefix}/services/specs/")), revision).await?;
        services.iter().for_each(|(service, _)| state.see_service(service));
        let addresses = objects(cluster, KeyRange::prefix(format!("{prefix}/ipaddresses/")), revision).await?;
        addresses.iter().for_each(|(address, _)| state.see_address(address));
        for name in RANGE_NAMES {
            let key = format!("{prefix}/ranges/{name}");
            let found = objects(cluster, KeyRange::key(key.as_str()), revision).await?.pop();
            if let Some((range, at)) = found.and_then(|(object, at)| Some((Range::of(&object)?, at))) {
                state.ranges.insert(name, (range, key, at));
            }
        }
        Ok(state)
    }

    fn see_service(&mut self, service: &Value) {
        let name = named(&service["metadata"]);
        self.used.extend(node_ports(service).chain(cluster_ips(service)).map(|member| (member, name.clone())));
    }

    fn see_address(&mut self, object: &Value) {
        let (address, parent) = (object["metadata"]["name"].as_str().and_then(|name| name.parse().ok()), &object["spec"]["parentRef"]);
        // Others may take addresses for objects of theirs.
        if let Some(address) = address.filter(|_| parent["resource"] == "services") {
            self.addresses.insert(address, named(parent));
        }
    }

    /// Compares allocators and Services; what is not followed any more is returned as one phrase.
    fn compare(&self, release: Release) -> (Vec<Compared>, Option<String>) {
        let mut all = Vec::new();
        all.extend(self.ranges.get("servicenodeports").map(|range| self.of_ranges(What::NodePorts, &[range])));
        let of_addresses: Vec<_> = ["serviceips", "secondaryserviceips"].iter().filter_map(|name| self.ranges.get(name)).collect();
        let are_followed = self.addresses.is_empty() && release < WITHOUT_RANGES_OF_ADDRESSES;
        if !self.addresses.is_empty() {
            all.push(self.of_objects());
        } else if are_followed && !of_addresses.is_empty() {
            all.push(self.of_ranges(What::ClusterIps, &of_addresses));
        }
        let not_followed = (!are_followed && !of_addresses.is_empty()).then(|| {
            "ranges/serviceips: IPAddress objects say which cluster IPs are taken, and the range stands still from 1.34 on".to_owned()
        });
        (all, not_followed)
    }

    fn of_ranges(&self, what: What, ranges: &[&(Range, String, Revision)]) -> Compared {
        let is_free = |member: Member| ranges.iter().any(|(range, ..)| range.is_free(member));
        let used = self.used.iter().filter(|(member, _)| is_free(**member)).map(|(member, service)| (*member, service.clone()));
        let taken = ranges.iter().flat_map(|(range, ..)| range.taken());
        let unused = taken.filter(|member| !self.used.contains_key(member)).collect();
        let range = ranges.first().map(|(_, key, at)| (key.clone(), *at));
        Compared { what, range, used: used.collect(), unused, is_new: false }
    }

    fn of_objects(&self) -> Compared {
        let own = |address: &IpAddr, service: &String| self.addresses.get(address) == Some(service);
        let used = self.used.iter().filter_map(|(member, service)| match member {
            Member::Address(address) if !own(address, service) => Some((*member, service.clone())),
            _ => None,
        });
        let taken = self.addresses.keys().map(|address| Member::Address(*address));
        let unused = taken.filter(|member| !self.used.contains_key(member)).collect();
        Compared { what: What::Addresses, range: None, used: used.collect(), unused, is_new: false }
    }
}

impl Compared {
    /// Leaves of what is not used what was not used before either, where the past is known.
    fn lasting(&mut self, past: Option<&[Self]>) {
        let Some(past) = past else {
            self.is_new = true;
            return;
        };
        let before = past.iter().find(|before| before.what == self.what);
        self.unused.retain(|member| before.is_some_and(|before| before.unused.contains(member)));
    }

    /// What is to be said; `reports_used` says whether of what is used and not taken too.
    fn findings(self, reports_used: bool) -> Vec<Finding> {
        let finding = |says: &str| {
            let finding = Finding::new(FindingKind::Allocator, Weight::Low, says);
            match &self.range {
                Some((key, at)) => finding.of_key(key.as_bytes()).at(*at),
                None => finding,
            }
        };
        let mut findings = Vec::new();
        if !self.used.is_empty() && reports_used {
            let named = self.used.iter().map(|(member, service)| format!("{member} of service/{service}"));
            findings.push(with_facts(finding(self.what.used()), named));
        }
        if !self.unused.is_empty() {
            let found = with_facts(finding(self.what.unused()), self.unused.iter().map(ToString::to_string));
            let lasts = match self.is_new {
                true => "the history is too short to show whether that lasts; the repair loop lets go of them within 12 minutes",
                false => "they were so 12 minutes before, though the repair loop lets go of them",
            };
            findings.push(found.because(lasts));
        }
        findings
    }
}

fn with_facts(finding: Finding, facts: impl ExactSizeIterator<Item = String>) -> Finding {
    let more = facts.len().saturating_sub(MAX_NAMED);
    let finding = facts.take(MAX_NAMED).fold(finding, Finding::because);
    if more > 0 { finding.because(format!("{more} more")) } else { finding }
}

/// `namespace/name` of what is referred to.
fn named(of: &Value) -> String {
    let text = |name: &str| of[name].as_str().unwrap_or_default().to_owned();
    format!("{}/{}", text("namespace"), text("name"))
}

/// The objects of some keys, each with the revision that wrote it.
async fn objects(cluster: &Cluster, keys: KeyRange, revision: Revision) -> Result<Vec<(Value, Revision)>> {
    let mut entries = cluster.source.range(keys, At::Revision(revision), Want::Values).await?.entries;
    let mut found = Vec::new();
    while let Some(entry) = entries.try_next().await? {
        if let Body::Object(object) = cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
            found.push((object.into_value(), entry.mod_revision));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn service(name: &str, spec: &Value) -> Value {
        json!({"metadata": {"namespace": "shop", "name": name}, "spec": spec})
    }

    fn address(text: &str) -> Member {
        Member::Address(text.parse().unwrap())
    }

    /// A Service with a port and an address, and ranges of which the bits are given: 30000 and 10.96.0.1 are the first.
    fn state(ports: &str, addresses: &str) -> AllocatorState {
        let mut state = AllocatorState::default();
        state.see_service(&service("web", &json!({"clusterIP": "10.96.0.2", "ports": [{"nodePort": 30001}]})));
        for (name, range, data) in [("servicenodeports", "30000-32767", ports), ("serviceips", "10.96.0.0/12", addresses)] {
            let range = Range::of(&json!({"range": range, "data": data})).unwrap();
            state.ranges.insert(name, (range, format!("/registry/ranges/{name}"), Revision(9)));
        }
        state
    }

    fn said(findings: &[Finding]) -> Vec<(&str, &str)> {
        assert!(findings.iter().all(|finding| finding.is_remark() && finding.kind == FindingKind::Allocator));
        findings.iter().map(|finding| (finding.says.as_str(), finding.evidence[0].as_str())).collect()
    }

    /// `Ag==` is 2, `AQ==` is 1.
    #[test]
    fn ranges_are_held_against_services() {
        let (right, not_followed) = state("Ag==", "Ag==").compare(Release(20));
        assert_eq!(not_followed, None);
        assert!(right.len() == 2 && right.into_iter().all(|compared| compared.findings(true).is_empty()));
        let (wrong, _) = state("AQ==", "AQ==").compare(Release(20));
        let findings: Vec<Finding> = wrong.into_iter().flat_map(|compared| compared.findings(true)).collect();
        let ports = [(What::NodePorts.used(), "30001 of service/shop/web"), (What::NodePorts.unused(), "30000")];
        let ips = [(What::ClusterIps.used(), "10.96.0.2 of service/shop/web"), (What::ClusterIps.unused(), "10.96.0.1")];
        assert_eq!(said(&findings), [ports, ips].concat());
        assert_eq!((findings[0].key.as_deref(), findings[0].revision), (Some("/registry/ranges/servicenodeports"), Some(Revision(9))));
    }

    #[test]
    fn what_is_found_elsewhere_is_not_repeated() {
        let (wrong, _) = state("AQ==", "Ag==").compare(Release(20));
        let findings: Vec<Finding> = wrong.into_iter().flat_map(|compared| compared.findings(false)).collect();
        assert_eq!(said(&findings), [(What::NodePorts.unused(), "30000")]);
    }

    /// From 1.34 on nobody writes the range; before, the objects count where there are some.
    #[test]
    fn a_range_of_addresses_that_stands_still_is_not_held_against_anything() {
        let (all, not_followed) = state("Ag==", "AQ==").compare(Release(34));
        assert!(not_followed.unwrap().starts_with("ranges/serviceips: "));
        assert_eq!(all.iter().map(|compared| compared.what).collect::<Vec<_>>(), [What::NodePorts]);
        let mut both = state("Ag==", "AQ==");
        both.see_address(&json!({"metadata": {"name": "10.96.0.2"}, "spec": {"parentRef": {"resource": "services", "namespace": "shop", "name": "web"}}}));
        let (all, not_followed) = both.compare(Release(32));
        assert!(not_followed.is_some() && all.into_iter().all(|compared| compared.findings(true).is_empty()));
    }

    #[test]
    fn addresses_are_of_the_services_that_use_them() {
        let mut state = AllocatorState::default();
        let parent = |name: &str, resource: &str| json!({"parentRef": {"resource": resource, "namespace": "shop", "name": name}});
        for (address, spec) in
            [("10.96.0.1", parent("old", "services")), ("10.96.0.2", parent("web", "services")), ("10.96.0.9", parent("g", "gateways"))]
        {
            state.see_address(&json!({"metadata": {"name": address}, "spec": spec}));
        }
        for (name, ip) in [("web", "10.96.0.2"), ("new", "10.96.0.3"), ("db", "None")] {
            state.see_service(&service(name, &json!({ "clusterIP": ip })));
        }
        let (mut all, _) = state.compare(Release(36));
        let found = all.pop().unwrap();
        assert_eq!(found.used, [(address("10.96.0.3"), "shop/new".to_owned())]);
        assert_eq!(found.unused, BTreeSet::from([address("10.96.0.1")]));
        // Its address is another Service's.
        state.see_service(&service("thief", &json!({"clusterIP": "10.96.0.1"})));
        assert_eq!(state.of_objects().used.len(), 2);
    }

    /// The repair loop lets go of what a deletion left behind, in its third round.
    #[test]
    fn what_was_just_taken_is_not_a_leak() {
        let leaked = || state("Aw==", "Ag==").compare(Release(20)).0.remove(0);
        let healthy = state("Ag==", "Ag==").compare(Release(20)).0;
        let (mut new, mut old, mut undated) = (leaked(), leaked(), leaked());
        new.lasting(Some(&healthy));
        assert_eq!(new.findings(true), []);
        old.lasting(Some(&[leaked()]));
        assert!(old.findings(true)[0].evidence[1].starts_with("they were so 12 minutes before"));
        undated.lasting(None);
        assert!(undated.findings(true)[0].evidence[1].starts_with("the history is too short"));
    }
}
