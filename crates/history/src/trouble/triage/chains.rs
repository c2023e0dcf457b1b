//! Chains effects to causes, each cause once, those that explain most first.

use std::collections::{BTreeMap, BTreeSet};

use super::Triage;
use super::cases::{Named, PodCase, WorkloadCase};
use super::finding::{Finding, by_weight, joined, merge_alike};
use crate::timeline::Subject;
use crate::trouble::{Likeness, Trouble, TroubleKind, lease_trouble, waits_for_pod};

/// More nodes of one trouble than this are one finding.
const MAX_NODES_LISTED: usize = 5;

/// All that is wrong, the weightiest first.
pub(super) fn findings(triage: Triage) -> Vec<Finding> {
    let mut chains = Chains { triage, found: Vec::new() };
    chains.find_workloads();
    chains.devices();
    chains.components();
    chains.nodes();
    chains.pressures();
    chains.claims();
    chains.refusals();
    chains.pods();
    chains.workloads();
    chains.others();
    let mut found = merge_alike(chains.found);
    by_weight(&mut found);
    found
}

struct Chains {
    triage: Triage,
    found: Vec<Finding>,
}

impl Chains {
    /// Notes the workload of each pod.
    fn find_workloads(&mut self) {
        let Triage { pods, owners, .. } = &mut self.triage;
        for pod in pods {
            let workload = workload_in(owners, pod);
            pod.workload = workload.map(|(kind, namespace, name)| Subject { kind, namespace, name, uid: String::new() });
        }
    }

    /// Pods that have a node chosen and wait for the device of a claim: what the scheduler said before is over.
    fn devices(&mut self) {
        let Triage { pods, devices, .. } = &mut self.triage;
        for pod in pods.iter_mut().filter(|pod| pod.node.is_none()) {
            let awaited = devices.get(&(pod.subject.namespace.clone(), pod.subject.name.clone()));
            awaited.into_iter().for_each(|awaited| pod.await_device(awaited));
        }
    }

    /// The control plane's own: without a scheduler pods wait.
    fn components(&mut self) {
        for (subject, lease) in std::mem::take(&mut self.triage.components) {
            let trouble = lease_trouble(TroubleKind::ComponentSilent, &lease, self.triage.now);
            let Some(trouble) = trouble.filter(|trouble| trouble.is_due(self.triage.now)) else { continue };
            let mut finding = Finding::new(subject, trouble, 0);
            if finding.subjects[0].name == "kube-scheduler" {
                let waiting = self.take(|pod| pod.is_due && pod.trouble.kind == TroubleKind::NotScheduled);
                finding.effects.extend(self.of_pods(waiting));
            }
            self.found.push(finding);
        }
    }

    /// Nodes that are gone: with them went their pods, with those the workloads fell short, for which new pods wait.
    fn nodes(&mut self) {
        let mut gone: BTreeMap<Likeness, Vec<(String, Trouble)>> = BTreeMap::new();
        for (name, trouble) in self.troubled_nodes() {
            gone.entry(trouble.likeness()).or_default().push((name, trouble));
        }
        for nodes in gone.into_values() {
            if nodes.len() > MAX_NODES_LISTED {
                let finding = self.lost_nodes(nodes);
                self.found.extend(finding);
                continue;
            }
            for node in nodes {
                let finding = self.lost_nodes(vec![node]);
                self.found.extend(finding);
            }
        }
    }

    /// Each node that is silent or not ready, by its conditions or its lease.
    fn troubled_nodes(&self) -> Vec<(String, Trouble)> {
        let Triage { nodes, node_leases, now, .. } = &self.triage;
        let troubled = nodes.iter().filter_map(|(name, troubles)| {
            let of_lease = node_leases.get(name).and_then(|lease| lease_trouble(TroubleKind::NodeSilent, lease, *now));
            let of_status = troubles.iter().find(|trouble| trouble.kind != TroubleKind::NodePressure);
            let trouble = match (of_status, of_lease) {
                // The last heartbeat says since when, of lease or status, the condition why.
                (Some(status), Some(lease)) if status.kind == TroubleKind::NodeSilent => {
                    Trouble { since: status.silent_since(lease.since), ..status.clone() }
                }
                (Some(status), _) => status.clone(),
                (None, lease) => lease?,
            };
            Some((name.clone(), trouble))
        });
        troubled.collect()
    }

    fn lost_nodes(&mut self, nodes: Vec<(String, Trouble)>) -> Option<Finding> {
        let since = nodes.iter().filter_map(|(_, trouble)| trouble.since).min();
        let names: BTreeSet<String> = nodes.iter().map(|(name, _)| name.clone()).collect();
        let findings = nodes.into_iter().map(|(name, trouble)| {
            let pods = self.triage.pods_on.get(&name).copied().unwrap_or(0);
            Finding::new(Subject { kind: "Node".to_owned(), name, ..Subject::default() }, trouble, pods)
        });
        let mut finding = joined(findings.collect())?;
        let lost = self.take(|pod| pod.is_lost_with_node() && pod.node.as_ref().is_some_and(|node| names.contains(node)));
        let workloads: BTreeSet<Named> = lost.iter().filter_map(|pod| self.workload_of(pod)).collect();
        finding.effects.extend(alike(lost));
        for workload in workloads {
            let new = |pod: &PodCase| pod.waits() && pod.created.zip(since).is_some_and(|(created, since)| created >= since);
            let waiting = self.take_of(&workload, new);
            let short = self.use_workload(&workload);
            let waits = alike(waiting);
            match short {
                Some(mut short) => {
                    short.effects.extend(waits);
                    finding.effects.push(short);
                }
                None => finding.effects.extend(waits),
            }
        }
        Some(finding)
    }

