//! NodePorts: the host ports a pod wants are free.

use crate::cluster::{HostPort, host_ports};
use crate::framework::WithoutState;
use crate::framework::{Candidate, Fact, Fix, Need, NodeCheck};
use crate::release::Rules;
use crate::{Cycle, Plugin, PreFilter, Verdict};

/// Upstream: `plugins/nodeports/node_ports.go`; up to 1.16 the predicate PodFitsHostPorts.
pub(crate) struct NodePorts;

const PORTS_REASON: &str = "node(s) didn't have free ports for the requested pod ports";

impl Plugin for NodePorts {
    fn name(&self) -> &'static str {
        "NodePorts"
    }

    fn doc(&self) -> &'static str {
        "The host ports a pod wants must be free on the node.

Checks
  No pod on the node uses the same port and protocol on the same address; 0.0.0.0 (the default) is every address.
Reads
  spec.containers[].ports[] hostPort, hostIP and protocol of the pod and of the pods on the node
History
  1.28– not run for pods without host ports
  1.34– ports of sidecars (init containers with restartPolicy Always) count too
  preemption may help
Differs from upstream
  nowhere"
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        let sidecars = cycle.profile.rules.sidecar_ports;
        let wanted = wanted(cycle);
        if wanted.is_empty() {
            return if cycle.profile.rules.skips(self.name()) { PreFilter::Skip } else { PreFilter::Filter(Box::new(|_| Verdict::Pass)) };
        }
        PreFilter::Filter(Box::new(move |node| {
            let taken = node.used_ports(sidecars).any(|(used, _)| wanted.iter().any(|wanted| conflicts(wanted, used)));
            if taken { Verdict::unschedulable(PORTS_REASON) } else { Verdict::Pass }
        }))
    }

    fn without_prefilter(&self, rules: &Rules) -> WithoutState {
        WithoutState::fails(rules.reading_state(), "PreFilter", self.name())
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, _verdict: &Verdict) -> Vec<Fact> {
        ports(cycle, node)
    }

    fn needs(&self, cycle: &Cycle, node: &Candidate) -> Vec<Need> {
        let mut needs = Vec::new();
        for wanted in wanted(cycle) {
            for (used, holder) in node.used_ports(cycle.profile.rules.sidecar_ports) {
                if conflicts(wanted, used) {
                    let change = Fix::ChangeHostPort { protocol: wanted.protocol.clone(), port: wanted.port };
                    needs.push(Need::one_of([change].into_iter().chain(Fix::deletions([holder])).collect()));
                }
            }
        }
        needs
    }
}

pub(crate) fn wanted<'a>(cycle: &'a Cycle<'a>) -> Vec<&'a HostPort> {
    host_ports(cycle.pod, cycle.profile.rules.sidecar_ports).collect()
}

/// Whether two pods cannot have these ports on one node. Only `0.0.0.0` is a wildcard, `::` is not.
pub(crate) fn conflicts(wanted: &HostPort, used: &HostPort) -> bool {
    let any = |port: &HostPort| &*port.ip == "0.0.0.0";
    wanted.port == used.port && wanted.protocol == used.protocol && (any(wanted) || any(used) || wanted.ip == used.ip)
}

/// Each host port the pod wants, and who uses it.
fn ports(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let of_port = |wanted: &HostPort| {
        let mut used = node.used_ports(cycle.profile.rules.sidecar_ports);
        let user = used.find(|(used, _)| conflicts(wanted, used)).map(|(_, user)| user.key());
        Fact::new(user.is_none(), NodeCheck::HostPort { port: wanted.clone(), user })
    };
    let facts: Vec<Fact> = wanted(cycle).into_iter().map(of_port).collect();
    if facts.is_empty() { vec![Fact::holding(NodeCheck::NoHostPorts)] } else { facts }
}
