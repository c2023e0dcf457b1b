//! Steps of Services, and of the addresses behind them in Endpoints and EndpointSlices.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{CreatedAs, Step, StepDetail, StepKind, generic};

/// Returns the steps between two neighbouring versions of an object of `kind`.
pub(super) fn steps(kind: &str, before: Option<&Value>, after: &Value) -> Vec<Step> {
    let mut steps = Vec::new();
    if before.is_none() {
        steps.push(if kind == "Service" { service(after) } else { generic::created(after) });
    }
    if kind == "Service" {
        balancer(before, after, &mut steps);
    } else {
        addresses(before, after, &mut steps);
    }
    if let Some(before) = before {
        if kind == "Service" {
            steps.extend(generic::spec_changed(before, after, &[]));
        }
        generic::ending(before, after, &mut steps);
    }
    steps
}

fn service(service: &Value) -> Step {
    let spec = &service["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let ports = spec["ports"].as_array().into_iter().flatten();
    let ports = ports.map(|port| (port["port"].clone(), port["protocol"].as_str().unwrap_or("TCP").to_owned())).collect();
    let address = if text(&spec["type"]) == "ExternalName" { &spec["externalName"] } else { &spec["clusterIP"] };
    let with = CreatedAs::Service { kind: text(&spec["type"]), address: text(address), ports };
    Step::new(StepKind::Created, StepDetail::Created { owner: None, with })
}

/// The addresses that a load balancer outside the cluster gives to a Service.
fn balancer(before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
    let given = |object: &Value| -> Vec<String> {
        let list = object["status"]["loadBalancer"]["ingress"].as_array().into_iter().flatten();
        list.filter_map(|item| item["ip"].as_str().or(item["hostname"].as_str()).map(str::to_owned)).collect()
    };
    let (old, new) = (before.map(given).unwrap_or_default(), given(after));
    if old != new {
        steps.push(if new.is_empty() {
            Step::new(StepKind::LoadBalancerGone, StepDetail::Addresses(old))
        } else {
            Step::new(StepKind::LoadBalancerReady, StepDetail::Addresses(new))
        });
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Ready,
    NotReady,
    Terminating,
}

/// The addresses by the names of their pods (else by themselves), of the old and the new kind of endpoints.
fn standings(object: &Value) -> BTreeMap<String, Standing> {
    let name = |item: &Value, address: &Value| {
        let target = item["targetRef"]["name"].as_str();
        target.or(address.as_str()).map(str::to_owned)
    };
    let mut found = BTreeMap::new();
    for subset in object["subsets"].as_array().into_iter().flatten() {
        for (list, standing) in [("notReadyAddresses", Standing::NotReady), ("addresses", Standing::Ready)] {
            let addresses = subset[list].as_array().into_iter().flatten();
            found.extend(addresses.filter_map(|address| Some((name(address, &address["ip"])?, standing))));
        }
    }
    for endpoint in object["endpoints"].as_array().into_iter().flatten() {
        let conditions = &endpoint["conditions"];
        // An endpoint that does not say counts as ready (discovery.k8s.io/v1 and v1beta1, EndpointConditions).
        let standing = match (conditions["ready"] != false, conditions["terminating"] == true) {
            (true, _) => Standing::Ready,
            (false, true) => Standing::Terminating,
            (false, false) => Standing::NotReady,
        };
        found.extend(name(endpoint, &endpoint["addresses"][0]).map(|name| (name, standing)));
    }
    found
}

fn addresses(before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
    let (old, new) = (before.map(standings).unwrap_or_default(), standings(after));
    let is_ready = |standings: &BTreeMap<String, Standing>, name: &String| standings.get(name) == Some(&Standing::Ready);
    let ready = new.values().filter(|standing| **standing == Standing::Ready).count();
    let mut add = |phase, names: Vec<&String>| {
        if !names.is_empty() {
            steps.push(Step::new(phase, StepDetail::Endpoints { names: names.into_iter().cloned().collect(), ready }));
        }
    };
    let turned = |to: Standing| new.iter().filter(move |(_, standing)| **standing == to).map(|(name, _)| name);
    add(StepKind::EndpointsReady, turned(Standing::Ready).filter(|name| !is_ready(&old, name)).collect());
    add(StepKind::EndpointsNotReady, turned(Standing::NotReady).filter(|name| is_ready(&old, name)).collect());
    add(StepKind::EndpointsTerminating, turned(Standing::Terminating).filter(|name| is_ready(&old, name)).collect());
    add(StepKind::EndpointsGone, old.keys().filter(|name| is_ready(&old, name) && !new.contains_key(*name)).collect());
    if ready == 0 && old.values().any(|standing| *standing == Standing::Ready) {
        steps.push(Step::new(StepKind::NoEndpoints, StepDetail::None));
    }
}