    /// Nodes short of something, and the pods evicted from them.
    fn pressures(&mut self) {
        let nodes = std::mem::take(&mut self.triage.nodes);
        for (name, troubles) in nodes {
            for trouble in troubles.into_iter().filter(|trouble| trouble.kind == TroubleKind::NodePressure) {
                let evicted = self.take(|pod| pod.trouble.kind == TroubleKind::Evicted && pod.node.as_ref() == Some(&name));
                let mut finding =
                    Finding::new(Subject { kind: "Node".to_owned(), name: name.clone(), ..Subject::default() }, trouble, evicted.len());
                finding.effects.extend(alike(evicted));
                self.found.push(finding);
            }
        }
    }

    /// Claims without a volume, or that lost it, and the pods that wait for them. The scheduler has words of its own for a lost one (kubernetes 1.36,
    /// pkg/scheduler/framework/plugins/volumebinding/volume_binding.go, `podHasPVCs`).
    fn claims(&mut self) {
        let mut by_class: BTreeMap<(String, Likeness), Vec<Finding>> = BTreeMap::new();
        for (claim, trouble) in std::mem::take(&mut self.triage.claims) {
            if waits_for_pod(&trouble, &self.triage.patient_classes) {
                continue;
            }
            let uses = |pod: &PodCase| pod.subject.namespace == claim.namespace && pod.claims.contains(&claim.name);
            let is_of_volumes = |message: &String| {
                message.contains("PersistentVolumeClaim") || message.contains("VolumeBinding") || message.contains("persistentvolumeclaim")
            };
            let says_so = |pod: &PodCase| pod.trouble.message.as_ref().is_none_or(is_of_volumes);
            let mut waiting = self.take(|pod| pod.is_due && pod.waits() && uses(pod) && says_so(pod));
            if let [_, node, provisioner] = &trouble.about[..] {
                waiting.iter_mut().for_each(|pod| pod.await_volume(node, provisioner));
            }
            if waiting.is_empty() && !trouble.is_due(self.triage.now) {
                continue;
            }
            let class = (claim.namespace.clone(), trouble.likeness());
            let mut finding = Finding::new(claim, trouble, waiting.len());
            finding.effects.extend(self.of_pods(waiting));
            by_class.entry(class).or_default().push(finding);
        }
        self.found.extend(by_class.into_values().filter_map(joined));
    }

    /// Quotas and webhooks, with the workloads whose pods they refuse according to the workloads' own messages.
    fn refusals(&mut self) {
        for (subject, hook) in std::mem::take(&mut self.triage.hooks) {
            let quote = format!("webhook \"{}\"", hook.name);
            let refused = self.refused(|_| true, &quote);
            let kind = if hook.refuses { TroubleKind::WebhookUnreachable } else { TroubleKind::WebhookIgnored };
            let about = [hook.name, format!("{}/{}", hook.service.0, hook.service.1)];
            let mut finding = Finding::new(subject, Trouble::new(kind).about(about), 0);
            finding.effects.extend(refused);
            self.found.push(finding);
        }
        let is_quota = |(_, trouble): &(Subject, Trouble)| trouble.kind == TroubleKind::QuotaExhausted;
        let (quotas, others) = std::mem::take(&mut self.triage.others).into_iter().partition::<Vec<_>, _>(is_quota);
        self.triage.others = others;
        for (subject, trouble) in quotas {
            let quote = format!("exceeded quota: {},", subject.name);
            let refused = self.refused(|workload| workload.namespace == subject.namespace, &quote);
            let mut finding = Finding::new(subject, trouble, 0);
            finding.effects.extend(refused);
            self.found.push(finding);
        }
    }

    /// The workloads whose pods are refused with these words.
    fn refused(&mut self, is_of: impl Fn(&Subject) -> bool, quote: &str) -> Vec<Finding> {
        let quotes = |workload: &WorkloadCase, trouble: &Trouble| {
            let says = trouble.message.as_ref().is_some_and(|message| message.contains(quote));
            trouble.kind == TroubleKind::PodsRefused && says && is_of(&workload.subject)
        };
        let workloads = self.triage.workloads.values_mut().filter(|workload| !workload.is_used);
        let refused = workloads.filter_map(|workload| {
            let finding = workload.finding(|trouble| quotes(workload, trouble))?;
            workload.is_used = true;
            Some(finding)
        });
        refused.collect()
    }

    /// The other pods, by workload and trouble.
    fn pods(&mut self) {
        let pods = self.take(|pod| pod.is_due);
        let mut groups: BTreeMap<(Option<Named>, TroubleKind), Vec<PodCase>> = BTreeMap::new();
        for pod in pods {
            let workload = self.workload_of(&pod);
            match workload {
                Some(workload) => groups.entry((Some(workload), pod.trouble.kind)).or_default().push(pod),
                None => self.found.extend(alike(vec![pod])),
            }
        }
        // Where a workload has several troubles, it is short by the one that more of its pods have.
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|((_, kind), pods)| std::cmp::Reverse(kind.weight() * pods.len() as u64));
        for (_, pods) in groups {
            let findings = self.of_pods(pods);
            self.found.extend(findings);
        }
    }

    /// Findings of pods, each with the workload that is short for it.
    fn of_pods(&mut self, pods: Vec<PodCase>) -> Vec<Finding> {
        let mut groups: BTreeMap<(Option<Named>, TroubleKind), Vec<PodCase>> = BTreeMap::new();
        for pod in pods {
            groups.entry((self.workload_of(&pod), pod.trouble.kind)).or_default().push(pod);
        }
        let mut findings = Vec::new();
        for ((workload, _), pods) in groups {
            let mut of_group = alike(pods);
            if let Some(workload) = workload {
                let owner =
                    Subject { kind: workload.0.clone(), namespace: workload.1.clone(), name: workload.2.clone(), uid: String::new() };
                of_group.iter_mut().for_each(|finding| finding.owner = Some(owner.clone()));
                let short = self.use_workload(&workload);
                of_group.iter_mut().take(1).for_each(|finding| finding.effects.extend(short.clone()));
            }
            findings.extend(of_group);
        }
        findings
    }

    /// The workloads that are short for a reason that no pod shows.
    fn workloads(&mut self) {
        let now = self.triage.now;
        let workloads = std::mem::take(&mut self.triage.workloads).into_values().filter(|workload| !workload.is_used);
        self.found.extend(workloads.filter_map(|workload| workload.finding(|trouble| trouble.is_due(now))));
    }

    /// All else; namespaces that wait for an API that does not answer stand below it.
    fn others(&mut self) {
        let (apis, others) = std::mem::take(&mut self.triage.others)
            .into_iter()
            .partition::<Vec<_>, _>(|(_, trouble)| trouble.kind == TroubleKind::ApiUnavailable);
        let mut apis: Vec<Finding> = apis.into_iter().map(|(subject, trouble)| Finding::new(subject, trouble, 0)).collect();
        for (subject, trouble) in others {
            let message = trouble.message.clone().unwrap_or_default();
            let waits_for = |api: &&mut Finding| {
                let version = api.subjects[0].name.split_once('.').map(|(version, group)| format!("{group}/{version}"));
                trouble.kind == TroubleKind::NamespaceStuck && version.is_some_and(|version| message.contains(&version))
            };
            match apis.iter_mut().find(waits_for) {
                Some(api) => api.effects.push(Finding::new(subject, trouble, 0)),
                None => self.found.push(Finding::new(subject, trouble, 0)),
            }
        }
        self.found.extend(apis);
    }

    /// Takes the pods that are part of no finding yet and for which `is_wanted` holds.
    fn take(&mut self, is_wanted: impl Fn(&PodCase) -> bool) -> Vec<PodCase> {
        let (taken, left) = std::mem::take(&mut self.triage.pods).into_iter().partition(is_wanted);
        self.triage.pods = left;
        taken
    }

    fn take_of(&mut self, workload: &Named, is_wanted: impl Fn(&PodCase) -> bool) -> Vec<PodCase> {
        let owners = std::mem::take(&mut self.triage.owners);
        let taken = self.take(|pod| is_wanted(pod) && workload_in(&owners, pod).as_ref() == Some(workload));
        self.triage.owners = owners;
        taken
    }

    fn workload_of(&self, pod: &PodCase) -> Option<Named> {
        workload_in(&self.triage.owners, pod)
    }

    /// That a workload is short, unless a finding says so already.
    fn use_workload(&mut self, workload: &Named) -> Option<Finding> {
        let workload = self.triage.workloads.get_mut(workload).filter(|workload| !workload.is_used)?;
        workload.is_used = true;
        workload.finding(|_| true)
    }
}

fn workload_in(owners: &BTreeMap<Named, Subject>, pod: &PodCase) -> Option<Named> {
    let controller = pod.controller.as_ref()?;
    let owner = owners.get(controller).map(|owner| (owner.kind.clone(), owner.namespace.clone(), owner.name.clone()));
    Some(owner.unwrap_or_else(|| controller.clone()))
}

/// One finding for each trouble that pods have, the one that most of them have first.
fn alike(pods: Vec<PodCase>) -> Vec<Finding> {
    let mut groups: BTreeMap<Likeness, Vec<Finding>> = BTreeMap::new();
    for pod in pods {
        groups.entry(pod.trouble.likeness()).or_default().push(Finding::of_pod(pod.subject, pod.workload, pod.trouble));
    }
    let mut findings: Vec<Finding> = groups.into_values().filter_map(joined).collect();
    findings.sort_by_key(|finding| (finding.trouble.kind, std::cmp::Reverse(finding.pods)));
    findings
}
